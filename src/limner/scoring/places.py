"""The only rule for the order and places of painters: for terminal, JSON, Python, tables and site. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..core.protocol import Score
from .numbers import Numbers


class Contender(Protocol):
    """Anything that has a row: a standing, or a painter's numbers on other questions."""

    @property
    def name(self) -> str:
        """The row's name."""
        ...

    @property
    def numbers(self) -> Numbers:
        """The numbers that it is compared by."""
        ...

    @property
    def control(self) -> bool:
        """Whether it is a control, which is listed below the others without a place."""
        ...


@dataclass(frozen=True)
class NumbersOf:
    """A painter's numbers on some questions."""

    name: str
    numbers: Numbers
    control: bool = False


def printed(row: Contender, score: Score) -> float | None:
    """Return a row's number rounded as printed; numbers that look equal count as equal."""
    value = row.numbers.value(score.name)
    return None if value is None else round(value, score.digits)


def settled(rows: Sequence[Contender], score: Score) -> bool:
    """Return whether a score can order these rows, because most painters have it.

    If a judge abstains, a score may be known only for the worst painters: a blank sheet meets no criterion for certain,
    while the scores of all others are open. Controls do not count if there are other painters.
    """
    rivals = [row for row in rows if not row.control and row.numbers.n] or [row for row in rows if row.numbers.n]
    return sum(printed(row, score) is not None for row in rivals) > len(rivals) / 2


def lead(rows: Sequence[Contender], scores: Sequence[Score]) -> Score | None:
    """Return the score that decides the places: the first main score that most painters have; see `settled`."""
    return next((score for score in scores if score.main and settled(rows, score)), None)


def ordered(rows: Sequence[Contender], scores: Sequence[Score], by: Score | None = None) -> list[int]:
    """Return the rows' indices, best first: by one score, among equals by the next main score, and so on.

    A later score orders equal rows only if all of them have it. If no score does, the share of criteria met decides,
    then the name. Rows without any score follow, and controls come last.

    Args:
        rows: The rows.
        scores: The exam's scores, in order.
        by: The score to order by; by default that of `lead`.
    """
    first = by or lead(rows, scores)
    keys = [*([first] if first else []), *(score for score in scores if score.main and score is not first)]
    order: list[int] = []
    for control in (False, True):
        for empty in (False, True):
            block = [n for n, row in enumerate(rows) if (row.control, not row.numbers.n) == (control, empty)]
            order += _within(rows, block, keys, first)
    return order


def _within(rows: Sequence[Contender], block: list[int], keys: Sequence[Score], first: Score | None) -> list[int]:
    if len(block) < 2:
        return block
    if not keys:
        return sorted(block, key=lambda n: (-rows[n].numbers.decided.get("met", 0.0), rows[n].name))
    score, *rest = keys
    values = {n: printed(rows[n], score) for n in block}
    if score is not first and None in values.values():
        return _within(rows, block, rest, first)
    order: list[int] = []
    for value in sorted({value for value in values.values() if value is not None}, reverse=True):
        order += _within(rows, [n for n in block if values[n] == value], rest, first)
    return order + _within(rows, [n for n in block if values[n] is None], rest, first)


def places(rows: Sequence[Contender], score: Score | None) -> list[int | None]:
    """Return each row's place by a score; equal rows share a place.

    Controls, rows without the score and a single row have no place, nor has any row if the score is not `settled`.

    >>> from limner.scoring.stats import Interval
    >>> some = [NumbersOf(name, Numbers(9, {"s": Interval(value)})) for name, value in zip("abc", (5.01, 5.02, 3.0))]
    >>> places(some, Score("s", 10, "", digits=1))
    [1, 1, 3]
    """
    if score is None or sum(not row.control for row in rows) < 2 or not settled(rows, score):
        return [None] * len(rows)
    values = [None if row.control else printed(row, score) for row in rows]
    return [
        None if value is None else 1 + sum(other is not None and other > value for other in values) for value in values
    ]
