"""Proportions: how sure a share of yes and no is."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from .types import Interval


def wilson(hits: float, n: int, level: float = 0.95) -> Interval:
    """A share with its Wilson interval, which has width even where all or none are hits.

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
        raise ValueError(f"{hits} of {n} is no share")
    if n == 0:
        return Interval()
    return Interval(hits / n, *wilson_ends(hits / n, n, NormalDist().inv_cdf((1 + level) / 2)), n)


def wilson_ends(share: float, n: float, z: float) -> tuple[float, float]:
    """Both ends of Wilson's interval of a share of n cases, z standard errors wide to either side."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return 0.0 if share == 0 else middle - half, 1.0 if share == 1 else middle + half
