"""The seeded bootstrap: whole clusters (questions with all they have) are drawn anew."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .kinds import RESAMPLES, SEED, Derive, Floats, Interval, Parts

LARGEST = 4_000_000
"""How many weights are held in memory at a time."""


def ratios(parts: Parts) -> dict[str, float]:
    """The sum of the numerators over the sum of the denominators, where there is any.

    >>> ratios({"x": (np.array([1.0, 2.0]), np.array([1.0, 1.0])), "y": (np.zeros(2), np.zeros(2))})
    {'x': 1.5}
    """
    return {name: float(tops.sum() / bottoms.sum()) for name, (tops, bottoms) in parts.items() if bottoms.any()}


def spreads(many: Sequence[Parts], derive: Derive = dict, resamples: int = RESAMPLES) -> list[dict[str, Floats]]:
    """For each of several sets of parts over the same clusters: every number in every resample.

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
    generator = np.random.default_rng(SEED)
    step = max(1, min(resamples, LARGEST // max(1, size)))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        weights = generator.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64)
        for place, parts in enumerate(many):
            if not parts:
                continue
            means = {}
            for name, (tops, bottoms) in parts.items():
                below = weights @ bottoms
                means[name] = np.divide(weights @ tops, below, out=np.full(count, np.nan), where=below > 0)
            for name, values in derive(means).items():
                drawn[place].setdefault(name, []).append(values)
    return [{name: np.concatenate(values) for name, values in one.items()} for one in drawn]


def interval(value: float, spread: Floats, n: int) -> Interval:
    """The 95% percentile interval of a spread, around the number it is for.

    >>> interval(0.5, np.linspace(0, 1, 101), 8)
    Interval(value=0.5, low=0.025, high=0.975, n=8)
    """
    spread = spread[~np.isnan(spread)]
    if not len(spread):
        return Interval(value, None, None, n)
    low, high = (float(edge) for edge in np.percentile(spread, [2.5, 97.5]))
    # The last bits of a sum depend on its order: an interval must still hold the number it is for.
    return Interval(value, min(low, value), max(high, value), n)


def bootstrap(parts: Parts, derive: Derive = dict, resamples: int = RESAMPLES) -> dict[str, Interval]:
    """Ratios of sums with intervals from resampling whole clusters (questions), seeded.

    Args:
        parts: Numerators and denominators per cluster; a denominator of 0 leaves the cluster out.
        derive: Turns the ratios into the final numbers; must work on arrays too.
        resamples: How many times the clusters are drawn anew.

    >>> ones = np.ones(4)
    >>> bootstrap({"x": (np.array([1.0, 1.0, 1.0, 1.0]), ones)})["x"]
    Interval(value=1.0, low=1.0, high=1.0, n=4)
    """
    if not parts:
        return {}
    (drawn,) = spreads([parts], derive, resamples)
    size = len(next(iter(parts.values()))[0])
    counted = {name: int((bottoms > 0).sum()) for name, (_, bottoms) in parts.items()}
    return {
        name: interval(value, drawn[name], counted.get(name, size))
        for name, value in derive(ratios(parts)).items()
        if not np.isnan(value)  # Derived from a number that is not there.
    }
