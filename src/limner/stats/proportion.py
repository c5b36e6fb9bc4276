"""Proportions: how sure a share of yes and no is."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

from .kinds import Interval


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
        return Interval(None, None, None, 0)
    z, share = NormalDist().inv_cdf((1 + level) / 2), hits / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if hits == 0 else middle - half
    high = 1.0 if hits == n else middle + half
    return Interval(share, low, high, n)
