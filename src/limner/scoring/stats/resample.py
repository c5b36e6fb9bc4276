"""The seeded bootstrap: whole clusters (questions with all their drawings) are resampled; intervals of scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from math import erfc, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .types import ALPHA, NEAR, RESAMPLES, SEED, Derive, Floats, Interval, Parts

Weights = NDArray[Any]
"""How often each cluster is drawn, one row for each resample."""
MIN_CLUSTERS = 5
"""Fewer clusters than this have no interval."""
MIN_VARIED = 10
"""A score that differs from its commonest value, 0 or the best, in fewer clusters than this is rare."""
HANDFUL = 3
"""Up to so many hits (or misses), Wilson's interval ends too near to them."""
LARGEST = 4_000_000
"""How many weights are held in memory at a time."""
MAX_CACHED_BYTES = 32 * 2**20
"""So many bytes of weights are kept for the next time."""
FEW_WEIGHTS = 2**18
"""Up to so many are kept as they are multiplied, with eight bytes each; more of them with one."""
AT_ONCE = LARGEST // 16
"""So many are drawn at a time."""
NEAR_BY = 2**17
"""So many stay in a processor's cache while they are multiplied with one column after the other."""


def ratios(parts: Parts) -> dict[str, float]:
    """Return the sum of the numerators over the sum of the denominators; NaN where the latter is zero.

    >>> ratios({"x": (np.array([1.0, 2.0]), np.array([1.0, 1.0])), "y": (np.zeros(2), np.zeros(2))})
    {'x': 1.5}
    """
    return {name: float(tops.sum() / bottoms.sum()) for name, (tops, bottoms) in parts.items() if bottoms.any()}


def spreads(many: Sequence[Parts], derive: Derive = dict, resamples: int = RESAMPLES) -> list[dict[str, Floats]]:
    """Return for each of several sets of parts over the same clusters every number in every resample.

    All sets get the same resamples, so that their numbers can be compared draw by draw. A resample that misses every
    cluster with a number has NaN for it.

    Raises:
        ValueError: The sets have different numbers of clusters.
    """
    sizes = {len(tops) for parts in many for tops, _ in parts.values()}
    if len(sizes) > 1:
        raise ValueError(f"sets of parts over {sorted(sizes)} clusters cannot be drawn together")
    if not sizes:
        return [{} for _ in many]
    (size,) = sizes
    drawn: list[dict[str, list[Floats]]] = [{} for _ in many]
    for weights in _weights(size, resamples):
        count = len(weights)
        for place, parts in enumerate(many):
            if not parts:
                continue
            # Most scores of an exam have the same denominators.
            distinct = {bottoms.tobytes(): bottoms for _, bottoms in parts.values()}
            sums = _products(weights, [*(tops for tops, _ in parts.values()), *distinct.values()])
            under, means = dict(zip(distinct, sums[len(parts) :], strict=True)), {}
            for (name, (_, bottoms)), above in zip(parts.items(), sums[: len(parts)], strict=True):
                below = under[bottoms.tobytes()]
                means[name] = np.divide(above, below, out=np.full(count, np.nan), where=below > 0)
            for name, values in derive(means).items():
                drawn[place].setdefault(name, []).append(values)
    return [{name: np.concatenate(values) for name, values in one.items()} for one in drawn]


