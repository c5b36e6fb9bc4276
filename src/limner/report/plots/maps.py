"""Heat maps: painters by categories, differences between conditions, judges by judges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ... import exams
from ...core.errors import UsageError
from ...core.plot_data import Grid, Quantity, least_to_most, score_with_scale
from ...scoring import Comparable, comparable
from ...scoring.compare import Agreement
from ...scoring.compare import judges as compare_judges
from ...scoring.groups import checked_on
from ..paper.holdings import published_score
from . import style as st
from .rows import NAMES, NamedRows, mark_columns, named_rows
from .source import OVERALL, PlotChoice, main_score, quantities, with_controls
from .style import Sketch, broken, fit, lines_of, whole, wide, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW = 0.15
MAP_NAMES = {"single": 1.2, "double": 2.3}
"""The least inches for a line of a name; more if the cells leave room."""
LEAST = 0.032
"""The least inches between a number and its cell's two edges, in total."""
BARE = 0.135
"""The width of a cell without a number, in inches."""
LINES = 3
"""The most lines of a column's name that is not rotated."""
TALLEST = 1.3
"""The most inches of a column's name that is written upwards."""


def scores(grid: Grid, width: str) -> Sketch:
    """Sketch a map of scores, from zero (dark) to the best possible value."""
    # Two digits fit into the narrowest cell.
    by = 100.0 if grid.top == 1 else 1.0
    label = grid.label + (", in hundredths" if by != 1 else "")
    scaled = replace(grid.scaled(by), label=label)
    digits = 0 if scaled.top >= 10 else 1
    return _map(scaled, width, (0.0, scaled.top), st.SEQUENTIAL, lambda value: f"{value:.{digits}f}")


def differences(grid: Grid, width: str) -> Sketch:
    """Sketch a map of differences, with zero in the middle of the colours."""
    far = max((abs(cell.value) for row in grid.cells for cell in row if cell.value is not None), default=1.0) or 1.0
    return _map(grid, width, (-far, far), st.DIVERGING, _signed)


def _signed(value: float) -> str:
    """Format a whole number with its sign; zero has none.

    >>> _signed(2.6), _signed(-2.6), _signed(-0.4)
    ('+3', '−3', '0')
    """
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _map(grid: Grid, width: str, ends: tuple[float, float], colours: str, text: Callable[[float], str]) -> Sketch:
    texts = [text(cell.value) for row in grid.cells for cell in row if cell.value is not None]
    number = max((wide(each, st.SMALL) for each in texts), default=0.0)
    rows = named_rows(grid.rows, _for_names(len(grid.columns), number, width), ROW)
    left = max(wide(line, st.SMALL) for name in rows.names for line in name.split("\n"))
    # A map with few columns is only as wide as necessary.
    room = min((st.WIDTHS[width] - left - 0.15) / len(grid.columns), 0.7)
    columns = _column_names(grid.columns, [_count(grid, place) for place in range(len(grid.columns))], room)
    turn, above = _turn(columns, room)
    fits = number < room - 0.03
    label = wrapped(grid.label, st.WIDTHS[width] - left - 0.1, st.NORMAL)
    height = above + rows.height + 0.5 + 0.12 * label.count("\n")

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        image = _cells(panel, grid, ends, colours, rows)
        for y, row in zip(rows.at, grid.cells, strict=True):
            for x, cell in enumerate(row):
                _write(panel, x, y, cell, "–" if cell.value is None else text(cell.value) if fits else "")
        if grid.columns[0] == OVERALL:
            panel.axvline(0.5, color="white", lw=2)
        panel.set_yticks(rows.at, rows.names, linespacing=st.SPACING)
        panel.set_xticks(range(len(columns)), columns, rotation=turn, linespacing=st.SPACING)
        panel.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
        bar = figure.colorbar(image, ax=panel, orientation="horizontal", aspect=40, shrink=0.75, pad=0.02)
        bar.set_label(label)
        _plain(bar)

    return Sketch(height, paint, grid.caption, scales="colours linear")


