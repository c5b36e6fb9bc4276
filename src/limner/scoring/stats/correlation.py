"""Correlations of two evaluators' numbers, with weights, jackknife intervals and permutation p-values."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resample import (
    LARGEST,
    MIN_CLUSTERS,
    NEAR,
    RESAMPLES,
    SEED,
    Floats,
    Measure,
    Plain,
    interval,
    known,
    student,
    student_p,
)

GROUPS = 200
"""The number of groups that the jackknife leaves out if there are more clusters than this, formed by a seed."""
MAX_CORRELATION = 1 - 1e-6
"""The largest correlation used in Fisher's z, which is infinite at 1."""
SMALL = 60
"""The largest number of points for which p comes from permutation; above it, from the error of Fisher's z."""
MEASURES = ("pearson", "spearman", "kendall")
NO_VARIATION = "one of the two has the same number everywhere"
TOO_FEW_POINTS = "a correlation needs two points"


@dataclass(frozen=True)
class Correlation(Plain):
    """A correlation with its 95% interval, its two-sided p-value, and the number of points."""

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0
    reason: str | None = None


Statistic = Callable[[Floats, Floats, Floats | None], Floats]
"""Two arrays of numbers, and weights -> the statistic of every resample.

Each array has one value per point, or one row per resample.
"""


def pearson(x: Floats, y: Floats, weights: Floats | None = None) -> Floats:
    """Return Pearson's r of every row; NaN if all of either side's numbers are equal.

    Args:
        x: The first numbers: one per point, or one row per resample.
        y: The second numbers, in the same form.
        weights: The weights of the points, in the same form; equal by default.

    >>> pearson(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).round(3).tolist()
    [0.5]
    """
    weights = _weight_rows(x, weights)
    total = weights.sum(axis=1)
    # Centred first, because squares of large numbers lose digits.
    x, y = (side - side.mean(axis=-1, keepdims=True) for side in (x, y))
    with np.errstate(invalid="ignore"):  # A resample without any of the points has no coefficient.
        mean_x, mean_y = _sums(weights, x) / total, _sums(weights, y) / total
        both = _sums(weights, x * y) / total - mean_x * mean_y
        spread_x = _sums(weights, x * x) / total - mean_x**2
        spread_y = _sums(weights, y * y) / total - mean_y**2
    floors = [NEAR * np.maximum((side**2).max(axis=-1), NEAR) for side in (x, y)]
    defined = (spread_x > floors[0]) & (spread_y > floors[1])
    below = np.sqrt(np.where(defined, spread_x * spread_y, 1.0))
    return np.clip(np.where(defined, both / below, np.nan), -1.0, 1.0)


def _weight_rows(x: Floats, weights: Floats | None) -> Floats:
    return np.ones((1, x.shape[-1])) if weights is None else np.atleast_2d(weights)


def _sums(weights: Floats, values: Floats) -> Floats:
    sums: Floats = weights @ values if values.ndim == 1 else (weights * values).sum(axis=1)
    return sums


def ranks(values: Floats, weights: Floats | None = None) -> Floats:
    """Return the mid-rank of every point in every row; equal values share a rank, a row with a NaN is all NaN.

    >>> ranks(np.array([5.0, 7.0, 7.0]), np.array([1.0, 2.0, 1.0])).tolist()
    [[0.5, 2.5, 2.5]]
    """
    below, upto = _weights_below(values, _weight_rows(values, weights))
    return np.where(np.isnan(np.atleast_2d(values)).any(axis=1, keepdims=True), np.nan, (below + upto) / 2)


