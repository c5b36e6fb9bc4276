"""Small multiples: one panel per painter, so that twenty-five of them can still be told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING, Any

from ..core.plot_data import Bands, Grid
from .style import (
    GREY,
    LINE,
    MARKERS,
    NORMAL,
    PAGE,
    PALE,
    PALETTE,
    SMALL,
    SPACING,
    WIDTHS,
    Sketch,
    fit,
    lines_of,
    whole,
    wide,
    words_height,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ACROSS = {"single": 3, "double": 6}
MANY = 18
"""With more panels than this they stand closer."""
NAMES = {"single": 1.0, "double": 2.3}
"""Inches that the name of a column may take."""
PAD = 3.0
"""Points between a panel and its title; half of it where there are many."""


def rectangle(count: int, most: int) -> tuple[int, int]:
    """How many panels stand below and beside each other; a full rectangle is nicer than one panel in the last row.

    >>> rectangle(7, 6), rectangle(2, 6)
    ((2, 4), (1, 2))
    """
    down = -(-count // most)
    return down, -(-count // down)


def panels(
    figure: FigureBase, titles: Sequence[str], down: int, across: int, share: bool = True
) -> Iterator[tuple[int, Any]]:
    """A panel for each title, with its number; all have the same axes, or without `share` only the horizontal one."""
    axes = figure.subplots(down, across, sharex=True, sharey=share, squeeze=False).ravel()
    for unused in axes[len(titles) :]:
        unused.set_visible(False)
    for n, (panel, title) in enumerate(zip(axes, titles, strict=False)):
        panel.set_title(title, fontsize=SMALL, linespacing=SPACING, pad=PAD / (1 + (len(titles) > MANY)))
        panel.tick_params(labelbottom=n + across >= len(titles))
        yield n, panel


def profiles(grid: Grid, width: str) -> Sketch:
    """One panel per painter: its line over the columns, with intervals; the others' lines grey behind it."""
    columns = [fit(column, NAMES[width], SMALL) for column in grid.columns]
    # Where the columns rest on unlike questions, each says on how many; else each panel does.
    told = [grid.counted(place) for place in range(len(columns))]
    apart = len(set(told)) > 1
    if apart:
        columns = [f"{column} ({count.replace(' ', '')})" for column, count in zip(columns, told, strict=True)]
    counts = [0 if apart else cells[0].n for cells in grid.cells]
    left = max(wide(column, SMALL) for column in columns) + 0.06
    # Many panels are lower, so that a page holds them.
    tall = max(0.5, (0.115 if len(grid.rows) <= MANY else 0.1) * len(columns))
    least = max(0.5, LINE * len(columns))

    def one(panel: Any, n: int) -> None:
        _line(panel, grid, [m for m in range(len(grid.rows)) if m != n], PALE, 0.5)
        colour = GREY if grid.rows[n] in grid.controls else PALETTE[0]
        for place, cell in enumerate(grid.cells[n]):
            if cell.ends is not None:
                shade = colour if cell.value is not None else GREY
                panel.plot(cell.ends, [place, place], color=shade, lw=2.0, alpha=0.4, solid_capstyle="butt")
        _line(panel, grid, [n], colour, 1.1, "o")
        panel.set_yticks(range(len(columns)), columns)
        panel.set_ylim(len(columns) - 0.6, -0.4)
        panel.set_xlim(-0.03, 1.03)
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.tick_params(axis="y", length=0)

    return _multiples(grid.rows, width, left, (least, tall), one, grid.label, grid.caption, counts)


def _line(panel: Any, grid: Grid, rows: Sequence[int], colour: str, thick: float, marker: str | None = None) -> None:
    """A line for each of these rows; one artist for all of them, for twenty-five times as many are slow."""
    xs: list[float] = []
    ys: list[float] = []
    for row in rows:
        found = [(cell.value, place) for place, cell in enumerate(grid.cells[row]) if cell.value is not None]
        xs += [*(value for value, _ in found), nan]
        ys += [*(float(place) for _, place in found), nan]
    panel.plot(xs, ys, color=colour, lw=thick, marker=marker, ms=2.4, zorder=3 if marker else 1)


def _multiples(
    rows: Sequence[str],
    width: str,
    left: float,
    tall: tuple[float, float],
    one: Callable[[Any, int], None],
    label: str,
    caption: str,
    counts: Sequence[int],
    legend: Callable[[FigureBase], None] | None = None,
    side: str = "",
) -> Sketch:
    """Panels as high as `tall` ends, and lower, down to where it begins, where else a page would not hold them."""
    down, across = rectangle(len(rows), ACROSS[width])
    room = (WIDTHS[width] - left) / across - 0.07
    titles = whole(rows, room)
    if len(set(counts)) > 1:
        titles = [_with_count(title, count, room) for title, count in zip(titles, counts, strict=True)]
    elif counts[0]:
        label = f"{label}; n = {counts[0]} in each panel"
    more = sum(lines_of(titles[row * across : (row + 1) * across]) - 1 for row in range(down))
    around = down * (0.2 if len(rows) <= MANY else 0.2 - PAD / 144) + LINE * more + 0.38 + (0.2 if legend else 0.0)

    def paint(figure: FigureBase) -> None:
        for n, panel in panels(figure, titles, down, across):
            one(panel, n)
        if legend:
            legend(figure)
        if side:
            figure.supylabel(side, fontsize=NORMAL)

    sketch = Sketch(around, paint, caption, label)
    free = (PAGE - around - words_height(sketch, width)) / down - 0.001
    return replace(sketch, height=around + down * min(tall[1], max(tall[0], free)))


def _with_count(title: str, count: int, room: float) -> str:
    """A title with how many drawings it rests on, behind the name where there is room, else below it."""
    last = f"{title.split(chr(10))[-1]}, n = {count}"
    return f"{title}, n = {count}" if wide(last, SMALL) <= room else f"{title}\nn = {count}"


def bands(frame: Bands, width: str) -> Sketch:
    """One panel per painter: some scores by the questions' size, with quartiles; single drawings as dots."""

    def one(panel: Any, n: int) -> None:
        for place, bins in enumerate(frame.bins[n]):
            colour, marker = PALETTE[place], MARKERS[place]
            dots = frame.drawings[n][place]
            panel.plot([x for x, _ in dots], [y for _, y in dots], ".", color=colour, ms=2.2, alpha=0.4, mew=0)
            xs = [sum(each.size) / 2 for each in bins]
            panel.fill_between(
                xs, [each.q1 for each in bins], [each.q3 for each in bins], color=colour, alpha=0.18, lw=0
            )
            panel.plot(xs, [each.mean for each in bins], color=colour, marker=marker, ms=2.6)
        panel.set_ylim(-0.03, 1.03)
        panel.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.locator_params(axis="x", nbins=3, integer=True)

    def legend(figure: FigureBase) -> None:
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], color=PALETTE[n], marker=MARKERS[n], ms=2.6, label=name.upper())
            for n, name in enumerate(frame.scores)
        ]
        figure.legend(handles=marks, loc="outside upper left", ncols=3)

    label = f"{frame.label}; line: mean, band: middle half"
    # Many panels are lower, so that a page holds them and a long caption.
    tall = 0.75 if len(frame.rows) <= MANY else 0.65
    counts = [max(len(dots) for dots in each) for each in frame.drawings]
    return _multiples(frame.rows, width, 0.36, (0.45, tall), one, label, frame.caption, counts, legend, "score (of 1)")
