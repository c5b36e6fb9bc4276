"""Which of an exam's numbers are weighted sums of its marks, and the weights: found by asking its protocol. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.marks import Criterion, Mark, values
from ..core.protocol import Protocol, Row
from .entries import Entry

NEAR_SUM = 0.005
"""A score that differs from the sum by less of its range is that sum: releases round."""
Step = tuple[str, int]
"""A criterion and a value of it: what is decided is whether the mark reaches that value."""


@dataclass(frozen=True)
class SumWeights:
    """What one drawing adds to one number, as a sum.

    Attributes:
        constant: Its numerator where every mark is 0.
        steps: What the numerator gains where a mark reaches a value.
        bottom: Its denominator.
    """

    constant: float
    steps: Mapping[Step, float]
    bottom: float

    def top(self, known: Mapping[str, float]) -> float:
        """The numerator for these marks."""
        return self.constant + sum(gain for (name, value), gain in self.steps.items() if known[name] >= value)


def weights_of(entry: Entry, protocol: Protocol[Any], names: Container[str]) -> dict[str, SumWeights]:
    """Those of the named numbers that are weighted sums of this drawing's marks, with their weights."""
    criteria = protocol.criteria(entry.question)
    nothing = {criterion.id: 0 for criterion in criteria}
    base = _parts(entry, nothing, protocol)
    steps: dict[str, dict[Step, float]] = {name: {} for name in base if name in names}
    for criterion in criteria if steps else ():
        before = base
        for value in range(1, criterion.top + 1):
            after = _parts(entry, {**nothing, criterion.id: value}, protocol)
            steps = {name: gains for name, gains in steps.items() if name in after and after[name][1] == base[name][1]}
            for name, gains in steps.items():
                if gain := after[name][0] - before[name][0]:
                    gains[criterion.id, value] = gain
            before = {name: after.get(name, before[name]) for name in base}
    sums = {name: SumWeights(base[name][0], gains, base[name][1]) for name, gains in steps.items()}
    return {name: each for name, each in sums.items() if _adds_up(each, name, entry, criteria, protocol)}


def _parts(entry: Entry, given: Mapping[str, int], protocol: Protocol[Any]) -> dict[str, tuple[float, float]]:
    marks = tuple(Mark(criterion, value) for criterion, value in given.items())
    scores = protocol.scores(entry.question, marks, entry.evidence)
    return protocol.parts(Row(entry.question, marks, scores, entry.evidence, entry.row.size))


def _adds_up(
    found: SumWeights, name: str, entry: Entry, criteria: Sequence[Criterion], protocol: Protocol[Any]
) -> bool:
    """Whether the sum is the number: where every mark is at its best, where half are, and as the drawing was marked."""
    best = {criterion.id: criterion.top for criterion in criteria}
    half = {criterion.id: criterion.top * (place % 2) for place, criterion in enumerate(criteria)}
    tried = [best, half]
    if (known := values(entry.marks)).keys() >= best.keys():
        tried.append({criterion: known[criterion] for criterion in best})
    span = max(abs(found.top(best) - found.constant), abs(_parts(entry, best, protocol).get(name, (0.0, 0.0))[0]))
    for given in tried:
        real = _parts(entry, given, protocol).get(name)
        if real is None or real[1] != found.bottom or abs(real[0] - found.top(given)) > NEAR_SUM * span:
            return False
    # A mark beyond the criteria, such as a thing too much, counts too in some exams; then this is no sum of them.
    mine = protocol.parts(entry.row).get(name)
    return mine is None or len(tried) < 3 or abs(mine[0] - found.top(tried[2])) <= NEAR_SUM * span
