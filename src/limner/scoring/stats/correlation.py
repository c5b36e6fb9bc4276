"""Correlations of two evaluators' numbers, with weights, intervals from leaving questions out, and p by exchange."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from .exchange import BLOCKS_ALONE, Shapes, exchange_p, shapes
from .quantiles import student
from .resample import LARGEST, LEAST
from .types import NEAR, SEED, Floats, Plain

GROUPS = 200
"""More clusters than this are left out in so many groups, chosen by a seed."""
MOST = 1 - 1e-6
"""A correlation nearer to 1 counts as this in Fisher's z, which has no end."""
SMALL = 60
"""Up to so many points, p is by exchange; above it, from the standard error of Fisher's z."""
MEASURES = ("pearson", "spearman", "kendall")
SAME = "one of the two has the same number everywhere"
TWO = "a correlation needs two points"


@dataclass(frozen=True)
class Correlation(Plain):
    """A correlation with its 95% interval, its two-sided p, and how many points stand behind it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0
    reason: str | None = None


Statistic = Callable[[Floats, Floats, Floats], Floats]
"""Weights (a row per resample, a column per point) and two sets of numbers -> the statistic of every resample."""


def weighted_pearson(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's r in every row of weights; NaN where one of the two does not differ.

    Args:
        weights: One row per resample, one column per point.
        x: The first numbers: one per point, or a row for every resample.
        y: The second ones.

    >>> weighted_pearson(np.ones((1, 3)), np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).round(3).tolist()
    [0.5]
    """
    total = weights.sum(axis=1)
    # Near their middle, squares lose no digits.
    x, y = x - np.mean(x), y - np.mean(y)
    mean_x, mean_y = _sums(weights, x) / total, _sums(weights, y) / total
    both = _sums(weights, x * y) / total - mean_x * mean_y
    spread_x = _sums(weights, x * x) / total - mean_x**2
    spread_y = _sums(weights, y * y) / total - mean_y**2
    floors = [NEAR * max(float(np.max(each**2)), NEAR) for each in (x, y)]
    there = (spread_x > floors[0]) & (spread_y > floors[1])
    below = np.sqrt(np.where(there, spread_x * spread_y, 1.0))
    return np.clip(np.where(there, both / below, np.nan), -1.0, 1.0)


def _sums(weights: Floats, values: Floats) -> Floats:
    found: Floats = weights @ values if values.ndim == 1 else (weights * values).sum(axis=1)
    return found


def weighted_ranks(weights: Floats, values: Floats) -> Floats:
    """The middle rank of every point in every row of weights, equals sharing theirs.

    >>> weighted_ranks(np.array([[1.0, 2.0, 1.0]]), np.array([5.0, 7.0, 7.0])).tolist()
    [[0.5, 2.5, 2.5]]
    """
    _, places = np.unique(values.round(12), return_inverse=True)
    sums = _by_value(weights, places)
    return (np.cumsum(sums, axis=1) - sums / 2)[:, places]


def _by_value(weights: Floats, places: np.ndarray[tuple[int, ...], np.dtype[np.intp]]) -> Floats:
    order = np.argsort(places, kind="stable")
    starts = np.flatnonzero(np.diff(places[order], prepend=-1))
    found: Floats = np.add.reduceat(weights[:, order], starts, axis=1)
    return found


