"""What is said of two painters, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from ..stats import ALPHA, Measure, Paired, holm, questions_needed
from .results import Comparison, Pair, Place


def pair_of(one: Place, other: Place, both: Paired, asked: float | None, per_cluster: float) -> Pair:
    """A pair as it stands before the correction; a cluster has `per_cluster` questions, which are what is paid for."""
    gap = asked if asked is not None else both.difference.value
    needed = questions_needed(both.deviation, gap)
    if needed.value is not None:
        needed = Measure(float(ceil(needed.value * per_cluster)), needed.n)
    return Pair(one.name, other.name, both.difference, both.p, None, both.effect, both.differing, gap, needed, None, "")


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """The same with p corrected over all pairs of all comparisons that are shown together, and the verdicts."""
    flat = holm([pair.p.value for comparison in found for pair in comparison.pairs])
    tests, rest = sum(p is not None for p in flat), iter(flat)
    return [
        replace(comparison, tests=tests, pairs=tuple(_judged(pair, next(rest), tests) for pair in comparison.pairs))
        for comparison in found
    ]


def _judged(pair: Pair, p: float | None, tests: int) -> Pair:
    better: bool | None = p is not None and p < ALPHA
    if p is None:
        better, verdict = None, pair.p.reason or "not known"
    elif better:
        verdict = f"{pair.first} is better"
    elif not pair.differing:
        verdict = "the same on every question"
    elif tests * 2 / 2**pair.differing >= ALPHA:
        among = f" among {tests} pairs" if tests > 1 else ""
        verdict = f"not distinguishable: {pair.differing} questions differ, too few to tell{among}"
    elif pair.p.value is not None and pair.p.value < ALPHA:
        verdict = f"not distinguishable once all {tests} pairs are allowed for"
    else:
        verdict = "not distinguishable"
    return replace(pair, p_holm=p, better=better, verdict=verdict)
