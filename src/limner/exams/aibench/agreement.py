"""How far two ways of asking agree: marks of the same drawings, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ...marks import Mark

Marked = Mapping[tuple[str, str], Iterable[Mark]]
"""Question id and image hash (or whatever else tells drawings apart) -> the marks of one way of asking."""


@dataclass(frozen=True)
class Agreement:
    """Two ways of asking, compared on the answers that both have.

    Attributes:
        n: Answers that both have.
        same: Share of them that is marked alike; None where there are none.
        first: Share of them that is right by the first way.
        second: Share of them that is right by the second.
        kappa: Agreement beyond chance (Cohen's kappa); None where chance alone gives it.
    """

    n: int
    same: float | None
    first: float | None
    second: float | None
    kappa: float | None


def agreement(first: Marked, second: Marked) -> dict[str, Agreement]:
    """How far the marks agree on each level, and in all under ``all``.

    >>> one = {("q", "x"): [Mark("component/1", 1), Mark("phase/1", 0)]}
    >>> two = {("q", "x"): [Mark("component/1", 1), Mark("phase/1", 1)]}
    >>> agreement(one, two)["all"].same
    0.5
    """
    pairs: dict[str, list[tuple[int, int]]] = {"all": []}
    for drawing in first.keys() & second.keys():
        others = {mark.criterion: mark.value for mark in second[drawing]}
        for mark in first[drawing]:
            other = others.get(mark.criterion)
            if mark.value is not None and other is not None:
                pair = (mark.value, other)
                pairs["all"].append(pair)
                pairs.setdefault(mark.criterion.partition("/")[0], []).append(pair)
    return {level: _compare(found) for level, found in sorted(pairs.items())}


def _compare(pairs: list[tuple[int, int]]) -> Agreement:
    n = len(pairs)
    if not n:
        return Agreement(0, None, None, None, None)
    same = sum(a == b for a, b in pairs) / n
    first, second = sum(a for a, _ in pairs) / n, sum(b for _, b in pairs) / n
    chance = first * second + (1 - first) * (1 - second)
    return Agreement(n, same, first, second, (same - chance) / (1 - chance) if chance < 1 else None)
