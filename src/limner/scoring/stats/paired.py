"""Two painters on the same questions: their difference, its significance, and the number of questions needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, isfinite, log2
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resample import (
    ALPHA,
    AT_ONCE,
    LARGEST,
    NEAR,
    SEED,
    Derive,
    Floats,
    Interval,
    Measure,
    Parts,
    interval,
    known,
    ratios,
    spreads,
    wilson,
)


@dataclass(frozen=True)
class Paired:
    """The comparison of two painters on the clusters (questions) that both have.

    Attributes:
        difference: The first painter's number minus the second's, with its paired bootstrap interval.
        p: The two-sided p-value of the sign-flip test.
        effect: Cohen's d_z: the difference in standard deviations of the per-cluster differences.
        differing: The number of clusters on which the two differ.
        deviation: The standard deviation of the per-cluster differences; None if unknown.
    """

    difference: Interval
    p: Measure
    effect: Measure
    differing: int
    deviation: float | None

    @property
    def swapped(self) -> Paired:
        """The same comparison with the second painter first."""
        difference = self.difference
        turned = Interval(
            _negative(difference.value), _negative(difference.high), _negative(difference.low), difference.n
        )
        return replace(self, difference=turned, effect=replace(self.effect, value=_negative(self.effect.value)))


def paired(
    first: Parts,
    second: Parts,
    name: str = "value",
    derive: Derive = dict,
    drawn: tuple[Floats, Floats] | None = None,
    tests: int = 1,
    top: float | None = None,
) -> Paired:
    """Return the difference, p-value and effect size of one pair.

    Args:
        first: The parts of the first painter's numbers.
        second: The parts of the second painter's numbers, over the same clusters.
        name: The number to compare.
        derive: Turns ratios into the final numbers.
        drawn: The two joint bootstrap spreads, if already computed.
        tests: The total number of tests; a correction for many tests needs a finer p-value.
        top: The best value of the number, if it has one; then the interval has width even if all differences are equal.

    >>> from limner.scoring.stats import as_parts
    >>> found = paired(as_parts([3, 5, 4, 6]), as_parts([1, 2, 2, 2]))
    >>> found.difference.value, found.p.value, round(found.effect.value, 2), found.differing
    (2.75, 0.125, 2.87, 4)
    """
    gap = difference(first, second, name, derive)
    if gap is None:
        missing = Measure(None, 0, NO_SCORE)
        return Paired(Interval(), missing, missing, 0, None)
    differences = spread_of_differences(first, second, name, derive)
    n = len(differences)
    interval = difference_interval(first, second, name, derive, drawn, top, n)
    p, differing = sign_flip_test(first, second, name, derive, tests)
    deviation = float(differences.std(ddof=1)) if n > 1 else None
    return Paired(interval, p, _effect(gap, deviation, n), differing, deviation)


def difference_interval(
    one: Parts,
    other: Parts,
    name: str = "value",
    derive: Derive = dict,
    drawn: tuple[Floats, Floats] | None = None,
    top: float | None = None,
    n: int | None = None,
) -> Interval:
    """Return the first painter's number minus the second's, with its interval; this is faster than `paired`.

    `n` is the number of clusters in `spread_of_differences`, if already known.

    >>> from limner.scoring.stats import as_parts
    >>> difference_interval(as_parts([3, 5, 4, 6]), as_parts([1, 2, 2, 2]))
    Interval(value=2.75, low=None, high=None, n=4)
    """
    gap = difference(one, other, name, derive)
    if gap is None:
        return Interval()
    if drawn is None:
        first, second = spreads([one, other], derive)
        drawn = first[name], second[name]
    if n is None:
        n = len(spread_of_differences(one, other, name, derive))
    return _widened(interval(gap, drawn[0] - drawn[1], n), top)


def _widened(interval: Interval, top: float | None) -> Interval:
    """Return the interval, widened if every question shows the same difference, as another question might not."""
    value, low, high = interval.value, interval.low, interval.high
    if top is None or value is None or low is None or high is None or high - low > NEAR * top:
        return interval
    unseen = top * (wilson(0, interval.n).high or 0.0)
    return Interval(value, max(-top, value - unseen), min(top, value + unseen), interval.n)


def spread_of_differences(first: Parts, second: Parts, name: str = "value", derive: Derive = dict) -> Floats:
    """Return each cluster's contribution to the difference; for plain means, this is the difference on the cluster.

    For ratios these are jackknife pseudo-values: the change in the difference when the cluster is left out, on the
    scale of a single cluster. Clusters without the number are left out.

    >>> from limner.scoring.stats import as_parts
    >>> [round(float(each), 6) for each in spread_of_differences(as_parts([3, 5, None]), as_parts([1, 2, None]))]
    [2.0, 3.0]
    """
    names = [name] if name in first and name in second else sorted({*first, *second})
    present = sum(parts[part][1] for parts in (first, second) for part in names if part in parts) > 0
    n, whole = int(np.sum(present)), difference(first, second, name, derive)
    if n == 0 or whole is None:
        return np.zeros(0)
    if n == 1:
        return np.array([whole])
    left = [_each_left_out(parts, np.flatnonzero(present)) for parts in (first, second)]
    without = derive(left[0])[name] - derive(left[1])[name]
    influence = n * whole - (n - 1) * without
    kept: Floats = influence[~np.isnan(influence)]
    return kept


def _each_left_out(parts: Parts, places: NDArray[np.intp]) -> dict[str, Floats]:
    means = {}
    for name, (tops, bottoms) in parts.items():
        below = bottoms.sum() - bottoms[places]
        means[name] = np.divide(tops.sum() - tops[places], below, out=np.full(len(places), np.nan), where=below > NEAR)
    return means


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _effect(gap: float, deviation: float | None, n: int) -> Measure:
    if deviation is None:
        return Measure(None, n, "one question has no spread")
    if deviation <= NEAR * max(1.0, abs(gap)):
        if abs(gap) <= NEAR:
            return Measure(0.0, n)
        return Measure(None, n, "every question shows the same difference, so there is no spread to measure")
    return Measure(gap / deviation, n)


POWER = 0.8


def questions_needed(deviation: float | None, gap: float | None, alpha: float = ALPHA, power: float = POWER) -> Measure:
    """Return the approximate number of questions needed to separate two painters with this gap.

    Args:
        deviation: The standard deviation of the per-question differences.
        gap: The difference to detect; its sign does not matter.
        alpha: The probability of detecting a difference if there is none.
        power: The probability of detecting the gap if it exists.

    >>> questions_needed(40.0, 5.0).value
    505.0
    >>> questions_needed(40.0, 0.0).reason
    'no number of questions can show a gap of zero'
    """
    if deviation is None or gap is None or not (isfinite(deviation) and isfinite(gap)):
        return Measure(None, 0, "the spread of the differences is not known")
    if abs(gap) <= NEAR:
        return Measure(None, 0, "no number of questions can show a gap of zero")
    if deviation <= NEAR * max(1.0, abs(gap)):
        return Measure(None, 0, "every question shows the same difference, so there is no spread to plan with")
    z, reach = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    # The last term compensates for estimating the deviation from the same questions.
    needed = ((z + reach) * deviation / gap) ** 2 + z * z / 2
    # With fewer questions, even the clearest result of the sign-flip test does not reach alpha.
    return Measure(float(max(ceil(needed), ceil(1 - log2(alpha)))), 0)


MAX_EXACT_CLUSTERS = 14
"""The maximum number of differing clusters for which all exchanges are tried; above it, `FLIPS` or more random ones."""
FLIPS = 10_000
ENOUGH_HITS = 10
"""The number of random exchanges with at least as wide a gap at which p is precise enough to stop."""
NO_SCORE = "one of the two has no such score"


def difference(one: Parts, other: Parts, name: str, derive: Derive) -> float | None:
    """Return the first number minus the second; None if either is missing."""
    first, second = (derive(ratios(parts)).get(name) for parts in (one, other))
    return float(first - second) if first is not None and second is not None and known(first - second) else None


def sign_flip_test(one: Parts, other: Parts, name: str, derive: Derive, tests: int) -> tuple[Measure, int]:
    """Return the two-sided p-value of the sign-flip test, and the number of clusters that differ.

    It is how often exchanging painters gives as wide a gap: if the two painters were equal, their results could be
    exchanged on any cluster. If few clusters differ, all exchanges are tried, else a seeded sample of them.

    >>> one, other = ({"x": (np.full(6, level), np.ones(6))} for level in (1.0, 0.0))
    >>> sign_flip_test(one, other, "x", dict, 1)
    (Measure(value=0.03125, n=6, reason=None), 6)
    """
    gap = difference(one, other, name, derive)
    if gap is None:
        return Measure(None, 0, NO_SCORE), 0
    if gap < 0:  # The better one first, so that p does not depend on the order of the two.
        one, other = other, one
    names = sorted({*one, *other})
    size = len(next(iter({**one, **other}.values()))[0])
    mine, theirs = (_columns(parts, names, size) for parts in (one, other))
    order = np.lexsort(np.hstack([mine, theirs]).T)
    mine, theirs = mine[order], theirs[order]

    between = theirs - mine
    # Columns that no exchange changes are skipped: most scores have the same denominators on both sides.
    moves = np.flatnonzero(between.any(axis=0))

    def gaps(moving: NDArray[Any], places: NDArray[Any]) -> Floats:
        moved = np.zeros((len(moving), between.shape[1]))
        moved[:, moves] = moving.astype(np.float64) @ between[np.ix_(places, moves)]
        return after(moved)

    def after(moved: Floats) -> Floats:
        sides = [_named(total, names) for total in (mine.sum(axis=0) + moved, theirs.sum(axis=0) - moved)]
        values = [derive(side)[name] for side in sides]
        return np.asarray(values[0] - values[1], dtype=np.float64)

    near = NEAR * max(1.0, abs(gap))
    everywhere = np.arange(size)
    changed = after(between) - abs(gap)  # Exchanging one cluster at a time.
    differs = np.flatnonzero(np.isnan(changed) | (np.abs(changed) > near))
    if not len(differs):
        return Measure(1.0, size), 0
    exact = len(differs) <= MAX_EXACT_CLUSTERS
    batches = 1 if exact else ceil(max(FLIPS, 2 * tests / ALPHA) / FLIPS)
    wide = total = 0
    for batch in range(batches):
        flips, places = (_all_flips(len(differs)), differs) if exact else (_random_flips(size, batch), everywhere)
        step = max(1, LARGEST // 2 // size)
        for start in range(0, len(flips), step):
            widths = np.abs(gaps(flips[start : start + step], places))
            wide += int((widths >= abs(gap) - near).sum())
            total += int((~np.isnan(widths)).sum())
        if wide >= ENOUGH_HITS:
            break
    # The observed arrangement counts as one of the random ones.
    return Measure(wide / total if exact else (wide + 1) / (total + 1), size), len(differs)


def _columns(parts: Parts, names: list[str], size: int) -> Floats:
    blank = (np.zeros(size), np.zeros(size))
    return np.column_stack([side for name in names for side in parts.get(name, blank)])


def _named(totals: Floats, names: list[str]) -> dict[str, Floats]:
    shares = {}
    for place, name in enumerate(names):
        tops, bottoms = totals[:, 2 * place], totals[:, 2 * place + 1]
        shares[name] = np.divide(tops, bottoms, out=np.full(len(tops), np.nan), where=bottoms > NEAR)
    return shares


def _all_flips(count: int) -> NDArray[np.bool_]:
    signs: NDArray[np.bool_] = (np.arange(2**count)[:, None] >> np.arange(count)) & 1 == 1
    return signs


@lru_cache(maxsize=4)
def _random_flips(count: int, batch: int) -> NDArray[np.bool_]:
    generator, step = np.random.default_rng([SEED, batch]), max(1, AT_ONCE // count)
    signs = np.empty((FLIPS, count), dtype=np.bool_)
    for start in range(0, FLIPS, step):
        some = signs[start : start + step]
        some[:] = generator.random(some.shape, dtype=np.float32) < 0.5
    return signs


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return the p-values corrected by Holm's step-down method; None stays None and does not count as a test.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, place) in enumerate(tested):
        highest = max(highest, min(1.0, p * (len(tested) - step)))
        corrected[place] = highest
    return corrected