def _weights_below(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return for every point the total weight of all smaller values, and of all smaller or equal values."""
    table = np.atleast_2d(values.round(12))
    shape = np.broadcast_shapes(table.shape, weights.shape)
    order = np.argsort(table, axis=1, kind="stable")
    table = np.take_along_axis(table, order, axis=1)
    first = np.ones(table.shape, dtype=bool)
    first[:, 1:] = table[:, 1:] != table[:, :-1]
    order = np.broadcast_to(order, shape)
    ordered = np.take_along_axis(np.broadcast_to(weights, shape), order, axis=1)
    sums = np.cumsum(ordered, axis=1)
    below = np.maximum.accumulate(np.where(first, sums - ordered, 0.0), axis=1)
    last = np.roll(first, -1, axis=1)
    upto = np.minimum.accumulate(np.where(last, sums, np.inf)[:, ::-1], axis=1)[:, ::-1]
    places = np.argsort(order, axis=1, kind="stable")
    return np.take_along_axis(below, places, axis=1), np.take_along_axis(upto, places, axis=1)


def spearman(x: Floats, y: Floats, weights: Floats | None = None) -> Floats:
    """Return Spearman's rho of every row: Pearson's r of the ranks within each resample; see `pearson`."""
    tables = [np.atleast_2d(x), np.atleast_2d(y), _weight_rows(x, weights)]
    step = max(1, LARGEST // max(1, x.shape[-1]))
    values = []
    for start in range(0, max(map(len, tables)), step):
        one, other, rows = (table if len(table) == 1 else table[start : start + step] for table in tables)
        values.append(pearson(ranks(one, rows), ranks(other, rows), rows))
    return np.concatenate(values)


def kendall(x: Floats, y: Floats, weights: Floats | None = None) -> Floats:
    """Return Kendall's tau-b of every row; a pair of points has the product of their weights; see `pearson`.

    >>> kendall(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])).round(3).tolist()
    [0.333]
    """
    weights = _weight_rows(x, weights)
    whole = weights.sum(axis=1) ** 2
    untied = []
    for values in (x, y):
        below, upto = _weights_below(values, weights)
        untied.append(whole - (weights * (upto - below)).sum(axis=1))
    defined = (untied[0] > NEAR * whole) & (untied[1] > NEAR * whole)
    return np.where(
        defined, _concordance(x, y, weights) / np.sqrt(np.where(defined, untied[0] * untied[1], 1.0)), np.nan
    )


def _concordance(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Return the total weight of concordant ordered pairs minus that of discordant ones."""
    x, y = x.round(12), y.round(12)
    total = np.zeros(1)
    step = max(1, LARGEST // max(x.size, y.size))
    for start in range(0, x.shape[-1], step):
        inside = slice(start, start + step)
        signs = [np.sign(side[..., :, None] - side[..., None, inside]) for side in (x, y)]
        both = signs[0] * signs[1]
        sums = weights @ both if both.ndim == 2 else (weights[:, None, :] @ both)[:, 0]
        total = total + (sums * weights[:, inside]).sum(axis=1)
    return total


STATISTICS: dict[str, Statistic] = {"pearson": pearson, "spearman": spearman, "kendall": kendall}


def correlate(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[str],
    weights: Sequence[float] | None = None,
    keys: Sequence[Hashable] | None = None,
) -> dict[str, Correlation]:
    """Return the Pearson, Spearman and Kendall correlations of two evaluators over the same drawings.

    Args:
        first: The first evaluator's number for each drawing.
        second: The second evaluator's number for each drawing.
        clusters: The question of each drawing; questions are left out and exchanged as a whole.
        weights: The weight of each drawing: the inverse of the probability that a study sampled it.
        keys: The key of each drawing within its question, such as the painter; see `exchangeable_blocks`.

    >>> found = correlate([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 6, 5], list("abcdef"))
    >>> round(found["spearman"].value, 3), round(found["spearman"].p, 3), found["spearman"].n
    (0.943, 0.017, 6)
    """
    n = len(first)
    if n < 2:
        return {name: Correlation(None, n=n, reason=TOO_FEW_POINTS) for name in MEASURES}
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    order = sorted(range(n), key=lambda place: (clusters[place], str(keys[place]) if keys else "", place))
    x, y, w = (np.asarray(side, dtype=np.float64)[order] for side in (first, second, given))
    names = [clusters[place] for place in order]
    blocks = exchangeable_blocks(names, [keys[place] for place in order] if keys else BLOCKS_ALONE)
    return {name: _one(name, x, y, w, names, blocks) for name in MEASURES}


def _one(name: str, x: Floats, y: Floats, w: Floats, names: Sequence[str], blocks: Shapes) -> Correlation:
    statistic, n = STATISTICS[name], len(x)
    value = float(statistic(x, y, w)[0])
    if np.isnan(value):
        return Correlation(None, n=n, reason=NO_VARIATION)
    rows = jackknife_weights(names) * w
    error = z_error(value, statistic(x, y, rows))
    low, high = z_interval(value, error, len(set(names)))
    # Questions that lack some painters can be exchanged with few others, which makes a weak test.
    exchanged = error is None or (n <= SMALL and len(blocks) == 1)
    if exchanged or error is None:
        p = exchange_p(name, x, y, w, blocks)
    else:
        p = student_p(np.arctanh(value) / error, len(rows))
    return Correlation(round(value, 12), low, high, p, n)


def jackknife_weights(names: Sequence[str]) -> Floats:
    """Return weights for the jackknife: every row leaves out one cluster, or one of `GROUPS` groups of clusters.

    >>> jackknife_weights(["a", "a", "b"]).tolist()
    [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    _, homes = np.unique(names, return_inverse=True)
    count = int(homes.max()) + 1
    groups = np.random.default_rng(SEED).permutation(count) % GROUPS if count > GROUPS else np.arange(count)
    return np.not_equal.outer(np.arange(min(count, GROUPS)), groups[homes]).astype(np.float64)


def z_error(value: float, without: Floats) -> float | None:
    """Return the standard error of Fisher's z by the jackknife; None if undefined.

    Args:
        value: The correlation.
        without: The correlation with each cluster left out.
    """
    defined = without[~np.isnan(without)]
    n = len(defined)
    if n < MIN_CLUSTERS or abs(value) > 1 - NEAR or np.ptp(defined) < NEAR:
        return None
    far = np.arctanh(np.clip(defined, -MAX_CORRELATION, MAX_CORRELATION))
    return float(np.sqrt((n - 1) / n * ((far - far.mean()) ** 2).sum()))


def z_interval(value: float, error: float | None, n: int) -> tuple[float | None, float | None]:
    """Return a correlation's 95% interval (Fisher's z, Student's t); None for fewer than `MIN_CLUSTERS` clusters."""
    if error is None or n < MIN_CLUSTERS:
        return None, None
    half, middle = student(n) * error, float(np.arctanh(value))
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))


