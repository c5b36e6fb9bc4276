"""Painters as points in a plane, named beside them where there is room, else numbered with a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.plot_data import Points
from ..style import GREY, INK, PALE, PALETTE, SEQUENTIAL, SMALL, Sketch, fitted
from .labels import place

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

NAMED = 12
"""With more painters than this they are numbered."""
KEY_ROW = 0.125


def points(frame: Points, width: str) -> Sketch:
    """See the module; where there is a front, a line joins those that no other painter beats."""
    keyed = len(frame.points) > NAMED or width == "single"
    across = 2 if width == "single" else 1
    key = -(-len(frame.points) // across) * KEY_ROW if keyed else 0.0
    plane = 2.3 if width == "single" else 3.4
    room = 1.9 if not keyed else 1.6 if width == "double" else 1.05 if frame.colour else 1.25
    height = plane + key if width == "single" else max(plane, key + 0.3)

    def paint(figure: FigureBase) -> Callable[[], None]:
        if not keyed:
            panel = figure.subplots()
        elif width == "single":
            panel, list_ = figure.subplots(2, 1, height_ratios=[plane, key])
        else:
            panel, list_ = figure.subplots(1, 2, width_ratios=[4.9, 2.1])
        _plane(figure, panel, frame)
        names = fitted([point.name for point in frame.points], room, SMALL)
        if keyed:
            _key(list_, names, across)
            names = [str(n) for n in range(1, len(names) + 1)]
        where = [(p.x.value or 0.0, p.y.value or 0.0) for p in frame.points]
        return lambda: place(panel, where, names)

    return Sketch(height, paint, frame.caption)


def _key(panel: Any, names: list[str], across: int) -> None:
    panel.axis("off")
    down = -(-len(names) // across)
    panel.set_xlim(0, across)
    panel.set_ylim(down - 0.5, -0.5)
    for n, name in enumerate(names):
        x, y = n // down, n % down
        panel.text(x + 0.11 / across, y, str(n + 1), ha="right", va="center", fontsize=SMALL, color=GREY)
        panel.text(x + 0.16 / across, y, name, ha="left", va="center", fontsize=SMALL)


def _plane(figure: FigureBase, panel: Any, frame: Points) -> None:
    known = [point.colour for point in frame.points if point.colour is not None]
    if frame.money:
        _dollars(panel, [point.x.value or 0.0 for point in frame.points])
    for point in frame.points:
        x, y = point.x.value or 0.0, point.y.value or 0.0
        if point.x.ends:
            panel.plot(point.x.ends, [y, y], color=PALE, lw=0.7, zorder=1)
        if point.y.ends:
            panel.plot([x, x], point.y.ends, color=PALE, lw=0.7, zorder=1)
    if frame.front:
        on = {point.name: point for point in frame.points}
        line = [(on[name].x.value, on[name].y.value) for name in frame.front]
        panel.plot([x for x, _ in line], [y for _, y in line], color=PALETTE[1], lw=1.0, ls="--", zorder=2,
                   drawstyle="steps-post" if frame.money else "steps-pre",
                   label="front: no other painter is better in both")  # fmt: skip
        figure.legend(loc="outside upper left")
    for point in frame.points:
        colour = GREY if point.control else PALETTE[1] if point.name in frame.front else PALETTE[0]
        marker = "D" if point.control else "s" if point.name in frame.front else "o"
        style = {"c": [point.colour], "cmap": SEQUENTIAL, "vmin": 0.0, "vmax": 1.0} if known else {"color": colour}
        if known and point.colour is None:
            style = {"color": PALE}
        drawn = panel.scatter([point.x.value], [point.y.value], s=22, marker=marker, edgecolors=INK, linewidths=0.4,
                              zorder=3, **style)  # fmt: skip
        if known and point.colour is not None:
            image = drawn
    if known:
        bar = figure.colorbar(image, ax=panel, aspect=30, pad=0.02)
        bar.set_label(frame.colour or "")
        bar.outline.set_visible(False)
    panel.set_xlabel(frame.x)
    panel.set_ylabel(frame.y)


def _dollars(panel: Any, prices: list[float]) -> None:
    """A logarithmic axis with a place for nothing at its left."""
    paid = [price for price in prices if price > 0]
    least, most = min(paid), max(paid)
    panel.set_xscale("symlog", linthresh=least * 0.7, linscale=0.4)
    steps = [step * 10.0**power for power in range(-6, 4) for step in (1, 2, 5)]
    ticks = [step for step in steps if least * 0.7 <= step <= most * 1.5]
    free = 0.0 in prices
    panel.set_xticks([0.0, *ticks] if free else ticks, [*(["0"] if free else []), *(f"{tick:g}" for tick in ticks)])
    panel.minorticks_off()
    panel.set_xlim(-least * 0.25 if free else least * 0.75, most * 1.7)
