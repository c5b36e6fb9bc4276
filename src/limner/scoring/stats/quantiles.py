"""Quantiles that every interval needs: to load scipy for them takes longer than to compute all of a table's. Pure."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, erfc, exp, lgamma, log, pi, sin, sqrt
from sys import float_info

from .types import ALPHA

CLOSE = 1e-14
"""Newton's steps end when they change no more than this share."""
STEPS = 60
MANY = 1000
"""From so many degrees of freedom on, the first terms of a series give Student's t to the last digits."""
NORMAL = 1.959963984540054
"""What 95% of a normal variable stay within."""


@lru_cache(maxsize=1024)
def student(n: int) -> float:
    """Student's t that 95% of means of n clusters stay within.

    >>> round(student(2), 3), round(student(30), 3)
    (12.706, 2.045)
    """
    degrees, z = n - 1, NORMAL
    if degrees > MANY:  # Abramowitz and Stegun, 26.7.5
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + sum(term / float(degrees) ** power for power, term in enumerate(terms, 1))
    at = 1.96 + 2.4 / degrees if degrees > 2 else {1: 12.7, 2: 4.3}[degrees]
    peak = exp(lgamma((degrees + 1) / 2) - lgamma(degrees / 2)) / sqrt(degrees * pi)
    for _ in range(STEPS):
        density = 2 * peak * (1 + at * at / degrees) ** (-(degrees + 1) / 2)
        step = (_inside(at, degrees) - (1 - ALPHA)) / density
        at -= step
        if abs(step) <= CLOSE * at:
            break
    return at


def _inside(t: float, degrees: int) -> float:
    """How likely Student's variable stays within t on both sides (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = atan(t / sqrt(degrees))
    square, term, total = cos(angle) ** 2, 1.0, 0.0
    odd = degrees % 2
    if odd:
        term = cos(angle)
    for k in range(2 + odd, degrees + 1, 2):
        total += term
        term *= square * (k - 1) / k
        if term <= total * 1e-17:
            break
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


@lru_cache(maxsize=1024)
def expanded_tail(n: int) -> float:
    """The tail beside a percentile interval of n clusters, moved outwards as far as Student's t goes beyond the normal.

    >>> round(expanded_tail(10**6), 4), round(expanded_tail(8), 4)
    (0.025, 0.0057)
    """
    return erfc(student(n) * sqrt(n / (n - 1)) / sqrt(2)) / 2


@lru_cache(maxsize=1024)
def gamma_quantile(shape: float, p: float) -> float:
    """Below this a gamma variable of this shape stays with chance p, for small p and shapes of a few.

    >>> round(gamma_quantile(1.0, 0.05), 6)
    0.051293
    """
    at: float = (p * exp(lgamma(shape + 1))) ** (1 / shape)
    if at < float_info.min:
        # A share that is 1 but for rounding has a shape of nearly 0, and a quantile too small for a float.
        return 0.0
    for _ in range(STEPS):
        total = term = 1.0
        k = 0
        while term > total * 1e-17:
            k += 1
            term *= at / (shape + k)
            total += term
        below = exp(shape * log(at) - at - lgamma(shape + 1)) * total
        density = exp((shape - 1) * log(at) - at - lgamma(shape))
        step = (below - p) / density
        at = max(at - step, at / 2)
        if abs(step) <= CLOSE * at:
            break
    return at
