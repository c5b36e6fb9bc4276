"""Drawing of an exam's data set: panels in rows on one page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.plot_data import BarPanel, DataSheet, HistogramPanel, MapPanel, Panel, QuartilePanel, WordsPanel
from . import style as st
from .rows import named_rows
from .style import Sketch, fit, inches_high, lines_of, whole, wide, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW, HEAD = 0.12, 0.24
LONGEST = 14
"""The most bars in one column; a wide panel with more bars gets several columns."""
NAMES = 1.35
"""The most inches of row names."""
LARGEST = 10.0
"""The size of a word that occurs in every prompt, in points."""
PAPER = st.PALETTE[1]


def data(frame: DataSheet, width: str) -> Sketch:
    """Sketch the panels: narrow ones in pairs, wide ones alone."""
    lines = _lines(frame.panels, width)
    heights = [max(_height(panel, st.WIDTHS[width] / len(line), width) for panel in line) for line in lines]

    def paint(figure: FigureBase) -> None:
        for part, line in zip(figure.subfigures(len(lines), 1, squeeze=False, height_ratios=heights)[:, 0], lines,
                              strict=True):  # fmt: skip
            for inner, panel in zip(part.subfigures(1, len(line), squeeze=False)[0], line, strict=True):
                room = st.WIDTHS[width] / len(line)
                inner.suptitle(wrapped(panel.title, room - 0.2, st.NORMAL), fontsize=st.NORMAL, x=0.02, ha="left")
                PAINTED[type(panel)](inner, panel, room, width)

    return Sketch(sum(heights), paint, frame.caption)


def _lines(panels: Sequence[Panel], width: str) -> list[list[Panel]]:
    lines: list[list[Panel]] = []
    for panel in panels:
        beside = lines and width == "double" and len(lines[-1]) == 1 and not lines[-1][0].wide and not panel.wide
        if beside:
            lines[-1].append(panel)
        else:
            lines.append([panel])
    return lines


def _columns(panel: BarPanel, width: str) -> list[list[int]]:
    """Return the indices of the rows, column by column; a group is never split."""
    count = len(panel.rows)
    across = 1 if not panel.wide or count <= LONGEST or width == "single" else min(3, -(-count // LONGEST))
    most = -(-(count + len(set(panel.groups))) // across)
    columns: list[list[int]] = [[]]
    for group in dict.fromkeys(panel.groups):
        inside = [n for n in range(count) if panel.groups[n] == group]
        if not group:
            columns = [inside[start : start + most] for start in range(0, count, most)]
        elif columns[-1] and len(columns) < across and len(columns[-1]) + len(inside) > most:
            columns.append(inside)
        else:
            columns[-1] += inside
    return columns


def _slots(panel: BarPanel, places: Sequence[int]) -> float:
    """Return the number of rows that a column takes, with group titles; names of several lines take more."""
    named = named_rows([panel.rows[n] for n in places], NAMES, ROW)
    return sum(named.tall) + 0.9 * len({panel.groups[n] for n in places if panel.groups[n]})


def _height(panel: Panel, room: float, width: str) -> float:
    title = 0.1 * wrapped(panel.title, room - 0.2, st.NORMAL).count("\n")
    if isinstance(panel, BarPanel):
        legend = 0.15 if len(panel.parts) > 1 else 0.0
        return HEAD + 0.3 + title + legend + ROW * max(_slots(panel, each) for each in _columns(panel, width))
    if isinstance(panel, QuartilePanel):
        return HEAD + 0.3 + title + named_rows(panel.rows, NAMES, ROW).height
    if isinstance(panel, MapPanel):
        return HEAD + 0.3 + title + max(0.14, lines_of(whole(panel.rows, NAMES)) * st.LINE + 0.03) * len(panel.rows)
    if isinstance(panel, HistogramPanel):
        return HEAD + 1.0 + title
    down, _, inner = _cloud_grid(panel, room)
    tall = max(sum(size for size, _ in _flow(words, inner)) for _, words in panel.groups)
    return HEAD + title + down * (tall + 0.22)


def _bars(figure: FigureBase, panel: BarPanel, room: float, width: str) -> None:
    columns = _columns(panel, width)
    axes = figure.subplots(1, len(columns), squeeze=False)[0]
    most = max(
        [*(sum(parts) for parts in panel.values), *(printed for printed in panel.printed if printed is not None)]
    )
    # Bars have the same height in panels of one row.
    rows_free = (inches_high(figure) - HEAD - 0.3) / ROW
    tallest = max([rows_free, *(_slots(panel, each) for each in columns)])
    for panel_, places in zip(axes, columns, strict=True):
        y, ticks = 0.0, []
        rows = named_rows([panel.rows[n] for n in places], NAMES, ROW)
        for at, n in enumerate(places):
            group = panel.groups[n]
            if group and (at == 0 or panel.groups[places[at - 1]] != group):
                panel_.text(0, y, f" {group}", fontsize=st.SMALL, fontweight="bold", va="center", ha="left")
                y += 0.9
            y += (rows.tall[at] - 1) / 2
            start = 0.0
            for part, value in enumerate(panel.values[n]):
                panel_.barh(y, value, 0.72, left=start, color=st.PALETTE[(0, 4, 2, 3)[part % 4]], lw=0,
                            label=panel.parts[part] if n == places[0] else None, zorder=2)  # fmt: skip
                start += value
            if panel.printed[n] is not None:
                panel_.plot([panel.printed[n]] * 2, [y - 0.42, y + 0.42], color=PAPER, lw=1.6, zorder=3)
            words = f" {start:g}" if start == round(start) else f" {start:.1f}"
            mark = panel.printed[n] or 0.0
            end = mark if start <= mark < start + 0.15 * most else start
            panel_.text(end, y, words, va="center", ha="left", fontsize=st.SMALL, color=st.INK)
            ticks.append(y)
            y += (rows.tall[at] + 1) / 2
        panel_.set_yticks(ticks, rows.names, linespacing=st.SPACING)
        panel_.set_ylim(tallest - 0.4, -0.6)
        panel_.tick_params(axis="y", length=0)
        panel_.set_xlim(0, most * 1.18)
        panel_.grid(visible=False)
        panel_.set_xticks([])
        panel_.spines["bottom"].set_visible(False)
        panel_.spines["left"].set_bounds(-0.6, y - 0.4)
        panel_.set_xlabel(panel.unit, fontsize=st.SMALL, color=st.GREY)
    if len(panel.parts) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=len(panel.parts))


def _quartiles(figure: FigureBase, panel: QuartilePanel, room: float, width: str) -> None:
    axes = figure.subplots()
    rows = named_rows(panel.rows, NAMES, ROW)
    for place, ((low, middle, high), mean) in enumerate(zip(panel.quartiles, panel.means, strict=True)):
        n = rows.at[place]
        axes.plot([low, high], [n, n], color=st.PALETTE[5], lw=3.5, solid_capstyle="butt", zorder=2)
        axes.plot([middle], [n], "|", color=st.INK, ms=6, mew=1.2, zorder=3)
        axes.plot([mean], [n], "o", color=st.PALETTE[0], ms=3.2, mec="white", mew=0.3, zorder=4)
        if (printed := panel.printed[place]) is not None:
            axes.plot([printed, printed], [n - 0.42, n + 0.42], color=PAPER, lw=1.4, zorder=5)
    rows.set(axes)
    axes.set_xlim(0, None)
    axes.set_xlabel(f"{panel.label}: middle half, median (|), mean (dot)", fontsize=st.SMALL)


def _histogram(figure: FigureBase, panel: HistogramPanel, room: float, width: str) -> None:
    axes = figure.subplots()
    axes.stairs(panel.counts, panel.edges, fill=True, color=st.PALETTE[5])
    axes.set_xlim(panel.edges[0], panel.edges[-1])
    axes.set_ylim(0, None)
    axes.grid(axis="x", visible=False)
    axes.locator_params(axis="x", integer=True, nbins=8)
    axes.locator_params(axis="y", integer=True, nbins=4)
    axes.set_xlabel(panel.label)
    axes.set_ylabel(panel.unit)


def _map(figure: FigureBase, panel: MapPanel, room: float, width: str) -> None:
    axes: Any = figure.subplots()
    image = axes.imshow(panel.counts, cmap=st.SEQUENTIAL, aspect="auto", vmin=0)
    for y, row in enumerate(panel.counts):
        for x, count in enumerate(row):
            red, green, blue = image.to_rgba(count)[:3]
            ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
            axes.text(x, y, str(count), ha="center", va="center", fontsize=st.SMALL, color=ink)
    axes.set_yticks(range(len(panel.rows)), whole(panel.rows, NAMES), linespacing=st.SPACING)
    cell = (room - NAMES) / len(panel.columns) - 0.05
    axes.set_xticks(range(len(panel.columns)), [fit(name, max(cell, 0.3), st.SMALL) for name in panel.columns])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _cloud_grid(panel: WordsPanel, room: float) -> tuple[int, int, float]:
    """Return the numbers of rows and columns of groups, and the width of each in inches."""
    across = 1 if len(panel.groups) == 1 else min(len(panel.groups), max(2, int(room / 1.3)))
    return -(-len(panel.groups) // across), across, room / across - 0.12


def _size(count: int, most: int) -> float:
    return float(st.SMALL + (LARGEST - st.SMALL) * (count / most) ** 1.5)


Line = tuple[float, list[tuple[str, float, float]]]
"""The height of a line, and its words, each with its size and its offset from the left."""


def _flow(words: Sequence[tuple[str, int]], room: float) -> list[Line]:
    """Return words in lines that fit, the most frequent first, in larger type if more prompts contain them."""
    lines: list[list[tuple[str, float, float]]] = [[]]
    at = 0.0
    for word, count in words:
        size = _size(count, words[0][1])
        take = wide(word, size) + 0.07
        if lines[-1] and at + take > room:
            lines.append([])
            at = 0.0
        lines[-1].append((word, size, at))
        at += take
    return [(max((size for _, size, _ in line), default=st.SMALL) * 1.25 / 72, line) for line in lines]


def _words(figure: FigureBase, panel: WordsPanel, room: float, width: str) -> None:
    down, across, inner = _cloud_grid(panel, room)
    high = inches_high(figure)
    each = (high - HEAD + 0.02) / down
    for n, (name, words) in enumerate(panel.groups):
        left, top = 0.08 + (n % across) * (room / across), HEAD - 0.04 + (n // across) * each
        if name:
            figure.text(left / room, 1 - top / high, name, fontsize=st.SMALL, fontweight="bold", ha="left", va="top")
            top += 0.13
        place = 0
        for tall, line in _flow(words, inner):
            for word, size, x in line:
                colour = st.PALETTE[(0, 1, 2, 3)[place % 4]]
                place += 1
                figure.text((left + x) / room, 1 - (top + tall * 0.85) / high, word, fontsize=size, color=colour,
                            ha="left", va="baseline")  # fmt: skip
            top += tall


PAINTED: dict[type, Callable[[Any, Any, float, str], None]] = {
    BarPanel: _bars, QuartilePanel: _quartiles, HistogramPanel: _histogram, MapPanel: _map, WordsPanel: _words,
}  # fmt: skip
"""The functions that draw each kind of panel into its part of the page."""