def _for_names(columns: int, number: float, width: str) -> float:
    """Return the inches for a line of a name if cells are as narrow as their numbers allow."""
    free = st.WIDTHS[width] - 0.15
    beside = free - columns * (number + LEAST)
    if beside < MAP_NAMES[width]:
        beside = free - columns * BARE
    return max(MAP_NAMES[width], min(beside, st.WIDTHS[width] / 2, MAP_NAMES["double"]))


def _count(grid: Grid, place: int) -> str:
    """Return the number of a column's questions in words; empty if all columns have equally many."""
    counts = {grid.counted(n) for n in range(len(grid.columns))}
    return f" ({grid.counted(place).replace(' ', '').replace('to', '–')})" if len(counts) > 1 else ""


def _plain(bar: Any) -> None:
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=2, width=0.5)
    from matplotlib.ticker import MaxNLocator

    bar.ax.xaxis.set_major_locator(MaxNLocator(5))


def _column_names(names: Sequence[str], counts: Sequence[str], room: float) -> list[str]:
    """Return full names, in a few lines if they fit, otherwise for rotation; cut them only if nothing else fits."""
    labels = [name + count for name, count in zip(names, counts, strict=True)]
    flat = [wrapped(each, room - 0.07) for each in labels]
    if lines_of(flat) <= LINES and all(wide(word, st.SMALL) < room - 0.07 for each in labels for word in each.split()):
        return flat
    upward = [broken(each, TALLEST) for each in labels]
    if lines_of(upward) * st.LINE < room:
        return upward
    return [fit(name, TALLEST, st.SMALL) + count for name, count in zip(names, counts, strict=True)]


def _turn(columns: Sequence[str], room: float) -> tuple[int, float]:
    """Return the rotation of the columns' names, and their height in inches."""
    widths = [wide(line, st.SMALL) for column in columns for line in column.split("\n")]
    return (0, 0.05 + st.LINE * lines_of(columns)) if max(widths) < room - 0.06 else (90, max(widths) + 0.1)


def _cells(
    panel: Any, grid: Grid, ends: tuple[float, float], colours: str, rows: NamedRows, empty: str = st.PALE
) -> Any:
    import numpy as np

    values = np.array([[np.nan if cell.value is None else cell.value for cell in row] for row in grid.cells])
    panel.set_facecolor(empty)
    panel.grid(visible=False)
    for side in panel.spines.values():
        side.set_visible(False)
    across = [place - 0.5 for place in range(len(grid.columns) + 1)]
    # Edges in the colours of the cells; otherwise PDF viewers show hairlines between cells.
    image = panel.pcolormesh(across, rows.edges, values, cmap=colours, vmin=ends[0], vmax=ends[1], antialiased=False,
                             edgecolors="face", linewidth=0.4)  # fmt: skip
    panel.set_ylim(rows.edges[-1], rows.edges[0])
    return image


def _write(panel: Any, x: float, y: float, cell: Quantity, words: str, linespacing: float | None = None) -> None:
    """Write a text into a cell, black on light cells and white on dark ones."""
    red, green, blue = (1, 1, 1) if cell.value is None else panel.collections[0].to_rgba(cell.value)[:3]
    ink = st.readable(red, green, blue)
    panel.text(x, y, words, ha="center", va="center", fontsize=st.SMALL, linespacing=linespacing, color=ink)


