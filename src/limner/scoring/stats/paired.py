"""Two painters on the same questions: their difference, whether it is chance, and how many questions would show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, isfinite, log2
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resample import AT_ONCE, LARGEST, interval, ratios, spreads, wilson
from .types import ALPHA, NEAR, SEED, Derive, Floats, Interval, Measure, Parts, known


@dataclass(frozen=True)
class Paired:
    """Two painters compared on the clusters (questions) both have.

    Attributes:
        difference: The first one's number minus the second's, with its paired bootstrap interval.
        p: Two-sided p of the sign-flip test.
        effect: Cohen's d_z: the difference in standard deviations of the per-cluster differences.
        differing: How many clusters show any difference.
        deviation: That standard deviation; None where it is not known.
    """

    difference: Interval
    p: Measure
    effect: Measure
    differing: int
    deviation: float | None

    @property
    def swapped(self) -> Paired:
        """The same two with the second one first."""
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
    """Return difference, p and effect of one pair.

    Args:
        first: What the first one's numbers are made of.
        second: The same for the second, over the same clusters.
        name: Which number.
        derive: Turns ratios into the final numbers.
        drawn: The two joint bootstrap spreads, where they are known already.
        tests: How many tests there are in all; a correction for many needs a finer p.
        top: The best value the number can have, where it has one: then even equal differences have an interval.

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
    """Return the first one's number minus the second's with its interval alone, which is faster than `paired`.

    `n` is how many clusters show a difference of their own, where that is known already.

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
    """Return an interval with width where every question shows the same difference: one more question might not."""
    value, low, high = interval.value, interval.low, interval.high
    if top is None or value is None or low is None or high is None or high - low > NEAR * top:
        return interval
    unseen = top * (wilson(0, interval.n).high or 0.0)
    return Interval(value, max(-top, value - unseen), min(top, value + unseen), interval.n)


def spread_of_differences(first: Parts, second: Parts, name: str = "value", derive: Derive = dict) -> Floats:
    """Return each cluster's share in the difference: for plain means simply its own difference.

    For ratios these are jackknife pseudo-values: how the difference changes when the cluster is left out, on the scale
    of a single cluster. Clusters without the number are left out.

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
    """Return about how many questions separate two painters at this gap, given the spread of their differences.

    Args:
        deviation: Standard deviation of the per-question differences.
        gap: The difference to be found; its sign does not matter.
        alpha: How often a difference may be seen where there is none.
        power: How often the gap is to be found where it is there.

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
    # The last term makes up for the spread being estimated from the same questions.
    needed = ((z + reach) * deviation / gap) ** 2 + z * z / 2
    # With fewer questions than this even the clearest result does not reach alpha: the sign-flip test has no finer p.
    return Measure(float(max(ceil(needed), ceil(1 - log2(alpha)))), 0)


MAX_EXACT_CLUSTERS = 14
"""Up to this many clusters that differ, every exchange is tried; above it `FLIPS` random ones, or more on request."""
FLIPS = 10_000
ENOUGH_HITS = 10
"""Where so many random exchanges gave as wide a gap, p is known well enough."""
NO_SCORE = "one of the two has no such score"


def difference(one: Parts, other: Parts, name: str, derive: Derive) -> float | None:
    """Return the first one's number minus the second's; None where one of them has none."""
    first, second = (derive(ratios(parts)).get(name) for parts in (one, other))
    return float(first - second) if first is not None and second is not None and known(first - second) else None


def sign_flip(first: Parts, second: Parts, name: str = "value", derive: Derive = dict, tests: int = 1) -> Measure:
    """Return the two-sided p of the sign-flip test: how often exchanging the two within clusters gives as wide a gap.

    Were the two the same, what they did on a question could as well have been done by the other. All exchanges are
    tried where few clusters differ, else a seeded sample of them.

    >>> from limner.scoring.stats import as_parts
    >>> sign_flip(as_parts([1, 1, 1, 1, 1, 1]), as_parts([0, 0, 0, 0, 0, 0]))
    Measure(value=0.03125, n=6, reason=None)
    """
    return sign_flip_test(first, second, name, derive, tests)[0]


def sign_flip_test(one: Parts, other: Parts, name: str, derive: Derive, tests: int) -> tuple[Measure, int]:
    """Return the p of the sign-flip test, and how many clusters differ at all."""
    gap = difference(one, other, name, derive)
    if gap is None:
        return Measure(None, 0, NO_SCORE), 0
    if gap < 0:  # The better one first: the p of a pair is the same whoever is named first.
        one, other = other, one
    names = sorted({*one, *other})
    size = len(next(iter({**one, **other}.values()))[0])
    mine, theirs = (_columns(parts, names, size) for parts in (one, other))
    order = np.lexsort(np.hstack([mine, theirs]).T)
    mine, theirs = mine[order], theirs[order]

    between = theirs - mine
    # Most scores of an exam have the same denominators for both: what nothing moves is not summed up.
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
    changed = after(between) - abs(gap)  # Each cluster exchanged alone.
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
    # What was seen is itself one of the ways it could have come.
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
    """Return p corrected by Holm's step-down; None stays None and does not count as a test.

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
