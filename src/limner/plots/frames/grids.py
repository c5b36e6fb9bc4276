"""Scores by category, dimension and level. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.errors import UsageError
from ...core.plot_data import Cell, Grid, plain, shown
from ...core.protocol import Score
from ...exams import each
from ...scoring import MET
from ...scoring.comparable import within
from ..source import Source
from .cells import cells, tops

OVERALL = "all"
LEVELS = "levels"
"""The plot of `levels`; exams whose levels are no tag have one of their own under this name."""


def values_of(source: Source, tag: str) -> list[str]:
    """A tag's values among the common questions, in the exam's order; questions without the tag are left out.

    Raises:
        UsageError: No question has it.
    """
    questions = [entry.question for entries in source.field.inside for entry in entries]
    there = {question.tags[tag] for question in questions if tag in question.tags}
    if not there:
        tags = sorted({name for question in questions for name in question.tags})
        raise UsageError(f"--by {tag}: {source.exam} has questions by {', '.join(tags) or 'no tag at all'}")
    known = source.field.protocol.orders.get(tag, ())
    order = {value: place for place, value in enumerate(known)}
    return sorted(there, key=lambda value: (order.get(value, len(order)), value))


def by_tag(source: Source, tag: str, whole: bool = False) -> Grid:
    """The score by the values of a tag; with `whole`, that over all questions first."""
    columns: dict[str, list[Cell]] = {OVERALL: cells(source.field, source.score)} if whole else {}
    for value in values_of(source, tag):
        inside = [[e for e in entries if e.question.tags.get(tag) == value] for entries in source.field.inside]
        columns[plain(value)] = cells(within(source.field, inside), source.score)
    return _grid(source, columns, shown(source.score), source.score.top)


def categories(source: Source) -> Grid:
    """The score by category."""
    return by_tag(source, _tag(source))


def heatmap(source: Source) -> Grid:
    """The same, with all categories together in the first column."""
    return by_tag(source, _tag(source), whole=True)


def _tag(source: Source) -> str:
    if source.choice.by:
        return source.choice.by
    # Only some questions may have the first one: one half may be broken down by one tag, one by another.
    questions = [entry.question for entries in source.field.inside for entry in entries]
    usual = source.field.protocol.breakdowns
    for tag in usual:
        if any(tag in question.tags for question in questions):
            return tag
    raise UsageError(f"{source.exam} names no categories; say which tag with --by")


def profile(source: Source) -> Grid:
    """Every dimension of the exam as a share of its best value."""
    protocol = source.field.protocol
    # A dimension that nobody has a number for, because the judge decides none of it, is no part of a profile.
    known = {name for values in source.field.values for name in values}
    names = [name for name in protocol.dimensions if name in known]
    if not names:
        why = "this judge decides no dimension" if protocol.dimensions else "has no dimensions"
        raise UsageError(f"{source.exam}: {why}; `limner plot categories` shows scores by category")
    return dimensions(source, names)


def levels(source: Source) -> Grid:
    """The score by the values of the first tag that the exam has in an order: its levels, the easiest first.

    Raises:
        UsageError: The exam has no levels.
    """
    there = {name for entries in source.field.inside for entry in entries for name in entry.question.tags}
    tag = next((name for name in source.field.protocol.orders if name in there), None)
    if tag is None:
        known = [kind.name for kind in each() if kind.protocol.orders or LEVELS in kind.plots]
        raise UsageError(f"{source.exam} has no levels; there are some in {', '.join(sorted(known))}")
    grid = by_tag(source, tag)
    scaled = tuple(tuple(cell.scaled(1 / source.score.top) for cell in row) for row in grid.cells)
    label = f"{source.score.name}, share of the best value"
    return Grid(grid.rows, grid.columns, scaled, label, 1.0, grid.caption, grid.controls)


def dimensions(source: Source, names: Sequence[str]) -> Grid:
    """Some scores as shares of their best values."""
    best, columns = tops(source.field.protocol), {}
    for name in names:
        score = next((each for each in source.field.protocol.scored if each.name == name), Score(name, 1.0, ""))
        columns[plain(name)] = [cell.scaled(1 / best.get(name, 1.0)) for cell in cells(source.field, score)]
    return _grid(source, columns, "share of the best value", 1.0)


def _grid(source: Source, columns: dict[str, list[Cell]], label: str, top: float) -> Grid:
    rows = tuple(zip(*columns.values(), strict=True))
    caption = source.caption
    if any(cell.value is None and cell.ends for row in rows for cell in row):
        caption += " · grey: the judge abstained; what the score could be"
    if any(cell.value is None and not cell.ends for row in rows for cell in row):
        caption += " · empty: no known score"
    if source.score is MET and label.startswith(MET.name):
        caption += " · met: percent of the criteria decided for all painters"
    return Grid(source.names, tuple(columns), rows, label, top, caption, source.controls)
