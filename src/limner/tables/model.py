"""A filled table, before it is written down: rows of cells under heads, with everything a reader must know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

MISSING = "–"
BETWEEN = " … "
"""Stands between the least and the most a score could be."""


@dataclass(frozen=True)
class Cell:
    """One number or word, as shown.

    Attributes:
        value: The number behind it, where it can be ranked.
        low: The lower end of its interval, as shown; `high` the upper one.
        rank: 1 for the best, 2 for the second best, 0 for the others.
        least: The least a score could be where the judge abstained; `most` the most.
        few: How many questions stand behind it, where they are too few for an interval.
    """

    text: str = MISSING
    value: float | None = None
    low: str | None = None
    high: str | None = None
    rank: int = 0
    published: bool = False
    least: str | None = None
    most: str | None = None
    few: int | None = None


@dataclass(frozen=True)
class Column:
    """A column's heads.

    Attributes:
        over: The head above it, shared with its neighbours.
        path: Its full name, unlike that of any other column.
        words: Whether it holds words rather than numbers.
        notes: Numbers of the footnotes that belong to all of it.
        block: Which value it belongs to, and `figure` which figure, counted from 0.
    """

    head: str
    over: str = ""
    path: str = ""
    words: bool = False
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    better: str = "high"
    block: int = 0
    figure: int = 0
    value_head: str = ""
    figure_head: str = ""
    figure_over: str = ""


@dataclass(frozen=True)
class Line:
    """A row: its label, its cells, where it comes from.

    Attributes:
        coverage: Questions with a score of those drawn or tried; None for published rows.
        about: What else a program wants to know of it: painter, strategy, judge, reading, number of questions.
    """

    label: str
    cells: tuple[Cell, ...]
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    about: dict[str, str] = field(default_factory=dict)

    @property
    def covered(self) -> str:
        """Its coverage in words, where something is missing."""
        return covered(self.coverage)


def covered(coverage: float | None) -> str:
    """A coverage in words; nothing where it is whole or not known.

    >>> covered(0.996), covered(1.0)
    ('99% covered', '')
    """
    # A thing that is not whole must not read as if it were.
    return "" if coverage is None or coverage >= 1 else f"{min(99, round(100 * coverage))}% covered"


@dataclass(frozen=True)
class Group:
    """Rows under one title, which may be empty; where the title is about one source, it has its footnotes."""

    title: str
    lines: tuple[Line, ...]
    ranked: bool = True
    published: bool = False
    notes: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """One rectangle of cells."""

    title: str
    stub: str
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]

    def lines(self) -> Iterator[Line]:
        """All rows, without their titles."""
        for group in self.groups:
            yield from group.lines


@dataclass(frozen=True)
class Table:
    """One or more sheets with a caption.

    Attributes:
        sheets: As the paper turns them.
        flat: The same with a row for every painter, judge or exam, for programs.
        caption: What stands above: title, sources, judge and reading.
        notes: What stands below: what a reader must know.
        footnotes: What the numbers at rows point to.
    """

    key: str
    title: str
    sheets: tuple[Sheet, ...]
    flat: tuple[Sheet, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
