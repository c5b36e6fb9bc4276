"""How sure a number is. Pure functions over arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20_250_914
Parts = Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
"""Per name: numerators and denominators, one entry per cluster."""


@dataclass(frozen=True)
class Interval:
    """A number with its 95% bootstrap interval and how many questions stand behind it."""

    value: float | None
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, float | int | None]:
        """``{value, low, high, n}``."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def ratios(parts: Parts) -> dict[str, float]:
    """The sum of the numerators over the sum of the denominators, where there is any.

    >>> ratios({"x": (np.array([1.0, 2.0]), np.array([1.0, 1.0])), "y": (np.zeros(2), np.zeros(2))})
    {'x': 1.5}
    """
    return {name: float(tops.sum() / bottoms.sum()) for name, (tops, bottoms) in parts.items() if bottoms.any()}


def bootstrap(
    parts: Parts, derive: Callable[[Mapping[str, Any]], Mapping[str, Any]] = dict, resamples: int = RESAMPLES
) -> dict[str, Interval]:
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
    size = len(next(iter(parts.values()))[0])
    point = derive(ratios(parts))
    drawn: dict[str, list[NDArray[np.float64]]] = {}
    generator = np.random.default_rng(SEED)
    step = max(1, min(resamples, 4_000_000 // max(1, size)))
    for start in range(0, resamples, step):
        count = min(step, resamples - start)
        weights = generator.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64)
        means = {}
        for name, (tops, bottoms) in parts.items():
            below = weights @ bottoms
            # A resample that misses every cluster with this number has none.
            means[name] = np.divide(weights @ tops, below, out=np.full(count, np.nan), where=below > 0)
        for name, values in derive(means).items():
            drawn.setdefault(name, []).append(values)
    counted = {name: int((bottoms > 0).sum()) for name, (_, bottoms) in parts.items()}
    found = {}
    for name, value in point.items():
        if np.isnan(value):
            continue  # Derived from a number that is not there.
        spread = np.concatenate(drawn[name])
        spread = spread[~np.isnan(spread)]
        if not len(spread):
            found[name] = Interval(value, None, None, counted.get(name, size))
            continue
        low, high = (float(edge) for edge in np.percentile(spread, [2.5, 97.5]))
        # The last bits of a sum depend on its order: an interval must still hold the number it is for.
        found[name] = Interval(value, min(low, value), max(high, value), counted.get(name, size))
    return found
