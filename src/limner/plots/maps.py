"""Heat maps: painters by categories, differences between conditions, judges by judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.errors import UsageError
from ..core.plot_data import Grid, Quantity
from ..scoring.compare import judges as compare_judges
from .grids import OVERALL
from .rows import NamedRows, named_rows
from .source import PlotChoice
from .style import (
    DIVERGING,
    LINE,
    NORMAL,
    PALE,
    SEQUENTIAL,
    SMALL,
    SPACING,
    WIDTHS,
    Sketch,
    broken,
    fit,
    lines_of,
    whole,
    wide,
    wrapped,
)

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW = 0.15
NAMES = {"single": 1.2, "double": 2.3}
"""Inches that a line of a name may take, more where the cells leave them."""
LEAST = 0.032
"""Inches between a number and its cell's edges, both together."""
BARE = 0.135
"""Inches of a cell without a number."""
LINES = 3
"""Lines of a column's name that is not turned."""
TALLEST = 1.3
"""Inches that a column's name, written upwards, may take."""


def scores(grid: Grid, width: str) -> Sketch:
    """Scores, dark is low; the lower end of the colours is nothing, the upper one the best possible."""
    # Two digits fit into the narrowest cell.
    by = 100.0 if grid.top == 1 else 1.0
    label = grid.label + (", in hundredths" if by != 1 else "")
    scaled = replace(grid.scaled(by), label=label)
    digits = 0 if scaled.top >= 10 else 1
    return _map(scaled, width, (0.0, scaled.top), SEQUENTIAL, lambda value: f"{value:.{digits}f}")


def differences(grid: Grid, width: str) -> Sketch:
    """Differences, with nothing in the middle of the colours."""
    far = max((abs(cell.value) for row in grid.cells for cell in row if cell.value is not None), default=1.0) or 1.0
    return _map(grid, width, (-far, far), DIVERGING, _signed)


def _signed(value: float) -> str:
    """A whole number with its sign; nothing has none.

    >>> _signed(2.6), _signed(-2.6), _signed(-0.4)
    ('+3', '−3', '0')
    """
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _map(grid: Grid, width: str, ends: tuple[float, float], colours: str, text: Callable[[float], str]) -> Sketch:
    told = [text(cell.value) for row in grid.cells for cell in row if cell.value is not None]
    number = max((wide(each, SMALL) for each in told), default=0.0)
    rows = named_rows(grid.rows, _for_names(len(grid.columns), number, width), ROW)
    left = max(wide(line, SMALL) for name in rows.names for line in name.split("\n"))
    # A map of few columns is no wider than it need be.
    room = min((WIDTHS[width] - left - 0.15) / len(grid.columns), 0.7)
    columns = _column_names(grid.columns, [_count(grid, place) for place in range(len(grid.columns))], room)
    turn, above = _turn(columns, room)
    fits = number < room - 0.03
    label = wrapped(grid.label, WIDTHS[width] - left - 0.1, NORMAL)
    height = above + rows.height + 0.5 + 0.12 * label.count("\n")

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        image = _cells(panel, grid, ends, colours, rows)
        for y, row in zip(rows.at, grid.cells, strict=True):
            for x, cell in enumerate(row):
                _write(panel, x, y, cell, "–" if cell.value is None else text(cell.value) if fits else "")
        if grid.columns[0] == OVERALL:
            panel.axvline(0.5, color="white", lw=2)
        panel.set_yticks(rows.at, rows.names, linespacing=SPACING)
        panel.set_xticks(range(len(columns)), columns, rotation=turn, linespacing=SPACING)
        panel.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        bar = figure.colorbar(image, ax=panel, orientation="horizontal", aspect=40, shrink=0.75, pad=0.02)
        bar.set_label(label)
        _plain(bar)

    return Sketch(height, paint, grid.caption, scales="colours linear")


def _for_names(columns: int, number: float, width: str) -> float:
    """Inches for a line of a name beside cells as narrow as their numbers allow, or as bare cells may be."""
    free = WIDTHS[width] - 0.15
    beside = free - columns * (number + LEAST)
    if beside < NAMES[width]:
        beside = free - columns * BARE
    return max(NAMES[width], min(beside, WIDTHS[width] / 2, NAMES["double"]))


def _count(grid: Grid, place: int) -> str:
    """How many questions a column rests on, where it is not the same for all."""
    told = {grid.counted(n) for n in range(len(grid.columns))}
    return f" ({grid.counted(place).replace(' ', '').replace('to', '–')})" if len(told) > 1 else ""


def _plain(bar: Any) -> None:
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, width=0.5)
    from matplotlib.ticker import MaxNLocator

    bar.ax.xaxis.set_major_locator(MaxNLocator(5))


def _column_names(names: Sequence[str], counts: Sequence[str], room: float) -> list[str]:
    """Whole names: in a few lines between words where these fit, else to be turned; cut only where nothing fits."""
    told = [name + count for name, count in zip(names, counts, strict=True)]
    flat = [wrapped(each, room - 0.07) for each in told]
    if lines_of(flat) <= LINES and all(wide(word, SMALL) < room - 0.07 for each in told for word in each.split()):
        return flat
    upward = [broken(each, TALLEST) for each in told]
    if lines_of(upward) * LINE < room:
        return upward
    return [fit(name, TALLEST, SMALL) + count for name, count in zip(names, counts, strict=True)]


