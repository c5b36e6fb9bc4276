"""What a reader would stumble over in a figure.

Text too small, cut off, or over other text; an axis of numbers without a label, a log scale that is not said, a panel
that is empty or does not say how much it rests on, a legend over a panel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Annotation, Text

from limner.report.plots.style import GREY, SMALL

SLACK = 1.5
"""Pixels (of 200 an inch) that boxes may share: boxes hold more than ink."""
NUMBER = re.compile(r"[+−-]?\d*\.?\d+(e[+-]?\d+)?%?")
COUNT = re.compile(r"\bn ?= ?\d+|\d+ of \d+")


def faults(figure: Any) -> list[str]:
    """All of them, in words; nothing is rendered, only measured."""
    canvas: Any = FigureCanvasAgg(figure)
    renderer = canvas.get_renderer()
    words = _texts(figure)
    for text in words:
        if isinstance(text, Annotation):
            text.update_positions(renderer)
    boxes = [Text.get_window_extent(text, renderer) for text in words]
    found = [
        f"{text.get_text()!r}: {text.get_fontsize()} pt" for text in words if float(text.get_fontsize()) < SMALL - 0.01
    ]
    for text, box in zip(words, boxes, strict=True):
        if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > figure.bbox.x1 + 0.5 or box.y1 > figure.bbox.y1 + 0.5:
            found.append(f"{text.get_text()!r} is cut off")
    for one, other in _touching(boxes):
        found.append(f"{words[one].get_text()!r} lies over {words[other].get_text()!r}")
    panels = [axes for axes in _axes(figure) if axes.get_visible()]
    said = " ".join(text.get_text() for text in words)
    for panel in panels:
        found += _unlabelled(panel)
        if {panel.get_xscale(), panel.get_yscale()} != {"linear"}:
            own = panel.get_xlabel() + panel.get_ylabel()
            if "log" not in own or "log scale" not in said.replace(own, ""):
                found.append(f"a log scale of {own!r} is not said")
        if not (panel.lines or panel.collections or panel.patches or panel.images or panel.texts):
            found.append(f"the panel {panel.get_title()!r} is empty")
    if not COUNT.search(said.replace("\n", " ")):
        found.append("no n is said")
    for part in _parts(figure):
        for legend in part.legends:
            box = legend.get_window_extent(renderer)
            found += ["a legend lies over a panel" for panel in panels if _shared(box, panel.get_window_extent())]
    return found


def _parts(figure: Any) -> Iterator[Any]:
    yield figure
    for part in figure.subfigs:
        yield from _parts(part)


def _axes(figure: Any) -> list[Any]:
    return [axes for part in _parts(figure) for axes in part._localaxes]


def _shared(one: Any, other: Any) -> bool:
    across, down = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
    return bool(across > SLACK and down > SLACK)


def _touching(boxes: list[Any]) -> list[tuple[int, int]]:
    """Pairs of boxes that share more than their edges."""
    x0, y0, x1, y1 = (np.array([getattr(box, side) for box in boxes]) for side in ("x0", "y0", "x1", "y1"))
    across = np.minimum(x1[:, None], x1) - np.maximum(x0[:, None], x0)
    down = np.minimum(y1[:, None], y1) - np.maximum(y0[:, None], y0)
    pairs = np.argwhere(np.triu((across > SLACK) & (down > SLACK), 1))
    return [(int(one), int(other)) for one, other in pairs]


def _unlabelled(panel: Any) -> Iterator[str]:
    """Axes with numbers at their ticks that nothing names: no label of their own, none of the panels' together."""
    if not panel.axison:
        return
    for axis, over, shared in (
        (panel.xaxis, "_supxlabel", panel.get_shared_x_axes()),
        (panel.yaxis, "_supylabel", panel.get_shared_y_axes()),
    ):
        if not axis.get_visible():
            continue
        shown = [label.get_text() for tick in axis._update_ticks() for label in (tick.label1, tick.label2)
                 if label.get_visible() and label.get_text()]  # fmt: skip
        if not shown or not all(NUMBER.fullmatch(label) for label in shown):
            continue
        others = [getattr(each, f"{axis.axis_name}axis").get_label_text() for each in shared.get_siblings(panel)]
        above = getattr(panel.figure, over, None)
        # What stands below a plot in grey is its caption, no label.
        named = above is not None and above.get_text() and to_hex(above.get_color()) != GREY.lower()
        if not any(others) and not named:
            yield f"the {axis.axis_name} axis of {panel.get_title()!r} with {shown} has no label"


def _texts(figure: Any) -> list[Text]:
    """Every visible text that is not blank; tick labels outside their axis' limits are never drawn."""
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip() and _shown(text)]
    ticks, shown = set(), set()
    for axis in figure.findobj(lambda artist: hasattr(artist, "get_ticklabels") and hasattr(artist, "_update_ticks")):
        for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
            ticks |= {tick.label1, tick.label2}
        if axis.get_visible() and axis.axes.get_visible():
            for tick in axis._update_ticks():
                shown |= {label for label in (tick.label1, tick.label2) if label.get_visible()}
        if not axis.axes.axison:
            shown -= {label for tick in axis.get_major_ticks() for label in (tick.label1, tick.label2)}
    return [text for text in found if text not in ticks or text in shown]


def _shown(text: Text) -> bool:
    axes = getattr(text, "axes", None)
    return axes is None or axes.get_visible()
