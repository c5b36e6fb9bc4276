"""Numbers with intervals or reasons, and the seeded bootstrap, which resamples whole clusters (questions)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import erfc, isnan, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20_250_914
ALPHA = 0.05
NEAR = 1e-9
"""The tolerance within which numbers count as equal, because the last bits of a sum depend on its order."""
Floats = NDArray[np.float64]
Parts = Mapping[str, tuple[Floats, Floats]]
"""Name -> numerators and denominators, one of each per cluster."""
Derive = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""A function that turns ratios into the final numbers; it works on numbers and on arrays."""


class Plain:
    """A result that can be converted to plain JSON field by field."""

    def to_json(self) -> dict[str, Any]:
        """Return the fields by name, each as plain JSON."""
        return {name: _plain(value) for name, value in vars(self).items()}


def _plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Interval(Plain):
    """A number with its 95% interval and the number of questions behind it; with too few, there is no interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


@dataclass(frozen=True)
class Measure(Plain):
    """A number and the number of cases behind it; if there is no number, `reason` says why."""

    value: float | None
    n: int
    reason: str | None = None


def known(value: float | None) -> bool:
    """Return whether a value is neither None nor NaN.

    >>> known(0.0), known(None), known(float("nan"))
    (True, False, False)
    """
    return value is not None and not isnan(value)


def as_parts(values: Iterable[float | None], name: str = "value") -> dict[str, tuple[Floats, Floats]]:
    """Return the parts of the plain mean of one number per cluster; None and NaN leave the cluster out.

    >>> tops, bottoms = as_parts([1.0, None, 3.0])["value"]
    >>> tops.tolist(), bottoms.tolist()
    ([1.0, 0.0, 3.0], [1.0, 0.0, 1.0])
    """
    listed = list(values)
    tops = np.array([value if value is not None and known(value) else 0.0 for value in listed], dtype=np.float64)
    return {name: (tops, np.array([float(known(value)) for value in listed]))}


Weights = NDArray[Any]
"""The number of times that each cluster is drawn, one row per resample."""
MIN_CLUSTERS = 5
"""The minimum number of clusters for an interval."""
MIN_VARIED = 10
"""The minimum number of clusters that must differ from the commonest value (0 or the best); with fewer, see `_rare`."""
HANDFUL = 3
"""The number of hits (or misses) up to which Wilson's interval is too short on their side."""
LARGEST = 4_000_000
"""The maximum number of numbers computed at a time."""
AT_ONCE = LARGEST // 16
"""The number of weights drawn at a time."""
NEAR_BY = 2**17
"""The number of weights that fit in a processor's cache while they are multiplied with all columns."""


def ratios(parts: Parts) -> dict[str, float]:
    """Return the sum of the numerators over the sum of the denominators; a sum of zero leaves the number out.

    >>> ratios({"x": (np.array([1.0, 2.0]), np.array([1.0, 1.0])), "y": (np.zeros(2), np.zeros(2))})
    {'x': 1.5}
    """
    return {name: float(tops.sum() / bottoms.sum()) for name, (tops, bottoms) in parts.items() if bottoms.any()}


def spreads(many: Sequence[Parts], derive: Derive = dict, resamples: int = RESAMPLES) -> list[dict[str, Floats]]:
    """Return every number in every resample, for each of several sets of parts over the same clusters.

    All sets get the same resamples, so that their numbers are paired. A number is NaN in a resample that has none of
    the clusters with this number.

    Raises:
        ValueError: The sets have different numbers of clusters.
    """
    sizes = {len(tops) for parts in many for tops, _ in parts.values()}
    if len(sizes) > 1:
        raise ValueError(f"sets of parts over {sorted(sizes)} clusters cannot be drawn together")
    if not sizes:
        return [{} for _ in many]
    (size,) = sizes
    weights, drawn = _weights(size, resamples), list[dict[str, Floats]]()
    for parts in many:
        # Distinct denominators only: most scores of an exam share theirs.
        distinct = {bottoms.tobytes(): bottoms for _, bottoms in parts.values()}
        sums = _products(weights, [*(tops for tops, _ in parts.values()), *distinct.values()])
        under, means = dict(zip(distinct, sums[len(parts) :], strict=True)), {}
        for (name, (_, bottoms)), above in zip(parts.items(), sums[: len(parts)], strict=True):
            below = under[bottoms.tobytes()]
            means[name] = np.divide(above, below, out=np.full(resamples, np.nan), where=below > 0)
        drawn.append(dict(derive(means)) if parts else {})
    return drawn