def _turn(columns: Sequence[str], room: float) -> tuple[int, float]:
    """How far the columns' names are turned to fit, and how many inches they are high."""
    widths = [wide(line, SMALL) for column in columns for line in column.split("\n")]
    return (0, 0.05 + LINE * lines_of(columns)) if max(widths) < room - 0.06 else (90, max(widths) + 0.1)


def _cells(panel: Any, grid: Grid, ends: tuple[float, float], colours: str, rows: NamedRows, empty: str = PALE) -> Any:
    import numpy as np

    values = np.array([[np.nan if cell.value is None else cell.value for cell in row] for row in grid.cells])
    panel.set_facecolor(empty)
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
    across = [place - 0.5 for place in range(len(grid.columns) + 1)]
    # Drawn edges in the cells' own colours: else viewers of PDF show hairlines between them.
    image = panel.pcolormesh(across, rows.edges, values, cmap=colours, vmin=ends[0], vmax=ends[1], antialiased=False,
                             edgecolors="face", linewidth=0.4)  # fmt: skip
    panel.set_ylim(rows.edges[-1], rows.edges[0])
    return image


def _write(panel: Any, x: float, y: float, cell: Quantity, words: str, linespacing: float | None = None) -> None:
    """Black on light cells, white on dark ones."""
    red, green, blue = (1, 1, 1) if cell.value is None else panel.collections[0].to_rgba(cell.value)[:3]
    colour = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
    panel.text(x, y, words, ha="center", va="center", fontsize=SMALL, linespacing=linespacing, color=colour)


def judges(exam: str, choice: PlotChoice) -> tuple[Grid, Grid]:
    """Two matrices: Cohen's kappa of single marks, and Spearman's coefficient of the painters' order.

    Raises:
        UsageError: Only one judge has marked.
    """
    found = compare_judges(exam, score=choice.score, reading=choice.reading, store=choice.store, **choice.which)
    if found.reason:
        raise UsageError(f"{exam}: {found.reason}; `limner mark {exam} --judge NAME` adds a judge")
    names = tuple(rater.name for rater in found.raters)
    kappa: dict[tuple[str, str], Quantity] = {}
    order: dict[tuple[str, str], Quantity] = {}
    for pair in found.pairs:
        marks, other = pair.marks["all"], pair.order
        kappa[pair.second, pair.first] = Quantity(marks.kappa.value, marks.kappa.low, marks.kappa.high, marks.n)
        order[pair.second, pair.first] = Quantity(other.spearman.value, other.low, other.high, other.spearman.n)
    drawings = _ends(len(rater.clusters) for rater in found.raters)
    caption = (
        f"{found.exam} · {len(names)} judges · reading {found.reading} · {drawings} drawings marked by each"
        f" · order of painters by {found.score.name}"
        f" · coverage: painters in common, n = {_ends(cell.n for cell in order.values())}"
    )
    if any(cell.value is None for cell in (*kappa.values(), *order.values())):
        caption += " · –: too few for a coefficient"
    return (
        _matrix(names, kappa, "single marks: Cohen's kappa", caption),
        _matrix(names, order, "order of painters: Spearman's coefficient", caption),
    )


def _ends(counts: Iterable[int]) -> str:
    listed = sorted(counts)
    return " to ".join(dict.fromkeys(str(end) for end in (listed[0], listed[-1])))


def _matrix(names: tuple[str, ...], found: dict[tuple[str, str], Quantity], label: str, caption: str) -> Grid:
    """The lower triangle: each pair stands once."""
    rows, columns = names[1:], names[:-1]
    cells = tuple(tuple(found.get((row, column), Quantity()) for column in columns) for row in rows)
    return Grid(rows, columns, cells, label, 1.0, caption)


def matrices(grids: tuple[Grid, Grid], width: str) -> Sketch:
    """Two triangles of judges by judges, each number with its interval where there is room."""
    down = 2 if width == "single" else 1
    columns = whole(grids[0].columns, 1.1)
    room = (WIDTHS[width] / (3 - down) - 1.25) / len(columns)
    rows = named_rows(grids[0].rows, 1.1, max(0.17, min(0.36, room * 0.6)))
    turn, below = _turn(columns, room)
    height = down * (below + rows.height + 0.42)

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, 3 - down, squeeze=False).ravel()
        for panel, grid in zip(axes, grids, strict=True):
            _cells(panel, grid, (-1.0, 1.0), DIVERGING, rows, "white")
            for n, row in enumerate(grid.cells):
                for x, cell in enumerate(row[: n + 1]):
                    _write(panel, x, rows.at[n], cell, _with_ends(cell, room, rows.inches), linespacing=1.1)
            panel.set_yticks(rows.at, rows.names, linespacing=SPACING)
            panel.set_xticks(range(len(columns)), columns, rotation=turn, linespacing=SPACING)
            panel.tick_params(length=0)
            panel.set_xlabel("judge")
            panel.set_ylabel("judge")
            panel.set_title(wrapped(grid.label, WIDTHS[width] / (3 - down) - 0.1, NORMAL), fontsize=NORMAL)

    return Sketch(height, paint, grids[0].caption, scales="colours linear, from −1 to 1")


def _with_ends(cell: Quantity, room: float, tall: float) -> str:
    if cell.value is None:
        return "–"
    number = f"{cell.value:.2f}".replace("-", "−")
    if cell.low is None or cell.high is None:
        return number
    ends = f"{cell.low:.2f} to {cell.high:.2f}".replace("-", "−")
    return f"{number}\n{ends}" if wide(ends, SMALL) < room - 0.05 and tall > 0.25 else number