def judges(exam: str, choice: PlotChoice) -> tuple[Grid, Grid]:
    """Return two matrices of judges: Cohen's kappa of single marks, and Spearman's coefficient of the painters' order.

    Raises:
        UsageError: Only one judge has marked.
    """
    agreement = compare_judges(exam, score=choice.score, reading=choice.reading, store=choice.store, **choice.which)
    if agreement.reason:
        raise UsageError(f"{exam}: {agreement.reason}; `limner mark {exam} --judge NAME` adds a judge")
    names = tuple(rater.name for rater in agreement.raters)
    kappa = _matrix(agreement, names, "single marks: Cohen's kappa", "kappa", "all")
    score = agreement.score.name
    order = _matrix(agreement, names, "order of painters: Spearman's coefficient", "spearman", score, unit="painter")
    drawings = least_to_most(len(rater.parts) for rater in agreement.raters)
    caption = (
        f"{agreement.exam} · {len(names)} judges · reading {agreement.reading} · {drawings} drawings marked by each"
        f" · order of painters by {score}"
        f" · coverage: painters in common, n = {least_to_most(cell.n for cell in _lower(order))}"
    )
    if any(cell.value is None for cell in (*_lower(kappa), *_lower(order))):
        caption += " · –: too few for a coefficient"
    return replace(kappa, caption=caption), replace(order, caption=caption)


def _matrix(agreement: Agreement, names: tuple[str, ...], label: str, *wanted: str, **more: str) -> Grid:
    """Return the pairs of judges as the lower triangle of a matrix, in which each occurs once."""
    numbers = [[agreement.number(row, column, *wanted, **more) for column in names[:-1]] for row in names[1:]]
    cells = [
        [Quantity() if each is None else Quantity(each.value, each.low, each.high, each.n) for each in row]
        for row in numbers
    ]
    return Grid(names[1:], names[:-1], tuple(map(tuple, cells)), label, 1.0, "")


def _lower(grid: Grid) -> list[Quantity]:
    return [cell for n, row in enumerate(grid.cells) for cell in row[: n + 1]]


def matrices(grids: tuple[Grid, Grid], width: str) -> Sketch:
    """Sketch two triangles of judges by judges, each number with its interval if there is room."""
    down = 2 if width == "single" else 1
    columns = whole(grids[0].columns, 1.1)
    room = (st.WIDTHS[width] / (3 - down) - 1.25) / len(columns)
    rows = named_rows(grids[0].rows, 1.1, max(0.17, min(0.36, room * 0.6)))
    turn, below = _turn(columns, room)
    height = down * (below + rows.height + 0.42)

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, 3 - down, squeeze=False).ravel()
        for panel, grid in zip(axes, grids, strict=True):
            _cells(panel, grid, (-1.0, 1.0), st.DIVERGING, rows, "white")
            for n, row in enumerate(grid.cells):
                for x, cell in enumerate(row[: n + 1]):
                    _write(panel, x, rows.at[n], cell, _with_ends(cell, room, rows.inches), linespacing=1.1)
            panel.set_yticks(rows.at, rows.names, linespacing=st.SPACING)
            panel.set_xticks(range(len(columns)), columns, rotation=turn, linespacing=st.SPACING)
            panel.tick_params(length=0)
            panel.set_xlabel("judge")
            panel.set_ylabel("judge")
            panel.set_title(wrapped(grid.label, st.WIDTHS[width] / (3 - down) - 0.1, st.NORMAL), fontsize=st.NORMAL)

    return Sketch(height, paint, grids[0].caption, scales="colours linear, from −1 to 1")


def _with_ends(cell: Quantity, room: float, tall: float) -> str:
    if cell.value is None:
        return "–"
    number = f"{cell.value:.2f}".replace("-", "−")
    if cell.low is None or cell.high is None:
        return number
    ends = f"{cell.low:.2f} to {cell.high:.2f}".replace("-", "−")
    return f"{number}\n{ends}" if wide(ends, st.SMALL) < room - 0.05 and tall > 0.25 else number


STEP = 0.075
"""Inches between the markers of two judges in a painter's row."""