def _products(weights: Weights, columns: Sequence[Floats]) -> list[Floats]:
    """Return the weights times each column, to the bit: a few rows at a time, so that memory is read only once."""
    products = [np.empty(len(weights)) for _ in columns]
    # In fours, as the products are computed: other steps would change last bits.
    step = 4 * max(1, NEAR_BY // max(1, weights.shape[1]) // 4)
    for at in range(0, len(weights), step):
        rows = weights[at : at + step].astype(np.float64, copy=False)
        for column, out in zip(columns, products, strict=True):
            np.dot(rows, column, out=out[at : at + step])
    return products


_kept: OrderedDict[tuple[int, int], list[Weights]] = OrderedDict()
"""The weights of some sizes, the last used last: to draw them takes many times longer than to read them."""


def _weights(size: int, resamples: int) -> Iterator[Weights]:
    """Yield how often each cluster is drawn in each resample: always the same, in bounded blocks."""
    key = size, resamples
    if key in _kept:
        _kept.move_to_end(key)
        yield from _kept[key]
        return
    kept: list[Weights] | None = [] if size * resamples <= MAX_CACHED_BYTES else None
    for block in _drawn(size, resamples):
        if kept is not None:
            kept.append(block)
        yield block
    if kept is not None:
        _kept[key] = kept
        while sum(block.nbytes for blocks in _kept.values() for block in blocks) > MAX_CACHED_BYTES:
            _kept.popitem(last=False)


def _drawn(size: int, resamples: int) -> Iterator[Weights]:
    generator = np.random.default_rng(SEED)
    step = max(1, min(resamples, LARGEST // max(1, size)))
    few, chances = max(1, AT_ONCE // max(1, size)), np.full(size, 1 / size)
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        block: Weights = np.empty((count, size), dtype=np.float64 if size * resamples <= FEW_WEIGHTS else np.uint8)
        for at in range(0, count, few):
            counts = generator.multinomial(size, chances, size=min(few, count - at))
            if block.dtype == np.uint8 and counts.max(initial=0) > 255:  # No cluster is ever drawn that often.
                block = block.astype(np.float64)
            block[at : at + few] = counts
        yield block


def interval(value: float, spread: Floats, n: int) -> Interval:
    """Return the 95% interval of a spread, around the number it is for; fewer than `MIN_CLUSTERS` clusters have none.

    A percentile interval of few clusters is too narrow; the percentiles are moved outwards as far as Student's t goes
    beyond the normal (Hesterberg's expanded percentiles), which matters below about 50 clusters.

    >>> found = interval(0.5, np.linspace(0, 1, 100001), 8)
    >>> round(found.low, 3), round(found.high, 3)
    (0.006, 0.994)
    >>> interval(0.5, np.linspace(0, 1, 101), 4)
    Interval(value=0.5, low=None, high=None, n=4)
    """
    spread = spread[~np.isnan(spread)]
    if not len(spread) or n < MIN_CLUSTERS:
        return Interval(value, None, None, n)
    tail = 100 * expanded_tail(n)
    low, high = (float(edge) for edge in np.percentile(spread, [tail, 100 - tail]))
    # The last bits of a sum depend on its order: an interval must still hold the number it is for.
    return Interval(value, min(low, value), max(high, value), n)


def score_interval(
    value: float, spread: Floats, top: float | None, part: tuple[Floats, Floats] | None, n: int
) -> Interval:
    """Return the interval of a score between 0 and `top`, which has width even where all clusters agree.

    Shares of yes and no get Wilson's interval, and so does a score that is 0 (or `top`) for most clusters and something
    else for fewer than `MIN_VARIED`: no resampling shows how rare the rare is. Others get the percentiles of the
    resamples, and where it reaches further, Wilson's interval of a share that spreads as they do: percentiles of few
    clusters reach too little towards the far end of a skewed score.

    Args:
        value: The score.
        spread: The score in every resample.
        top: The best value; None where it is not known.
        part: Numerators and denominators per cluster, where the score is their plain ratio.
        n: How many clusters it rests on.

    >>> none_of_20 = np.zeros(20), np.ones(20)
    >>> round(score_interval(0.0, np.zeros(9), 100, none_of_20, 20).high, 1)
    16.1
    """
    around = interval(value, spread, n)
    if top is None or around.low is None or around.high is None:
        return around
    share = min(max(value / top, 0.0), 1.0)
    if around.high - around.low <= NEAR * top or (part is not None and _rare(part, top, n)):
        low, high = _few_hits(share, n)
    else:
        variance = float(np.nanvar(spread / top)) * n / (n - 1)
        low, high = wilson_ends(share, max(share * (1 - share) / variance, 1.0), student(n))
        low, high = min(low, around.low / top), max(high, around.high / top)
    return Interval(value, min(low * top, value), max(high * top, value), n)


def _rare(part: tuple[Floats, Floats], top: float, n: int) -> bool:
    """Return whether clusters are all or nothing, or nearly all of them the same."""
    tops, bottoms = (side[part[1] > 0] for side in part)
    shares = tops / bottoms / top
    away = [int((~np.isclose(shares, end)).sum()) for end in (0, 1)]
    return min(away) < min(MIN_VARIED, n / 2) or bool(np.all(np.isclose(shares, 0) | np.isclose(shares, 1)))


def _few_hits(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval; up to `HANDFUL` hits or misses with Poisson's end (Brown, Cai and DasGupta, 2001)."""
    from scipy.special import gammaincinv

    ends = wilson(share * n, n)
    assert ends.low is not None
    assert ends.high is not None
    low, high = ends.low, ends.high
    if 0 < share * n <= HANDFUL:
        low = min(low, float(gammaincinv(share * n, ALPHA)) / n)
    if 0 < (1 - share) * n <= HANDFUL:
        high = max(high, 1 - float(gammaincinv((1 - share) * n, ALPHA)) / n)
    return low, high


def bootstrap(
    parts: Parts, derive: Derive = dict, tops: Mapping[str, float] | None = None, resamples: int = RESAMPLES
) -> dict[str, Interval]:
    """Return ratios of sums with intervals from resampling whole clusters (questions), seeded.

    Args:
        parts: Numerators and denominators per cluster; a denominator of 0 leaves the cluster out.
        derive: Turns the ratios into the final numbers; must work on arrays too.
        tops: The best values of the numbers that have one: they are scores; see `score_interval`.
        resamples: How many times the clusters are resampled.

    >>> bootstrap({"x": (np.ones(5), np.ones(5))})["x"]
    Interval(value=1.0, low=1.0, high=1.0, n=5)
    >>> round(bootstrap({"x": (np.ones(5), np.ones(5))}, tops={"x": 1.0})["x"].low, 3)
    0.566
    """
    if not parts:
        return {}
    (drawn,) = spreads([parts], derive, resamples)
    size = len(next(iter(parts.values()))[0])
    counted = {name: int((bottoms > 0).sum()) for name, (_, bottoms) in parts.items()}
    return {
        name: score_interval(
            float(value), drawn[name], (tops or {}).get(name), parts.get(name), counted.get(name, size)
        )
        for name, value in derive(ratios(parts)).items()
        if not np.isnan(value)  # Derived from a number that is not there.
    }


def resampled(values: Floats, statistic: Callable[[Floats], float]) -> Interval:
    """Return a statistic of one number per cluster, with its interval from resampling the clusters.

    >>> found = resampled(np.arange(9.0), lambda drawn: float(np.median(drawn)))
    >>> found.value, found.n
    (4.0, 9)
    """
    n = len(values)
    if not n:
        return Interval()
    generator = np.random.default_rng(SEED)
    spread = np.array([statistic(values[generator.integers(0, n, n)]) for _ in range(RESAMPLES)])
    return interval(float(statistic(values)), spread, n)


@lru_cache(maxsize=1024)
def student(n: float, p: float = 1 - ALPHA / 2) -> float:
    """Return the quantile p of Student's t for means of n clusters; by default 95% stay within it.

    >>> round(student(2), 3), round(student(30), 3)
    (12.706, 2.045)
    """
    # Only here: commands that need no interval start faster.
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, p))


@lru_cache(maxsize=1024)
def expanded_tail(n: int) -> float:
    """Return the tail beside a percentile interval of n clusters, widened as far as Student's t exceeds the normal.

    >>> round(expanded_tail(10**6), 4), round(expanded_tail(8), 4)
    (0.025, 0.0057)
    """
    return erfc(student(n) * sqrt(n / (n - 1)) / sqrt(2)) / 2


def wilson(hits: float, n: int, level: float = 0.95) -> Interval:
    """Return a share with its Wilson interval, which has width even where all or none are hits.

    >>> found = wilson(8, 10)
    >>> [round(number, 3) for number in (found.value, found.low, found.high)]
    [0.8, 0.49, 0.943]
    >>> round(wilson(0, 13).high, 3)
    0.228
    >>> wilson(0, 0)
    Interval(value=None, low=None, high=None, n=0)

    Raises:
        ValueError: There are fewer than no hits, or more than cases.
    """
    if not 0 <= hits <= n:
        raise ValueError(f"{hits} of {n} is not a share")
    if n == 0:
        return Interval()
    return Interval(hits / n, *wilson_ends(hits / n, n, NormalDist().inv_cdf((1 + level) / 2)), n)


def wilson_ends(share: float, n: float, z: float) -> tuple[float, float]:
    """Return both ends of Wilson's interval of a share of n cases, z standard errors wide on either side."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half