def _products(weights: Weights, columns: Sequence[Floats]) -> list[Floats]:
    """Return the exact products of the weights with each column, a few rows at a time to read memory only once."""
    products = [np.empty(len(weights)) for _ in columns]
    # A multiple of four rows, as products are computed in fours; other steps would change the last bits.
    step = 4 * max(1, NEAR_BY // max(1, weights.shape[1]) // 4)
    for at in range(0, len(weights), step):
        rows = weights[at : at + step].astype(np.float64)
        for column, out in zip(columns, products, strict=True):
            np.dot(rows, column, out=out[at : at + step])
    return products


@lru_cache(maxsize=8)  # Drawing them is many times slower than reading them.
def _weights(size: int, resamples: int) -> Weights:
    """Return how often each cluster is drawn in each resample; the seed makes them reproducible."""
    generator, chances, step = np.random.default_rng(SEED), np.full(size, 1 / size), max(1, AT_ONCE // max(1, size))
    weights = np.empty((resamples, size), dtype=np.uint8)
    for at in range(0, resamples, step):
        # One cluster in 256 draws or more practically never happens.
        weights[at : at + step] = generator.multinomial(size, chances, size=min(step, resamples - at))
    return weights


def interval(value: float, spread: Floats, n: int) -> Interval:
    """Return a number with its 95% interval from a spread; there is none for fewer than `MIN_CLUSTERS` clusters.

    A percentile interval of few clusters is too narrow. The percentiles are moved outwards as far as Student's t
    exceeds the normal distribution (Hesterberg's expanded percentiles), which matters below about 50 clusters.

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
    # The last bits of a sum depend on its order, but an interval must always contain its number.
    return Interval(value, min(low, value), max(high, value), n)


def score_interval(
    value: float, spread: Floats, top: float | None, part: tuple[Floats, Floats] | None, n: int
) -> Interval:
    """Return the interval of a score between 0 and `top`, which has width even if all clusters agree.

    Shares of yes and no get Wilson's interval. So does a score that is 0 (or `top`) for all but fewer than
    `MIN_VARIED` clusters, because resampling does not show how rare the other values are. Other scores get the
    percentiles of the resamples, extended to Wilson's interval of a share with the same variance if that is wider:
    percentiles of few clusters do not reach far enough into the long tail of a skewed score.

    Args:
        value: The score.
        spread: The score in every resample.
        top: The best value; None if unknown.
        part: Numerators and denominators per cluster, if the score is their plain ratio.
        n: The number of clusters.

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
    """Return whether all clusters have 0 or the best value, or nearly all clusters have 0, or nearly all the best."""
    tops, bottoms = (side[part[1] > 0] for side in part)
    shares = tops / bottoms / top
    away = [int((~np.isclose(shares, end)).sum()) for end in (0, 1)]
    return min(away) < min(MIN_VARIED, n / 2) or bool(np.all(np.isclose(shares, 0) | np.isclose(shares, 1)))


def _few_hits(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's interval, with Poisson's limit up to `HANDFUL` hits or misses (Brown, Cai and DasGupta, 2001)."""
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
    """Return ratios of sums, with intervals from seeded resampling of whole clusters (questions).

    Args:
        parts: Numerators and denominators per cluster; a denominator of 0 leaves the cluster out.
        derive: Turns the ratios into the final numbers; must also work on arrays.
        tops: The best values of numbers that have one and are treated as scores; see `score_interval`.
        resamples: The number of resamples.

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
        if not np.isnan(value)  # NaN if derived from a missing number.
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
    """Return the quantile p of Student's t for means of n clusters; by default, that of a 95% interval.

    >>> round(student(2), 3), round(student(30), 3)
    (12.706, 2.045)
    """
    # Imported here so that commands without intervals start faster.
    from scipy.special import stdtrit

    return float(stdtrit(n - 1, p))


def student_p(t: float, n: float) -> float:
    """Return the two-sided p-value of a number of standard errors, by Student's t for n clusters.

    >>> round(student_p(2.045, 30), 3)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(n - 1, -abs(t)))


@lru_cache(maxsize=1024)
def expanded_tail(n: int) -> float:
    """Return the tail of an expanded percentile interval of n clusters; see `interval`.

    >>> round(expanded_tail(10**6), 4), round(expanded_tail(8), 4)
    (0.025, 0.0057)
    """
    return erfc(student(n) * sqrt(n / (n - 1)) / sqrt(2)) / 2


def wilson(hits: float, n: int, level: float = 0.95) -> Interval:
    """Return a share with its Wilson interval, which has width even if all or none are hits.

    >>> found = wilson(8, 10)
    >>> [round(number, 3) for number in (found.value, found.low, found.high)]
    [0.8, 0.49, 0.943]
    >>> round(wilson(0, 13).high, 3)
    0.228
    >>> wilson(0, 0)
    Interval(value=None, low=None, high=None, n=0)

    Raises:
        ValueError: The number of hits is negative or exceeds the number of cases.
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