MAX_EXACT_EXCHANGES = 10_000
"""The maximum number of exchanges to try exhaustively; above it, `RANDOM_EXCHANGES` random ones are tried."""
RANDOM_EXCHANGES = 1_999
MAX_NUMBERS_IN_MEMORY = 2_000_000
"""The maximum number of numbers held in memory at a time."""
BLOCKS_ALONE: Sequence[Hashable] = ()


@dataclass(frozen=True)
class Shape:
    """Blocks of points that can be exchanged with each other.

    Attributes:
        table: The indices of the points: one row per block (question), one column per key (painter).
        turning: Whether columns can be exchanged too, in all rows at once.
    """

    table: NDArray[np.intp]
    turning: bool

    @property
    def count(self) -> int:
        """The number of possible orders; more than `MAX_EXACT_EXCHANGES` if there are too many to try."""
        rows, columns = self.table.shape
        if max(rows, columns if self.turning else 1) > 9:
            return MAX_EXACT_EXCHANGES + 1
        return factorial(rows) * (factorial(columns) if self.turning else 1)

    def ways(self) -> Iterator[NDArray[np.intp]]:
        """Yield the table in every possible order."""
        rows, columns = self.table.shape
        for down in permutations(range(rows)):
            for across in permutations(range(columns)) if self.turning else [tuple(range(columns))]:
                yield self.table[np.ix_(down, across)]

    def chances(self, generator: np.random.Generator, count: int) -> NDArray[np.intp]:
        """Return the table in `count` random orders."""
        rows, columns = self.table.shape
        down = generator.permuted(np.tile(np.arange(rows), (count, 1)), axis=1)
        if not self.turning:
            moved: NDArray[np.intp] = self.table[down]
            return moved
        across = generator.permuted(np.tile(np.arange(columns), (count, 1)), axis=1)
        orders: NDArray[np.intp] = self.table[down[:, :, None], across[:, None, :]]
        return orders


Shapes = list[Shape]


def exchangeable_blocks(blocks: Sequence[str], keys: Sequence[Hashable] = BLOCKS_ALONE) -> Shapes:
    """Return the blocks (questions with all their drawings), grouped by their keys; equal keys make them exchangeable.

    If all blocks have the same keys, each once, the keys (painters) are exchangeable too.

    >>> [shape.table.tolist() for shape in exchangeable_blocks(["a", "a", "b", "b", "c"], ["x", "y", "y", "x", "x"])]
    [[[0, 1], [3, 2]], [[4]]]
    """
    members: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        members.setdefault(block, []).append(place)
    by_keys: dict[Hashable, list[list[int]]] = {}
    for places in members.values():
        if keys:
            places.sort(key=lambda place: str(keys[place]))
        shape = tuple(str(keys[place]) for place in places) if keys else len(places)
        by_keys.setdefault(shape, []).append(places)
    crossed = len(by_keys) == 1 and all(
        isinstance(shape, tuple) and len({*shape}) == len(shape) > 1 for shape in by_keys
    )
    return [Shape(np.array(rows, dtype=np.intp), crossed) for rows in by_keys.values()]


