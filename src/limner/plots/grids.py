"""Scores by category, dimension and level: what maps, dots and profiles draw. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..core.errors import UsageError
from ..core.plot_data import Grid, Quantity, plain, shown
from ..exams import each
from ..scoring.comparable import within
from .source import StoreSource, quantities

OVERALL = "all"
LEVELS = "levels"
"""The plot of `levels`; exams whose levels are no tag have one of their own under this name."""


def by_tag(source: StoreSource, tag: str, whole: bool = False) -> Grid:
    """The score by the values of a tag in the exam's order; with `whole`, that over all questions first.

    Raises:
        UsageError: No question has the tag.
    """
    field, score, there = source.field, source.score, _tags(source)
    values = {tags[tag] for tags in there if tag in tags}
    if not values:
        names = sorted({name for tags in there for name in tags})
        raise UsageError(f"--by {tag}: {source.exam} has questions by {', '.join(names) or 'no tag at all'}")
    columns: dict[str, list[Quantity]] = {OVERALL: quantities(field, score)} if whole else {}
    for value in source.protocol.in_order(tag, values):
        inside = [[e for e in entries if e.question.tags.get(tag) == value] for entries in field.inside]
        columns[plain(value)] = quantities(within(field, inside), score)
    return source.grid(columns, shown(score), score.top)


def _tags(source: StoreSource) -> list[Mapping[str, str]]:
    return [row.question.tags for rows in source.rows for row in rows]


def categories(source: StoreSource) -> Grid:
    """The score by category."""
    return by_tag(source, _category(source))


def heatmap(source: StoreSource) -> Grid:
    """The same, with all categories together in the first column."""
    return by_tag(source, _category(source), whole=True)


def _category(source: StoreSource) -> str:
    # Only some questions may have the first one: one half may be broken down by one tag, one by another.
    there = {name for tags in _tags(source) for name in tags}
    tag = source.choice.by or next((tag for tag in source.protocol.breakdowns if tag in there), None)
    if tag is None:
        raise UsageError(f"{source.exam} names no categories; say which tag with --by")
    return tag


def profile(source: StoreSource) -> Grid:
    """Every dimension of the exam as a share of its best value."""
    # A dimension that nobody has a number for, because the judge decides none of it, is no part of a profile.
    known = {name for values in source.field.values for name in values}
    names = [name for name in source.protocol.dimensions if name in known]
    if not names:
        why = "this judge decides no dimension" if source.protocol.dimensions else "has no dimensions"
        raise UsageError(f"{source.exam}: {why}; `limner plot categories` shows scores by category")
    return source.shares(names)


def levels(source: StoreSource) -> Grid:
    """The score by the values of the first tag that the exam has in an order: its levels, the easiest first.

    Raises:
        UsageError: The exam has no levels.
    """
    there = {name for tags in _tags(source) for name in tags}
    tag = next((name for name in source.protocol.orders if name in there), None)
    if tag is None:
        known = [kind.name for kind in each() if kind.protocol.orders or LEVELS in kind.plots]
        raise UsageError(f"{source.exam} has no levels; there are some in {', '.join(sorted(known))}")
    grid = by_tag(source, tag)
    return replace(grid.scaled(1 / source.score.top), label=f"{source.score.name}, share of the best value", top=1.0)
