"""What a reader would stumble over in a figure: text too small, cut off, or over other text."""

from __future__ import annotations

from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from limner.plots.style import SMALL

SLACK = 1.5
"""Pixels (of 200 an inch) that boxes may share: boxes hold more than ink."""


def faults(figure: Any) -> list[str]:
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    words = [text for text in _texts(figure) if text.get_text().strip()]
    boxes = [(text, Text.get_window_extent(text, renderer)) for text in words]
    found = [
        f"{text.get_text()!r}: {text.get_fontsize()} pt" for text in words if float(text.get_fontsize()) < SMALL - 0.01
    ]
    for text, box in boxes:
        if box.x0 < -0.5 or box.y0 < -0.5 or box.x1 > figure.bbox.x1 + 0.5 or box.y1 > figure.bbox.y1 + 0.5:
            found.append(f"{text.get_text()!r} is cut off")
    for n, (text, box) in enumerate(boxes):
        for other, there in boxes[n + 1 :]:
            across = min(box.x1, there.x1) - max(box.x0, there.x0)
            down = min(box.y1, there.y1) - max(box.y0, there.y0)
            if across > SLACK and down > SLACK:
                found.append(f"{text.get_text()!r} lies over {other.get_text()!r}")
    return found


def _texts(figure: Any) -> list[Text]:
    """Every visible text; tick labels outside their axis' limits are never drawn."""
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and _shown(text):
            found.append(text)
    return _drawn(figure, found)


def _shown(text: Text) -> bool:
    axes = getattr(text, "axes", None)
    return axes is None or axes.get_visible()


def _drawn(figure: Any, texts: list[Text]) -> list[Text]:
    ticks, shown = set(), set()
    for axes in figure.findobj(lambda artist: hasattr(artist, "get_ticklabels") and hasattr(artist, "_update_ticks")):
        for tick in [*axes.get_major_ticks(), *axes.get_minor_ticks()]:
            ticks |= {tick.label1, tick.label2}
        if axes.get_visible() and axes.axes.get_visible():
            for tick in axes._update_ticks():
                shown |= {label for label in (tick.label1, tick.label2) if label.get_visible()}
        if not axes.axes.axison:
            shown -= {label for tick in axes.get_major_ticks() for label in (tick.label1, tick.label2)}
    return [text for text in texts if text not in ticks or text in shown]
