"""Plots of painters as points in a plane, with their names, or with numbers and a key if there is no room.

Names are placed so that they hide neither another name nor a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import cos, pi, sin
from typing import TYPE_CHECKING, Any

from ...core.errors import UsageError
from ...core.plot_data import (
    Dispersion,
    Point,
    Points,
    Quantity,
    ScorePair,
    ScorePairs,
    describe_left_out,
    score_with_scale,
)
from ...scoring.standings import costs
from . import style as st
from .source import StoreSource, quantities
from .style import Sketch, inches_high, lines_of, look, whole, wide

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

NAMED = 12
"""The most painters with names; if there are more, they are numbered."""
KEY_ROW = 0.125
KEY_WIDE = 2.1
"""The width of a key to the right of a plane, in inches."""
NUMBER = 0.22
"""Inches from the left edge of a key to its names."""
Box = tuple[float, float, float, float]
"""Left, bottom, right and top of a box, in points."""
AROUND = [n * pi / 8 for n in (0, 8, 4, 12, 2, 6, 10, 14, 1, 7, 9, 15, 3, 5, 11, 13)]
"""Directions in order of preference: right, left, above, below, then those between."""
FAR = (5.0, 8.0, 12.0, 17.0, 23.0, 30.0, 40.0, 52.0, 66.0)
LEADER = 8.0
"""The distance in points beyond which a name gets a thin line to its point."""
LOWER = st.SMALL * st.SPACING / 2
"""The points that each additional line adds to a name, above and below its middle."""
POINT = 3.2
CLOSE = 4
"""The factor within which prices are close together and would get few ticks."""
STEPS = ((1, 2, 5), (1, 3), (1,))
"""Choices of ticks in each power of ten of a logarithmic axis; the first that fits is used."""
BESIDE = 0.6
"""The width of a plane's vertical axis, in inches."""


def cost(source: StoreSource) -> Points:
    """Return the points of score against dollars per drawing, including failed attempts."""
    prices = [costs(group.entries).drawing for group in source.field.groups]
    scored = quantities(source.field, source.score)
    plotted = [
        Point(name, Quantity(price), y, None, name in source.controls)
        for name, price, y in zip(source.names, prices, scored, strict=True)
        if price is not None and y.value is not None
    ]
    if not any(point.x.value for point in plotted):
        raise UsageError(
            f"{source.exam}: no painter with a score has a known cost above zero; "
            "`limner run` records the cost of painters with a price, imported drawings have none"
        )
    caption = source.caption + describe_left_out(len(source.names) - len(plotted), "price or score not known")
    label = "dollars for one drawing (log scale)"
    return Points(tuple(plotted), label, score_with_scale(source.score), caption, money=True).with_front()


def points(frame: Points, width: str) -> Sketch:
    """Sketch painters as points, with a front through those that no other painter beats in both respects."""
    written = [point.name for point in frame.points]
    where = [(p.x.value or 0.0, p.y.value or 0.0) for p in frame.points]
    plane = 2.3 if width == "single" else 3.4
    beside = whole(written, 1.9)
    keyed = (
        len(written) > NAMED or width == "single" or not _fit_beside(frame, where, beside, (st.WIDTHS[width], plane))
    )
    across = 2 if width == "single" else 1
    list_wide = st.WIDTHS[width] if width == "single" else KEY_WIDE
    names = whole(written, list_wide / across - NUMBER - 0.06)
    rows = _rows(names, across)
    key = sum(rows) + 0.1
    height = plane if not keyed else plane + key if width == "single" else max(plane, key)

    def paint(figure: FigureBase) -> Callable[[], None]:
        if not keyed:
            panel = figure.subplots()
            _plane(figure, panel, frame)
            return lambda: _name(panel, where, beside)
        # Subfigures keep their size, however much room an axis and a legend need.
        parts: Any
        if width == "single":
            parts = figure.subfigures(2, 1, height_ratios=[plane, key])
        else:
            parts = figure.subfigures(1, 2, width_ratios=[st.WIDTHS[width] - list_wide, list_wide])
        part, list_ = parts
        panel = part.subplots()
        _plane(part, panel, frame)
        numbers = [str(n) for n in range(1, len(names) + 1)]

        def finish() -> None:
            _name(panel, where, numbers)
            _key(list_, names, across, rows, list_wide)

        return finish

    apart = ", with 0 apart" if any(point.x.value == 0 for point in frame.points) else ""
    scales = f"dollars on a log scale{apart}; scores linear" if frame.money else "axes linear"
    return Sketch(height, paint, frame.caption, scales=scales)


