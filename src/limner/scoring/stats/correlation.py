"""Correlations of two evaluators' numbers, with weights, intervals from leaving questions out, and p by exchange."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resample import LARGEST, LEAST, interval, student
from .types import NEAR, RESAMPLES, SEED, Floats, Measure, Plain, known

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


ALL = 10_000
"""Up to so many exchanges all are tried; above it `SOME` random ones."""
SOME = 1_999
HELD = 2_000_000
"""So many numbers are held in memory at a time."""
BLOCKS_ALONE: Sequence[Hashable] = ()


@dataclass(frozen=True)
class Shape:
    """Places that may be exchanged.

    Attributes:
        table: A row for every block, a column for every key.
        turning: Whether columns may be exchanged too, in all rows alike: painters, beside questions.
    """

    table: NDArray[np.intp]
    turning: bool

    @property
    def count(self) -> int:
        """In how many ways that can be done; many where it is more than can be tried."""
        rows, columns = self.table.shape
        if max(rows, columns if self.turning else 1) > 9:
            return ALL + 1
        return factorial(rows) * (factorial(columns) if self.turning else 1)

    def ways(self) -> Iterator[NDArray[np.intp]]:
        """The table in every order."""
        rows, columns = self.table.shape
        for down in permutations(range(rows)):
            for across in permutations(range(columns)) if self.turning else [tuple(range(columns))]:
                yield self.table[np.ix_(down, across)]

    def chances(self, generator: np.random.Generator, count: int) -> NDArray[np.intp]:
        """So many random ones."""
        rows, columns = self.table.shape
        down = generator.permuted(np.tile(np.arange(rows), (count, 1)), axis=1)
        if not self.turning:
            moved: NDArray[np.intp] = self.table[down]
            return moved
        across = generator.permuted(np.tile(np.arange(columns), (count, 1)), axis=1)
        found: NDArray[np.intp] = self.table[down[:, :, None], across[:, None, :]]
        return found


Shapes = list[Shape]


def shapes(blocks: Sequence[str], keys: Sequence[Hashable] = BLOCKS_ALONE) -> Shapes:
    """Blocks (questions with all their drawings) that can stand for each other, for they have the same keys.

    Where all blocks have the same keys, each once, keys (painters) can stand for each other too.

    >>> [shape.table.tolist() for shape in shapes(["a", "a", "b", "b", "c"], ["x", "y", "y", "x", "x"])]
    [[[0, 1], [3, 2]], [[4]]]
    """
    members: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        members.setdefault(block, []).append(place)
    found: dict[Hashable, list[list[int]]] = {}
    for places in members.values():
        if keys:
            places.sort(key=lambda place: str(keys[place]))
        shape = tuple(str(keys[place]) for place in places) if keys else len(places)
        found.setdefault(shape, []).append(places)
    crossed = len(found) == 1 and all(isinstance(shape, tuple) and len({*shape}) == len(shape) > 1 for shape in found)
    return [Shape(np.array(rows, dtype=np.intp), crossed) for rows in found.values()]


def exchange_p(name: str, x: Floats, y: Floats, weights: Floats, blocks: Shapes) -> float | None:
    """Two-sided p: how often exchanged numbers correlate as strongly; None where nothing can be exchanged.

    All exchanges are tried where they are few, else a seeded sample, in which what was seen counts as one.

    Args:
        name: ``pearson``, ``spearman`` or ``kendall``.
        x: The first evaluator's numbers.
        y: The second's, which are exchanged.
        weights: What each place counts.
        blocks: See `shapes`.

    >>> order = np.arange(4.0)
    >>> round(exchange_p("spearman", order, order, np.ones(4), shapes(list("abcd"))), 4)
    0.0833
    """
    count = prod(shape.count for shape in blocks)
    if count == 1:
        return None
    exact = count <= ALL
    if name != "pearson":
        from scipy.stats import rankdata

        x, y = rankdata(x.round(12)), rankdata(y.round(12))
    statistic = _kendall if name == "kendall" else _pearson
    seen = statistic(x, y[None, :], weights)[0]
    wide = total = 0
    for orders in _orders(blocks, len(x), exact):
        found = statistic(x, y[orders], weights)
        wide += int((np.abs(found) >= abs(seen) - NEAR).sum())
        total += int((~np.isnan(found)).sum())
    return wide / total if exact else (wide + 1) / (total + 1)


def _pearson(x: Floats, exchanged: Floats, weights: Floats) -> Floats:
    share = weights / weights.sum()
    x = x - share @ x
    exchanged = exchanged - exchanged[0].mean()
    mean = exchanged @ share
    below = np.sqrt(np.maximum((exchanged**2) @ share - mean**2, 0.0) * (share @ x**2))
    found: Floats = np.divide(exchanged @ (share * x), below, out=np.full(len(mean), np.nan), where=below > NEAR)
    return found


def _kendall(x: Floats, exchanged: Floats, weights: Floats) -> Floats:
    signs = np.sign(x[:, None] - x) * np.outer(weights, weights)
    theirs = np.sign(exchanged[:, :, None] - exchanged[:, None, :])
    found: Floats = np.einsum("ij,bij->b", signs, theirs)
    # Where points weigh differently, so do ties.
    below: Floats = np.sqrt(np.einsum("ij,bij->b", np.outer(weights, weights), theirs**2))
    ratio: Floats = np.divide(found, below, out=np.full(len(found), np.nan), where=below > NEAR)
    return ratio


def _orders(blocks: Shapes, n: int, exact: bool) -> Iterator[NDArray[np.intp]]:
    """Who stands in whose place, many at a time."""
    step = max(1, HELD // n**2 if n <= 100 else HELD // n)
    generator = np.random.default_rng(SEED)
    if not exact:
        for start in range(0, SOME, step):
            orders = np.tile(np.arange(n), (min(step, SOME - start), 1))
            for shape in blocks:
                orders[:, shape.table] = shape.chances(generator, len(orders))
            yield orders
        return
    batch: list[NDArray[np.intp]] = []
    for way in product(*(shape.ways() for shape in blocks)):
        order = np.arange(n)
        for shape, moved in zip(blocks, way, strict=True):
            order[shape.table] = moved
        batch.append(order)
        if len(batch) == step:
            yield np.array(batch)
            batch = []
    if batch:
        yield np.array(batch)


@dataclass(frozen=True)
class RankInterval:
    """The best and the worst place that 95% of the resamples leave open."""

    low: int
    high: int

    @property
    def words(self) -> str:
        """Such as ``1st`` or ``2nd to 4th``."""
        return ordinal(self.low) if self.low == self.high else f"{ordinal(self.low)} to {ordinal(self.high)}"

    def to_json(self) -> dict[str, int | str]:
        """``{low, high, words}``."""
        return {"low": self.low, "high": self.high, "words": self.words}


def ordinal(place: int) -> str:
    """A place in short words.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 21, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '21st', '113th']
    """
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def rank_intervals(drawn: Mapping[str, Floats]) -> dict[str, RankInterval]:
    """For every painter its best and its worst place, from joint resamples of all of them; highest first.

    Equals share their places: each could stand at the best or at the worst of them.

    >>> found = rank_intervals({"a": np.array([3.0, 4.0]), "b": np.array([1.0, 2.0]), "c": np.array([1.0, 2.0])})
    >>> {name: place.words for name, place in found.items()}
    {'a': '1st', 'b': '2nd to 3rd', 'c': '2nd to 3rd'}
    """
    names = sorted(drawn)
    if not names:
        return {}
    table = np.array([drawn[name] for name in names])
    table = table[:, ~np.isnan(table).any(axis=0)]
    if not table.shape[1]:
        return {}
    found = {}
    for name, row in zip(names, table, strict=True):
        # Sums of the same numbers in another order may differ in their last bits.
        near = 1e-9 * np.maximum(1.0, np.abs(row))
        best = 1 + (table > row + near).sum(axis=0)
        worst = (table >= row - near).sum(axis=0)
        low = np.percentile(best, 2.5, method="inverted_cdf")
        high = np.percentile(worst, 97.5, method="inverted_cdf")
        found[name] = RankInterval(int(low), int(high))
    return found


def spearman(first: Sequence[float | None], second: Sequence[float | None]) -> Measure:
    """Spearman's rank correlation over the places that both have.

    >>> spearman([1, 2, 3, None], [10, 30, 20, 5])
    Measure(value=0.5, n=3, reason=None)
    """
    return _correlation(first, second, "spearmanr")


def kendall(first: Sequence[float | None], second: Sequence[float | None]) -> Measure:
    """Kendall's tau-b over the places that both have; it takes ties into account.

    >>> kendall([1, 2], [5, 5])
    Measure(value=None, n=2, reason='all have the same score')
    """
    return _correlation(first, second, "kendalltau")


def _correlation(first: Sequence[float | None], second: Sequence[float | None], how: str) -> Measure:
    both = sorted((a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None)
    both = [pair for pair in both if known(pair[0]) and known(pair[1])]
    if len(both) < 2:
        return Measure(None, len(both), "an order needs two")
    if any(len({pair[side] for pair in both}) == 1 for side in (0, 1)):
        return Measure(None, len(both), "all have the same score")
    from scipy import stats

    value = getattr(stats, how)(*zip(*both, strict=True)).statistic
    return Measure(round(float(value), 12), len(both))


def spearman_spread(value: float, first: Floats, second: Floats) -> tuple[float | None, float | None]:
    """The 95% interval of a Spearman correlation from resamples: one row each, a column for every painter.

    >>> spearman_spread(1.0, np.array([[1.0, 2.0, 3.0]] * 4), np.array([[2.0, 4.0, 6.0]] * 4))
    (1.0, 1.0)
    """
    from scipy.stats import rankdata

    kept = ~(np.isnan(first).any(axis=1) | np.isnan(second).any(axis=1))
    ranks = [rankdata(table[kept].round(9), axis=1) for table in (first, second)]
    x, y = (table - table.mean(axis=1, keepdims=True) for table in ranks)
    below = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    # Where all are equal in a resample there is no order to speak of.
    values = np.divide((x * y).sum(axis=1), below, out=np.full(len(below), np.nan), where=below > 0)
    # How many questions stand behind it is not known here: plain percentiles.
    found = interval(value, values.round(12), RESAMPLES)
    return found.low, found.high


def rank_agreement(scores: Mapping[str, Mapping[str, float | None]]) -> list[dict[str, Any]]:
    """For each two judges (or exams), how alike they order the painters both have.

    Returns:
        ``pair``, ``painters`` (how many), ``spearman`` and ``kendall`` as `Measure`, and ``shift``: the mean of the
        second one's scores less the first's, None without a painter in common.

    >>> found = rank_agreement({"a": {"x": 0.5, "y": 0.3}, "b": {"x": 0.6, "y": 0.4}})[0]
    >>> found["kendall"].value, round(found["shift"], 2)
    (1.0, 0.1)
    """
    found = []
    for one, other in combinations(sorted(scores), 2):
        common = [name for name in sorted(scores[one]) if known(scores[one][name]) and known(scores[other].get(name))]
        first, second = ([scores[judge][painter] for painter in common] for judge in (one, other))
        gaps = [b - a for a, b in zip(first, second, strict=True) if a is not None and b is not None]
        body: dict[str, Any] = {"pair": (one, other), "painters": len(common)}
        body |= {"spearman": spearman(first, second), "kendall": kendall(first, second)}
        found.append(body | {"shift": sum(gaps) / len(gaps) if gaps else None})
    return found