def by_judge(exam: str, choice: PlotChoice) -> Grid:
    """Return painters by judges, sorted by the painters' means over the judges.

    Raises:
        UsageError: Fewer than two evaluators have marked, or they have no question in common.
    """
    kind, groups = choice.groups(exam)
    judges = sorted({group.evaluator.name for group in groups})
    if len(judges) < 2:
        problem = f"only {judges[0]} has marked" if judges else "nothing is marked yet"
        raise UsageError(f"{exam}: {problem}; `limner mark {exam} --judge NAME` adds a judge")
    field = with_controls(comparable(groups, kind.protocol, checked_on(choice.on)))
    if not field.questions and field.on == "common":
        raise UsageError(f"{exam}: no question has a score from all judges for all painters; pick some with --painter")
    score = main_score(field, choice.score)
    cells = {
        (group.name, group.evaluator.name): cell
        for group, cell in zip(field.groups, quantities(field, score), strict=True)
    }
    controls = frozenset(group.name for group in field.groups if group.control)
    means: dict[str, float] = {}
    for name in {group.name for group in field.groups}:
        values = [cell.value for judge in judges if (cell := cells.get((name, judge))) and cell.value is not None]
        means[name] = sum(values) / len(values) if values else -1.0
    names = sorted(means, key=lambda name: (name in controls, -means[name], name))
    rows = tuple(tuple(cells.get((name, judge), Quantity()) for judge in judges) for name in names)
    caption = _caption(exams.stored_name(exam), field, judges, choice)
    if any(cell.ends for row in rows for cell in row if cell.value is None):
        caption += " · grey: the judge abstained; possible range of the score"
    specs = {group.name: (group.painter, group.spec) for group in field.groups if group.strategy == "direct"}
    printed = {name: published_score(kind.name, score.name, *specs[name]) for name in names if name in specs}
    known_figures = {name: figure for name, figure in printed.items() if figure is not None}
    return Grid(
        tuple(names), tuple(judges), rows, score_with_scale(score), score.top, caption,
        controls,
        published=tuple(known_figures[name][0] if name in known_figures else None for name in names),
        printed=" / ".join(sorted({judge for _, judge in known_figures.values()})),
    )  # fmt: skip


def _caption(exam: str, field: Comparable, judges: list[str], choice: PlotChoice) -> str:
    parts = [*field.first, exam, f"{len(judges)} judges", f"reading {choice.reading}"]
    on = "each painter's own questions" if field.on == "all" else "questions that all judges have marked for all"
    parts.append(f"n = {len(field.questions)} {on}" if field.on == "common" else on)
    if field.left_out:
        missing = [f"{group.name} by {group.evaluator.name}" for group in field.left_out]
        parts.append(f"without a score: {', '.join(missing)}")
    return " · ".join(parts)


def raters(grid: Grid, width: str) -> Sketch:
    """Sketch one row per painter, with a marker and its interval for each judge."""
    columns = whole(grid.columns, 1.5)
    row = max(0.14, STEP * len(columns) + 0.06)
    rows = named_rows(grid.rows, NAMES[width], row)
    down = -(-(len(columns) + any(value is not None for value in grid.published)) // (2 if width == "single" else 4))
    height = 0.45 + 0.14 * down * lines_of(columns) + rows.height

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        mark_columns(panel, grid, columns, rows, STEP / row)
        published = [(value, rows.at[n]) for n, value in enumerate(grid.published) if value is not None]
        if published:
            label = broken(f"paper: {grid.printed}" if grid.printed else "paper", 1.5)
            xs, ys = [value for value, _ in published], [n for _, n in published]
            panel.plot(xs, ys, "D", mfc="none", mec=st.GREY, mew=0.7, ms=4.2, label=label, zorder=2.5)  # fmt: skip
        for end in rows.between:
            panel.axhline(end, color=st.PALE, lw=0.4)
        rows.set(panel)
        panel.grid(axis="y", visible=False)
        panel.set_xlabel(grid.label, color=st.INK)
        panel.set_xlim(-0.02 * grid.top, 1.02 * grid.top)
        figure.legend(loc="outside upper left", ncols=2 if width == "single" else 4)

    return Sketch(height, paint, grid.caption)
