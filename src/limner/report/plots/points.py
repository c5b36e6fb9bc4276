"""Plots of painters as numbered points in a plane, with a key of their names.

Numbers are placed so that they hide neither another number nor a point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import cos, dist, pi, sin
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
from .style import Sketch, inches_high, lines_of, whole, wide

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

KEY_SPACING = 1.3
"""The distance between the lines of a key, relative to its type."""
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
"""The distance in points beyond which a number gets a thin line to its point."""
POINT = 3.2
CLOSE = 4
"""The factor within which prices are close together and would get few ticks."""
STEPS = ((1, 2, 5), (1, 3), (1,))
"""Choices of ticks in each power of ten of a logarithmic axis; the first with at most `TICKS` of them is used."""
TICKS = 5


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
    single = width == "single"
    plane, across, inches = (2.3, 2, st.WIDTHS[width]) if single else (3.4, 1, KEY_WIDE)
    names = whole([point.name for point in frame.points], inches / across - NUMBER - 0.06)
    columns = _columns(names, across)
    key = max(lines_of([column]) for _, column in columns) * st.SMALL * KEY_SPACING / 72 + 0.1

    def paint(figure: FigureBase) -> Callable[[], None]:
        # Subfigures keep their size, however much room an axis and a legend need.
        parts: Any = figure.subfigures(2, 1, height_ratios=[plane, key]) if single else figure.subfigures(
            1, 2, width_ratios=[st.WIDTHS[width] - inches, inches])  # fmt: skip
        panel = parts[0].subplots()
        _plane(parts[0], panel, frame)

        def finish() -> None:
            _number(panel, [(point.x.value or 0.0, point.y.value or 0.0) for point in frame.points])
            _key(parts[1], columns, inches)

        return finish

    apart = ", with 0 apart" if any(point.x.value == 0 for point in frame.points) else ""
    scales = f"dollars on a log scale{apart}; scores linear" if frame.money else "axes linear"
    return Sketch(plane + key if single else max(plane, key), paint, frame.caption, scales=scales)


def _columns(names: Sequence[str], across: int) -> list[tuple[str, str]]:
    """Return the numbers and the names of each column of a key, with a line of numbers for each line of names."""
    down = -(-len(names) // across)
    lines = [str(n) + "\n" * name.count("\n") for n, name in enumerate(names, 1)]
    starts = range(0, len(names), down)
    return [("\n".join(lines[start : start + down]), "\n".join(names[start : start + down])) for start in starts]


def _key(part: Any, columns: Sequence[tuple[str, str]], inches: float) -> None:
    """Write numbers and names from the top of a part of the figure downwards."""
    top = 1 - 0.05 / inches_high(part)
    style = {"va": "top", "fontsize": st.SMALL, "linespacing": KEY_SPACING}
    for n, (numbers, names) in enumerate(columns):
        x = n / len(columns) + NUMBER / inches
        part.text(x - 0.05 / inches, top, numbers, ha="right", color=st.GREY, **style)
        part.text(x, top, names, ha="left", **style)


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
    choices = [
        [tick for power in range(-6, 4) for step in steps if least <= (tick := step * 10.0**power) <= most]
        for steps in STEPS
    ]
    ticks = next((ticks for ticks in choices if len(ticks) <= TICKS), choices[-1])
    free = 0.0 in prices
    panel.set_xticks([0.0, *ticks] if free else ticks, [*(["0"] if free else []), *(f"{tick:g}" for tick in ticks)])
    panel.minorticks_off()
    panel.set_xlim(-least * 0.25 if free else least, most)


def choose(points: Sequence[tuple[float, float]], widths: Sequence[float], inside: Box) -> list[tuple[float, float]]:
    """Return the middle of each point's number: near it, inside the frame, and without overlaps if possible.

    Args:
        points: Their positions, in points (1/72 inch).
        widths: The width of each number.
        inside: The frame.

    >>> choose([(50, 50)], [20], (0, 0, 100, 100))
    [(65.0, 50.0)]
    """
    filled = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    middles: list[tuple[float, float]] = [(0.0, 0.0)] * len(points)
    # Points with the closest neighbours have the fewest options, so they come first.
    order = sorted(range(len(points)), key=lambda n: sorted(dist(points[n], other) for other in points)[:2])

    def faults(middle: tuple[float, float], width: float) -> float:
        box = _box(middle, width)
        past = (inside[0] - box[0], inside[1] - box[1], box[2] - inside[2], box[3] - inside[3])
        return round(sum(_overlap(box, other) for other in filled) + 20 * sum(max(0.0, each) for each in past), 9)

    for n in order:
        middles[n] = min(_places(points[n], widths[n]), key=lambda middle: faults(middle, widths[n]))
        filled.append(_box(middles[n], widths[n]))
    return middles


def _places(point: tuple[float, float], width: float) -> list[tuple[float, float]]:
    x, y = point
    high = st.SMALL / 2 - 1
    return [(x + cos(angle) * (far + width / 2), y + sin(angle) * (far + high)) for far in FAR for angle in AROUND]


def _box(middle: tuple[float, float], width: float) -> Box:
    x, y = middle
    return x - width / 2 - 1.5, y - st.SMALL * 0.58, x + width / 2 + 1.5, y + st.SMALL * 0.58


def _overlap(box: Box, other: Box) -> float:
    across = min(box[2], other[2]) - max(box[0], other[0])
    down = min(box[3], other[3]) - max(box[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _number(panel: Any, points: Sequence[tuple[float, float]]) -> None:
    """Write numbers into a panel whose size is final; a distant one gets a thin line to its point."""
    scale = 72 / panel.figure.dpi
    where = [(float(x) * scale, float(y) * scale) for x, y in panel.transData.transform(list(points))]
    edge = panel.get_window_extent()
    inside = (edge.x0 * scale + 1, edge.y0 * scale + 1, edge.x1 * scale - 1, edge.y1 * scale - 1)
    widths = [wide(str(n), st.SMALL) * 72 for n in range(1, len(points) + 1)]
    # The background of numbers covers lines but not points.
    paper = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
    for n, ((x, y), (a, b)) in enumerate(zip(where, choose(where, widths, inside), strict=True)):
        gap = max(abs(x - a) - widths[n] / 2, abs(y - b) - st.SMALL / 2)
        line = {"arrowstyle": "-", "lw": 0.4, "color": st.GREY, "shrinkA": 0, "shrinkB": 2.5} if gap > LEADER else None
        panel.annotate(str(n + 1), points[n], (a - x, b - y), textcoords="offset points", ha="center", va="center",
                       zorder=2.5, fontsize=st.SMALL, arrowprops=line, bbox=paper)  # fmt: skip


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
