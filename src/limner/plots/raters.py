"""Judges by painters: every painter's score under every judge, on the drawings that all of them have marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import exams
from ..core.errors import UsageError
from ..core.plot_data import Grid, Quantity, shown
from ..report.paper.holdings import published_score
from ..scoring import Comparable, comparable
from ..scoring.groups import find_groups, which_questions
from .rows import NAMES, named_rows
from .source import PlotChoice, main_score, quantities, with_controls
from .style import GREY, INK, MARKERS, PALE, PALETTE, Sketch, broken, lines_of, whole

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

STEP = 0.075
"""Inches between the marks of two judges in a painter's row."""


def by_judge(exam: str, choice: PlotChoice) -> Grid:
    """Painters by judges; the painter comes first whose mean over the judges is best.

    Raises:
        UsageError: Fewer than two evaluators have marked, or they have no question in common.
    """
    kind, groups = find_groups(exam, store=choice.store, reading=choice.reading, **choice.which)
    judges = sorted({group.evaluator.name for group in groups})
    if len(judges) < 2:
        there = f"only {judges[0]} has marked" if judges else "nothing is marked yet"
        raise UsageError(f"{exam}: {there}; `limner mark {exam} --judge NAME` adds a judge")
    field = with_controls(comparable(groups, exams.kind(kind).protocol, which_questions(choice.on)))
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
        known = [cell.value for judge in judges if (cell := cells.get((name, judge))) and cell.value is not None]
        means[name] = sum(known) / len(known) if known else -1.0
    names = sorted(means, key=lambda name: (name in controls, -means[name], name))
    rows = tuple(tuple(cells.get((name, judge), Quantity()) for judge in judges) for name in names)
    caption = _caption(exams.name_of(exam), field, judges, choice)
    if any(cell.ends for row in rows for cell in row if cell.value is None):
        caption += " · grey: the judge abstained; what the score could be"
    specs = {group.name: (group.painter, group.spec) for group in field.groups if group.strategy == "direct"}
    printed = {name: published_score(kind, score.name, *specs[name]) for name in names if name in specs}
    known_figures = {name: figure for name, figure in printed.items() if figure is not None}
    return Grid(
        tuple(names), tuple(judges), rows, shown(score), score.top, caption, controls,
        published=tuple(known_figures[name][0] if name in known_figures else None for name in names),
        printed=" / ".join(sorted({judge for _, judge in known_figures.values()})),
    )  # fmt: skip


def _caption(exam: str, field: Comparable, judges: list[str], choice: PlotChoice) -> str:
    said = [*field.first, exam, f"{len(judges)} judges", f"reading {choice.reading}"]
    on = "each painter's own questions" if field.on == "all" else "questions that all judges have marked for all"
    said.append(f"n = {len(field.questions)} {on}" if field.on == "common" else on)
    if field.left_out:
        missing = [f"{group.name} by {group.evaluator.name}" for group in field.left_out]
        said.append(f"without a score: {', '.join(missing)}")
    return " · ".join(said)


def raters(grid: Grid, width: str) -> Sketch:
    """One row per painter, one mark with its interval per judge."""
    columns = whole(grid.columns, 1.5)
    row = max(0.14, STEP * len(columns) + 0.06)
    rows = named_rows(grid.rows, NAMES[width], row)
    down = -(-(len(columns) + any(value is not None for value in grid.published)) // (2 if width == "single" else 4))
    height = 0.45 + 0.14 * down * lines_of(columns) + rows.height
    shift = STEP / row

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        for place, column in enumerate(columns):
            colour, marker = PALETTE[place % len(PALETTE)], MARKERS[place % len(MARKERS)]
            off = (place - (len(columns) - 1) / 2) * shift
            for n, cells in enumerate(grid.cells):
                if (ends := cells[place].ends) is not None:
                    known = cells[place].value is not None
                    panel.plot(ends, [rows.at[n] + off] * 2, color=colour if known else PALE, lw=0.9 if known else 1.6,
                               alpha=0.7, zorder=2, solid_capstyle="butt")  # fmt: skip
            found = [
                (value, rows.at[n] + off)
                for n, cells in enumerate(grid.cells)
                if (value := cells[place].value) is not None
            ]
            xs, ys = [value for value, _ in found], [y for _, y in found]
            panel.plot(xs, ys, marker, color=colour, ms=3.4, mec="white", mew=0.3, label=column, zorder=3)
        told = [(value, rows.at[n]) for n, value in enumerate(grid.published) if value is not None]
        if told:
            label = broken(f"paper: {grid.printed}" if grid.printed else "paper", 1.5)
            panel.plot([value for value, _ in told], [n for _, n in told], "D", mfc="none", mec=GREY, mew=0.7, ms=4.2,
                       label=label, zorder=2.5)  # fmt: skip
        for end in rows.between:
            panel.axhline(end, color=PALE, lw=0.4)
        rows.set(panel)
        panel.grid(axis="y", visible=False)
        panel.set_xlabel(grid.label, color=INK)
        panel.set_xlim(-0.02 * grid.top, 1.02 * grid.top)
        figure.legend(loc="outside upper left", ncols=2 if width == "single" else 4)

    return Sketch(height, paint, grid.caption)