def weighted_spearman(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Spearman's rho in every row of weights: Pearson's r of the ranks, which each resample has anew."""
    step = max(1, LARGEST // max(1, weights.shape[1]))
    found = [
        weighted_pearson(rows, weighted_ranks(rows, x), weighted_ranks(rows, y))
        for rows in (weights[start : start + step] for start in range(0, len(weights), step))
    ]
    return np.concatenate(found)


def weighted_kendall(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Kendall's tau-b in every row of weights; two points count as the product of their weights.

    >>> weighted_kendall(np.ones((1, 3)), np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).round(3).tolist()
    [0.333]
    """
    x, y = x.round(12), y.round(12)
    top = np.zeros(len(weights))
    step = max(1, LARGEST // max(1, len(x)))
    for start in range(0, len(x), step):
        inside = slice(start, start + step)
        signs = np.sign(x[:, None] - x[inside]) * np.sign(y[:, None] - y[inside])
        top += ((weights @ signs) * weights[:, inside]).sum(axis=1)
    whole = weights.sum(axis=1) ** 2
    bottoms = []
    for values in (x, y):
        _, places = np.unique(values, return_inverse=True)
        bottoms.append(whole - (_by_value(weights, places) ** 2).sum(axis=1))
    there = (bottoms[0] > NEAR * whole) & (bottoms[1] > NEAR * whole)
    below = np.sqrt(np.where(there, bottoms[0] * bottoms[1], 1.0))
    return np.where(there, top / below, np.nan)


STATISTICS: dict[str, Statistic] = {
    "pearson": weighted_pearson,
    "spearman": weighted_spearman,
    "kendall": weighted_kendall,
}


def row_correlations(name: str, x: Floats, y: Floats) -> Floats:
    """One of `MEASURES` in every row of two tables, a column for every point; NaN where a row says nothing.

    >>> row_correlations("kendall", np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]])).round(3).tolist()
    [0.333]
    """
    x, y = x.round(12), y.round(12)
    if name != "kendall":
        if name == "spearman":
            from scipy.stats import rankdata

            x, y = (rankdata(table, axis=1, nan_policy="propagate") for table in (x, y))
        x, y = (table - table.mean(axis=1, keepdims=True) for table in (x, y))
        top, below = (x * y).sum(axis=1), (x * x).sum(axis=1) * (y * y).sum(axis=1)
    else:
        signs = [np.sign(table[:, :, None] - table[:, None, :]) for table in (x, y)]
        top = (signs[0] * signs[1]).sum(axis=(1, 2))
        below = (signs[0] ** 2).sum(axis=(1, 2)) * (signs[1] ** 2).sum(axis=(1, 2))
    there = below > NEAR**2
    return np.where(there, top / np.sqrt(np.where(there, below, 1.0)), np.nan)


def correlate(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float] | None = None,
    keys: Sequence[Hashable] | None = None,
) -> dict[str, Correlation]:
    """Pearson, Spearman and Kendall of two evaluators over the same drawings.

    Args:
        first: The first evaluator's number of each drawing.
        second: The second's.
        clusters: The question of each: what is drawn anew, and exchanged, as a whole.
        weights: What each drawing counts; by the inverse of the probability with which a study took it.
        keys: What tells the drawings of a question apart, such as the painter; see `limner.scoring.stats.shapes`.

    >>> found = correlate([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], list("abcdef"))
    >>> round(found["spearman"].value, 3), round(found["spearman"].p, 3), found["spearman"].n
    (0.943, 0.017, 6)
    """
    n = len(first)
    if n < 2:
        return {name: Correlation(None, n=n, reason=TWO) for name in MEASURES}
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    order = sorted(range(n), key=lambda place: (clusters[place], str(keys[place]) if keys else "", place))
    x, y, w = (np.asarray(side, dtype=np.float64)[order] for side in (first, second, given))
    names = [clusters[place] for place in order]
    blocks = shapes(names, [keys[place] for place in order] if keys else BLOCKS_ALONE)
    return {name: _one(name, x, y, w, names, blocks) for name in MEASURES}


def _one(name: str, x: Floats, y: Floats, w: Floats, names: Sequence[str], blocks: Shapes) -> Correlation:
    statistic, n = STATISTICS[name], len(x)
    value = float(statistic(w[None, :], x, y)[0])
    if np.isnan(value):
        return Correlation(None, n=n, reason=SAME)
    rows = left_out(names) * w
    error = z_error(value, statistic(rows, x, y))
    low, high = z_interval(value, error, len(set(names)))
    # Questions that lack some painters can stand for few others: exchanging these alone would say little.
    exchanged = error is None or (n <= SMALL and len(blocks) == 1)
    p = exchange_p(name, x, y, w, blocks) if exchanged or error is None else _student_p(value, error, len(rows))
    return Correlation(round(value, 12), low, high, p, n)


def left_out(names: Sequence[str]) -> Floats:
    """Weights for the jackknife: in every row one cluster is left out, or one of `GROUPS` groups of them.

    >>> left_out(["a", "a", "b"]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    _, homes = np.unique(names, return_inverse=True)
    count = int(homes.max()) + 1
    groups = np.random.default_rng(SEED).permutation(count) % GROUPS if count > GROUPS else np.arange(count)
    return np.not_equal.outer(np.arange(min(count, GROUPS)), groups[homes]).astype(np.float64)


def z_error(value: float, without: Floats) -> float | None:
    """The standard error of Fisher's z by the jackknife; None where it has none.

    Args:
        value: The correlation.
        without: The same with each cluster left out.
    """
    known = without[~np.isnan(without)]
    n = len(known)
    if n < LEAST or abs(value) > 1 - NEAR or np.ptp(known) < NEAR:
        return None
    far = np.arctanh(np.clip(known, -MOST, MOST))
    return float(np.sqrt((n - 1) / n * ((far - far.mean()) ** 2).sum()))


def z_interval(value: float, error: float | None, n: int) -> tuple[float | None, float | None]:
    """The 95% interval of a correlation: Fisher's z with Student's t; fewer than `LEAST` clusters have none."""
    if error is None or n < LEAST:
        return None, None
    half, middle = student(n) * error, float(np.arctanh(value))
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))


def _student_p(value: float, error: float, n: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(n - 1, -abs(np.arctanh(value)) / error))