def _rows(names: Sequence[str], across: int) -> list[float]:
    """Return the height of each row of a key, in inches."""
    down = -(-len(names) // across)
    return [KEY_ROW + st.LINE * (lines_of(names[row::down]) - 1) for row in range(down)]


def _key(part: Any, names: Sequence[str], across: int, rows: Sequence[float], inches: float) -> None:
    """Write numbers and names from the top of a part of the figure downwards."""
    high = inches_high(part)
    starts = list(accumulate(rows, initial=0.05))
    for n, name in enumerate(names):
        column, row = divmod(n, len(rows))
        x, y = column * inches / across + NUMBER, high - starts[row]
        style = {"va": "top", "fontsize": st.SMALL, "linespacing": st.SPACING}
        part.text((x - 0.05) / inches, y / high, str(n + 1), ha="right", color=st.GREY, **style)
        part.text(x / inches, y / high, name, ha="left", **style)


def _fit_beside(
    frame: Points, where: Sequence[tuple[float, float]], names: Sequence[str], size: tuple[float, float]
) -> bool:
    """Return whether all names fit next to their points in a plane of this size, without overlaps."""
    with look():
        from matplotlib.figure import Figure

        figure = Figure(figsize=size, layout="constrained")
        panel = figure.subplots()
        _plane(figure, panel, frame)
        figure.draw_without_rendering()
        places = _chosen(panel, where, names)
    boxes = [_box(place.middle, place.width, place.lines) for place in places]
    return all(_overlap(box, other) == 0 for n, box in enumerate(boxes) for other in boxes[:n])


def _plane(figure: FigureBase, panel: Any, frame: Points) -> None:
    coloured = [point.colour for point in frame.points if point.colour is not None]
    if frame.money:
        _set_dollars(panel, [point.x.value or 0.0 for point in frame.points])
    for point in frame.points:
        x, y = point.x.value or 0.0, point.y.value or 0.0
        if point.x.ends:
            panel.plot(point.x.ends, [y, y], color=st.PALE, lw=0.7, zorder=1)
        if point.y.ends:
            panel.plot([x, x], point.y.ends, color=st.PALE, lw=0.7, zorder=1)
    if frame.front:
        on = {point.name: point for point in frame.points}
        line = [(on[name].x.value, on[name].y.value) for name in frame.front]
        panel.plot([x for x, _ in line], [y for _, y in line], color=st.PALETTE[1], lw=1.0, ls="--", zorder=2,
                   drawstyle="steps-post" if frame.money else "steps-pre", marker="s", ms=3.5,
                   label="front: no other painter is better in both")  # fmt: skip
        figure.legend(loc="outside upper left")
    for point in frame.points:
        colour = st.GREY if point.control else st.PALETTE[1] if point.name in frame.front else st.PALETTE[0]
        marker = "D" if point.control else "s" if point.name in frame.front else "o"
        style = (
            {"c": [point.colour], "cmap": st.SEQUENTIAL, "vmin": 0.0, "vmax": 1.0} if coloured else {"color": colour}
        )
        if coloured and point.colour is None:
            style = {"color": st.PALE}
        drawn = panel.scatter([point.x.value], [point.y.value], s=22, marker=marker, edgecolors=st.INK, linewidths=0.4,
                              zorder=3, **style)  # fmt: skip
        if coloured and point.colour is not None:
            image = drawn
    if coloured:
        bar = figure.colorbar(image, ax=panel, aspect=30, pad=0.02)
        bar.set_label(frame.colour or "")
        bar.outline.set_visible(False)
    panel.set_xlabel(frame.x)
    panel.set_ylabel(frame.y)


def _set_dollars(panel: Any, prices: list[float]) -> None:
    """Set a logarithmic horizontal axis, with room for zero at the left."""
    paid = [price for price in prices if price > 0]
    # Widen the axis for prices that are close together, so that it has several ticks.
    near = max(paid) < CLOSE * min(paid)
    least, most = (min(paid) / 2.2, max(paid) * 2.6) if near else (min(paid) * 0.75, max(paid) * 1.7)
    panel.set_xscale("symlog", linthresh=least, linscale=0.4)
    room = panel.figure.bbox.width / panel.get_figure(root=True).dpi - BESIDE
    every = [_dollar_ticks(least, most, steps) for steps in STEPS]
    ticks = next((each for each in every if _told_wide(each) < room), every[-1])
    free = 0.0 in prices
    panel.set_xticks([0.0, *ticks] if free else ticks, [*(["0"] if free else []), *(f"{tick:g}" for tick in ticks)])
    panel.minorticks_off()
    panel.set_xlim(-least * 0.25 if free else least, most)


def _dollar_ticks(least: float, most: float, steps: Sequence[int]) -> list[float]:
    return [tick for power in range(-6, 4) for step in steps if least <= (tick := step * 10.0**power) <= most]


def _told_wide(ticks: Sequence[float]) -> float:
    """Return the width of the ticks' numbers side by side, in inches, if they are evenly spaced."""
    return 1.8 * sum(wide(f"{tick:g}", st.SMALL) for tick in ticks)


def choose(
    points: Sequence[tuple[float, float]], widths: Sequence[float], inside: Box, lines: Sequence[int] | None = None
) -> list[tuple[float, float]]:
    """Return the middle of each point's name: near it, inside the frame, and without overlaps if possible.

    Args:
        points: Their positions, in points (1/72 inch).
        widths: The width of each name.
        inside: The frame.
        lines: The number of lines of each name; one by default.

    >>> choose([(50, 50)], [20], (0, 0, 100, 100))
    [(65.0, 50.0)]
    """
    filled = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    middles: list[tuple[float, float]] = [(0.0, 0.0)] * len(points)
    high = [1 if lines is None else lines[n] for n in range(len(points))]
    # Points with the closest neighbours have the fewest options, so they come first.
    order = sorted(range(len(points)), key=lambda n: _nearest(points, n))
    for n in order:
        best: tuple[float, float, float] | None = None
        for middle in _places(points[n], widths[n], high[n]):
            box = _box(middle, widths[n], high[n])
            bad = sum(_overlap(box, other) for other in filled) + 20 * _outside(box, inside)
            if best is None or bad < best[0] - 1e-9:
                best = (bad, *middle)
            if bad == 0:
                break
        assert best is not None
        middles[n] = best[1:]
        filled.append(_box(middles[n], widths[n], high[n]))
    return middles


@dataclass(frozen=True)
class NamePlace:
    """The place of a name: its point and its middle, in points, and its size."""

    point: tuple[float, float]
    middle: tuple[float, float]
    width: float
    lines: int


def _chosen(panel: Any, points: Sequence[tuple[float, float]], names: Sequence[str]) -> list[NamePlace]:
    """Return a place for each name in a panel whose size is final."""
    scale = 72 / panel.figure.dpi
    where = [(float(x) * scale, float(y) * scale) for x, y in panel.transData.transform(list(points))]
    edge = panel.get_window_extent()
    inside = (edge.x0 * scale + 1, edge.y0 * scale + 1, edge.x1 * scale - 1, edge.y1 * scale - 1)
    widths = [max(wide(line, st.SMALL) for line in name.split("\n")) * 72 for name in names]
    lines = [lines_of([name]) for name in names]
    middles = choose(where, widths, inside, lines)
    return [NamePlace(*each) for each in zip(where, middles, widths, lines, strict=True)]


def _nearest(points: Sequence[tuple[float, float]], n: int) -> float:
    x, y = points[n]
    return min(((x - a) ** 2 + (y - b) ** 2 for m, (a, b) in enumerate(points) if m != n), default=0.0)


def _places(point: tuple[float, float], width: float, lines: int = 1) -> list[tuple[float, float]]:
    x, y = point
    high = st.SMALL / 2 - 1 + (lines - 1) * LOWER
    return [(x + cos(angle) * (far + width / 2), y + sin(angle) * (far + high)) for far in FAR for angle in AROUND]


def _box(middle: tuple[float, float], width: float, lines: int = 1) -> Box:
    x, y = middle
    high = st.SMALL * 0.58 + (lines - 1) * LOWER
    return x - width / 2 - 1.5, y - high, x + width / 2 + 1.5, y + high


def _overlap(box: Box, other: Box) -> float:
    across = min(box[2], other[2]) - max(box[0], other[0])
    down = min(box[3], other[3]) - max(box[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _outside(box: Box, inside: Box) -> float:
    return sum(
        max(0.0, each) for each in (inside[0] - box[0], inside[1] - box[1], box[2] - inside[2], box[3] - inside[3])
    )


def _name(panel: Any, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write the names into a panel whose size is final; a distant name gets a thin line to its point."""
    # The background of names covers lines but not points.
    paper = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
    for name, data, place in zip(names, points, _chosen(panel, points, names), strict=True):
        (x, y), (a, b) = place.point, place.middle
        gap = max(abs(x - a) - place.width / 2, abs(y - b) - st.SMALL / 2 - (place.lines - 1) * LOWER)
        line = {"arrowstyle": "-", "lw": 0.4, "color": st.GREY, "shrinkA": 0, "shrinkB": 2.5} if gap > LEADER else None
        panel.annotate(name, data, (a - x, b - y), textcoords="offset points", ha="center", va="center", zorder=2.5,
                       fontsize=st.SMALL, arrowprops=line, bbox=paper, linespacing=st.SPACING)  # fmt: skip


DRAWING = st.PALETTE[0]


def dispersion(frame: Dispersion, width: str) -> Sketch:
    """Sketch a bar for each score's deviation and a line for closed minus open, with the paper's in grey."""
    turn = 0 if width == "double" else 90
    below = 0.0 if turn == 0 else max(wide(column, st.SMALL) for column in frame.columns)
    places = range(len(frame.columns))

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        bar = 0.36 if frame.paper else 0.6
        ours = -bar / 2 if frame.paper else 0.0
        panel.bar(
            [n + ours for n in places], [value or 0.0 for value in frame.deviations], bar,
            color=st.PALETTE[5], label="deviation over painters",
        )  # fmt: skip
        if frame.paper:
            theirs = [deviation or 0.0 for deviation, _ in frame.paper]
            panel.bar(
                [n + bar / 2 for n in places], theirs, bar, color="none", edgecolor=st.GREY, lw=0.6, hatch="////",
                label="the same in the paper",
            )  # fmt: skip
            _line(panel, [gap for _, gap in frame.paper], st.GREY, "s", ":", "closed minus open in the paper")
        _line(panel, frame.gaps, st.PALETTE[1], "o", "-", "closed minus open painters")
        panel.axhline(0, color=st.GREY, lw=0.6)
        panel.set_xticks(places, frame.columns, rotation=turn)
        panel.tick_params(axis="x", length=0)
        panel.grid(axis="x", visible=False)
        panel.set_ylabel(frame.label)
        handles, labels = panel.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda n: ("paper" in labels[n], labels[n].startswith("closed")))
        listed = [handles[n] for n in order], [labels[n] for n in order]
        figure.legend(*listed, loc="outside upper left", ncols=4 if width == "double" else 2)

    return Sketch(2.5 + below + (0.15 if width == "single" else 0.0), paint, frame.caption)


def _line(panel: Any, gaps: Any, colour: str, marker: str, line: str, label: str) -> None:
    points_known = [(n, gap) for n, gap in enumerate(gaps) if gap is not None]
    if points_known:
        xs, ys = [n for n, _ in points_known], [gap for _, gap in points_known]
        panel.plot(xs, ys, ls=line, color=colour, marker=marker, ms=3.4, mec="white", mew=0.3, label=label, zorder=3)


def pairs(frame: ScorePairs, width: str) -> Sketch:
    """Sketch a panel for every pair of scores: drawings as dots, painters' means as rings, coefficients above."""
    down, across = (len(frame.pairs), 1) if width == "single" else (1, len(frame.pairs))

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for panel, pair in zip(axes, frame.pairs, strict=True):
            _cloud(panel, pair, frame.top)
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], color=DRAWING, marker=".", lw=0, ms=4.5, mew=0, label="a drawing"),
            Line2D([], [], color="none", marker="o", mec=st.INK, mew=0.8, lw=0, ms=4, label="a painter's mean"),
        ]
        figure.legend(handles=marks, loc="outside upper left", ncols=2)

    return Sketch(down * 2.35 + 0.25, paint, frame.caption)


def _cloud(panel: Any, pair: ScorePair, top: float) -> None:
    xs, ys = [x for x, _ in pair.drawings], [y for _, y in pair.drawings]
    # Thousands of vector dots would make a file of many megabytes; they are rasterized.
    few = len(xs) < 500
    panel.plot(
        xs, ys, ".", color=DRAWING, ms=4.5 if few else 3, mew=0, alpha=0.6 if few else 0.2, rasterized=len(xs) > 2000
    )
    panel.plot(
        [x for _, x, _ in pair.means],
        [y for _, _, y in pair.means],
        "o",
        mfc="none",
        mec=st.INK,
        mew=0.8,
        ms=4,
        zorder=3,
    )
    panel.set_xlim(-0.03 * top, 1.03 * top)
    panel.set_ylim(-0.03 * top, 1.03 * top)
    panel.set_aspect("equal")
    panel.set_xlabel(pair.one)
    panel.set_ylabel(pair.other)
    panel.set_xticks([0, top / 2, top])
    panel.set_yticks([0, top / 2, top])
    for side in ("top", "right"):
        panel.spines[side].set(visible=True, color=st.PALE)
    coefficients = [f"{name} {'–' if value is None else f'{value:.2f}'}" for name, value in
            (("Pearson", pair.pearson), ("Spearman", pair.spearman))]  # fmt: skip
    panel.set_title(f"{', '.join(coefficients)} (n = {len(pair.drawings)})", fontsize=st.SMALL)
