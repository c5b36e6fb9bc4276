"""Numbers with how sure they are: what every plot's frame is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....compare.fields import Field, numbers
from ....marks import fill
from ....protocol import Protocol, Score
from ....scoring import Entry, summed
from ....stats import interval


@dataclass(frozen=True)
class Cell:
    """A number with its 95% interval; or, where the judge abstained, the least and the most it could be."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    least: float | None = None
    most: float | None = None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The ends of the line that is drawn: of the interval, or of what is possible."""
        low, high = (self.low, self.high) if self.value is not None else (self.least, self.most)
        return None if low is None or high is None else (low, high)

    def scaled(self, by: float) -> Cell:
        """All numbers times `by`."""
        ends = (self.value, self.low, self.high, self.least, self.most)
        value, low, high, least, most = (None if end is None else end * by for end in ends)
        return Cell(value, low, high, self.n, least, most)


@dataclass(frozen=True)
class Grid:
    """Painters by columns.

    Attributes:
        cells: A row of cells for each painter.
        label: What the numbers are.
        top: The best possible number.
        caption: What stands below the plot.
        controls: Rows that are no rivals of the others.
        notes: For each row a few words at its end, where a plot has room for them.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    label: str
    top: float
    caption: str
    controls: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def cells(field: Field, score: Score) -> list[Cell]:
    """Every painter's number with its interval, from resamples that all painters share."""
    found = []
    for entries, values, drawn in zip(field.inside, field.values, field.drawn, strict=True):
        n = len({entry.question.id for entry in entries})
        if (value := values.get(score.name)) is not None:
            spread = interval(value, drawn[score.name], n)
            found.append(Cell(value, spread.low, spread.high, n))
        else:
            found.append(_possible(entries, field.protocol, score, n))
    return found


def _possible(entries: Sequence[Entry], protocol: Protocol[Any], score: Score, n: int) -> Cell:
    """What the score could be with everything undecided filled in the worst and the best way."""
    undecided = any(mark.value is None for entry in entries for mark in entry.marks)
    if not (score.monotone and undecided):
        return Cell(n=n)
    ends = []
    for best in (False, True):
        filled = []
        for entry in entries:
            marks = tuple(fill(entry.marks, protocol.criteria(entry.question), best))
            filled.append(replace(entry, marks=marks, scores=protocol.scores(entry.question, marks, entry.evidence)))
        ends.append(numbers(summed(filled, protocol), protocol).get(score.name))
    return Cell(n=n, least=ends[0], most=ends[1])


def plain(word: str) -> str:
    """A tag's value, or a dimension, as people write it.

    >>> plain("Computer_Science")
    'Computer Science'
    """
    return word.replace("_", " ")


def shown(score: Score) -> str:
    """A score's name with its scale."""
    return f"{score.name} (of {score.top:g})"


def tops(protocol: Protocol[Any]) -> Mapping[str, float]:
    """Score -> its best value."""
    return {score.name: score.top for score in protocol.scored}