def exchange_p(name: str, x: Floats, y: Floats, weights: Floats, blocks: Shapes) -> float | None:
    """Return the two-sided permutation p-value; None if nothing can be exchanged.

    It is the share of exchanges that correlate at least as strongly. If there are few exchanges, all are tried; else a
    seeded sample, to which the observed order is added.

    Args:
        name: ``pearson``, ``spearman`` or ``kendall``.
        x: The first evaluator's numbers.
        y: The second evaluator's numbers, which are exchanged.
        weights: The weight of each point.
        blocks: The exchangeable points; see `exchangeable_blocks`.

    >>> order = np.arange(4.0)
    >>> round(exchange_p("spearman", order, order, np.ones(4), exchangeable_blocks(list("abcd"))), 4)
    0.0833
    """
    count = prod(shape.count for shape in blocks)
    if count == 1:
        return None
    exact = count <= MAX_EXACT_EXCHANGES
    if name == "spearman":
        x, y = ranks(x)[0], ranks(y)[0]
    statistic = kendall if name == "kendall" else pearson
    seen = statistic(x, y, weights)[0]
    wide = total = 0
    for orders in _orders(blocks, len(x), exact):
        exchanged = statistic(x, y[orders], weights)
        wide += int((np.abs(exchanged) >= abs(seen) - NEAR).sum())
        total += int((~np.isnan(exchanged)).sum())
    return wide / total if exact else (wide + 1) / (total + 1)


def _orders(blocks: Shapes, n: int, exact: bool) -> Iterator[NDArray[np.intp]]:
    """Yield exchanged orders of the points, in batches."""
    step = max(1, MAX_NUMBERS_IN_MEMORY // n**2 if n <= 100 else MAX_NUMBERS_IN_MEMORY // n)
    generator = np.random.default_rng(SEED)
    if not exact:
        for start in range(0, RANDOM_EXCHANGES, step):
            orders = np.tile(np.arange(n), (min(step, RANDOM_EXCHANGES - start), 1))
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
    """A painter's best and worst place in 95% of the resamples."""

    low: int
    high: int

    @property
    def words(self) -> str:
        """The interval in words, such as ``1st`` or ``2nd to 4th``."""
        return ordinal(self.low) if self.low == self.high else f"{ordinal(self.low)} to {ordinal(self.high)}"

    def to_json(self) -> dict[str, int | str]:
        """Return ``{low, high, words}``."""
        return {"low": self.low, "high": self.high, "words": self.words}


def ordinal(place: int) -> str:
    """Return a place as an ordinal number.

    >>> [ordinal(place) for place in (1, 2, 3, 4, 11, 12, 21, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '21st', '113th']
    """
    ending = "th" if place % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(place % 10, "th")
    return f"{place}{ending}"


def rank_intervals(drawn: Mapping[str, Floats]) -> dict[str, RankInterval]:
    """Return each painter's best and worst place over joint resamples; the highest number has the first place.

    Painters with equal numbers share a range of places: each could have the best or the worst of them.

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
    places = {}
    for name, row in zip(names, table, strict=True):
        # Sums of the same numbers in a different order may differ in the last bits.
        near = 1e-9 * np.maximum(1.0, np.abs(row))
        best = 1 + (table > row + near).sum(axis=0)
        worst = (table >= row - near).sum(axis=0)
        low = np.percentile(best, 2.5, method="inverted_cdf")
        high = np.percentile(worst, 97.5, method="inverted_cdf")
        places[name] = RankInterval(int(low), int(high))
    return places


def spearman_spread(value: float, first: Floats, second: Floats) -> tuple[float | None, float | None]:
    """Return the 95% interval of a Spearman correlation from resamples: one row per resample, one column per painter.

    >>> spearman_spread(1.0, np.array([[1.0, 2.0, 3.0]] * 4), np.array([[2.0, 4.0, 6.0]] * 4))
    (1.0, 1.0)
    """
    # The number of questions is unknown here, so plain percentiles are used.
    spread = interval(value, spearman(first.round(9), second.round(9)).round(12), RESAMPLES)
    return spread.low, spread.high


def rank_agreement(first: Mapping[str, float | None], second: Mapping[str, float | None]) -> dict[str, Any]:
    """Compare the order of the painters that two judges (or exams) have in common.

    Args:
        first: Painter -> the score under the first judge.
        second: Painter -> the score under the second judge.

    Returns:
        ``painters`` (their number), ``spearman`` and ``kendall`` as `Measure`, and ``shift``: the mean of the second
        scores minus the mean of the first, or None without a common painter.

    >>> found = rank_agreement({"x": 0.5, "y": 0.3}, {"x": 0.6, "y": 0.4})
    >>> found["kendall"].value, round(found["shift"], 2)
    (1.0, 0.1)
    """
    common = [name for name in sorted(first) if known(first[name]) and known(second.get(name))]
    x, y = (np.array([side[name] for name in common], dtype=np.float64) for side in (first, second))
    body: dict[str, Any] = {"painters": len(common)}
    for name in ("spearman", "kendall"):
        value = float(STATISTICS[name](x, y, None)[0]) if len(common) > 1 else np.nan
        reason = "an order needs two" if len(common) < 2 else "all have the same score"
        body[name] = Measure(None, len(common), reason) if np.isnan(value) else Measure(round(value, 12), len(common))
    return body | {"shift": float((y - x).mean()) if common else None}
