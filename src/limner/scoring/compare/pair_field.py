"""What comparing any two evaluators takes and gives: the drawings with their weights, and one number after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.protocol import Protocol
from ..stats import Correlation, Interval
from ..stats.types import Plain
from .opinions import Opinion, Seen

UNITS = ("drawing", "painter", "painter_tag")
ALL = "all"
"""Stands for all sorts of criteria together."""


@dataclass(frozen=True)
class PairNumber(Plain):
    """One number of how two evaluators agree.

    Attributes:
        unit: What is compared: ``drawing``, ``painter`` or ``painter_tag``.
        tag: By which tag; ``painter`` for each painter's drawings by themselves.
        category: The value of the tag that is looked at alone; None where its values are points, or there is no tag.
        score: The score, or the sort of criteria; the first's and the second's where these differ.
        p: Two-sided; by exchange where the points are few.
        n: How many points, or marks, stand behind it.
    """

    first: str
    second: str
    unit: str
    tag: str | None
    category: str | None
    score: str
    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Field:
    """What two evaluators are compared on.

    Attributes:
        seen: The drawings.
        weights: Drawing -> what it counts; 1 where it is not there.
        shared: Whether painters are compared on the questions that all of them have.
        units: What is compared.
        kept: Painters' numbers that were computed already.
    """

    protocol: Protocol[Any]
    seen: Mapping[str, Seen]
    weights: Mapping[str, float]
    shared: bool = True
    units: Sequence[str] = UNITS
    kept: dict[Any, Any] = field(default_factory=dict, compare=False)

    def weight(self, drawing: str) -> float:
        """What a drawing counts."""
        return self.weights.get(drawing, 1.0)

    def values(self, tags: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Every value of the tags, in the exam's order."""
        for tag in tags:
            there = {value for seen in self.seen.values() if (value := seen.value(tag)) is not None}
            yield from ((tag, category) for category in self.protocol.in_order(tag, there))

    def only(self, tag: str, category: str) -> Field:
        """The same with the drawings of one value of a tag alone."""
        return replace(self, kept={}, seen={id: seen for id, seen in self.seen.items() if seen.value(tag) == category})


Names = tuple[str, str]
"""A score of the first evaluator, and one of the second."""


def said(pair: Names) -> str:
    """Two scores in words: one name where it is the same."""
    return pair[0] if pair[0] == pair[1] else f"{pair[0]} / {pair[1]}"


def put(head: PairNumber, measure: str, found: Interval | Correlation, n: int | None = None) -> PairNumber:
    """A number under its heading."""
    p = found.p if isinstance(found, Correlation) else None
    return replace(
        head, measure=measure, value=found.value, low=found.low, high=found.high, p=p, n=found.n if n is None else n
    )


def met_of(one: Opinion, other: Opinion, drawing: str) -> tuple[float, float, int]:
    """Of one drawing the sums of both evaluators' marks, and on how many criteria that both have decided."""
    mine, theirs = one.marks.get(drawing, {}), other.marks.get(drawing, {})
    both = sorted(mine.keys() & theirs.keys())
    return sum(mine[name] for name in both), sum(theirs[name] for name in both), len(both)
