"""Numbers with how sure they are: what every plot's frame is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....protocol import Protocol, Score
from ....scoring import Comparable, Entry
from ....scoring.numbers import ends


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


def cells(field: Comparable, score: Score) -> list[Cell]:
    """Every painter's number with its interval, from resamples that all painters share."""
    found = []
    for at, entries in enumerate(field.inside):
        n = len({entry.question.id for entry in entries})
        known = field.interval(at, score.name)
        if known.value is not None:
            found.append(Cell(known.value, known.low, known.high, n))
        else:
            found.append(_possible(entries, field.protocol, score, n))
    return found


def _possible(entries: Sequence[Entry], protocol: Protocol[Any], score: Score, n: int) -> Cell:
    """What the score could be with everything undecided filled in the worst and the best way."""
    undecided = any(mark.value is None for entry in entries for mark in entry.marks)
    least, most = ends(entries, protocol).get(score.name, (None, None)) if undecided else (None, None)
    return Cell(n=n, least=least, most=most)


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
