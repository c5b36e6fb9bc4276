"""Weights of several scores that make their sum go with people's overall rating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np

from .types import Floats, Plain

STEP = 10
"""Round weights are tenths."""


@dataclass(frozen=True)
class FittedWeights(Plain):
    """Weights that add to 1 and are never negative.

    Attributes:
        exact: Those whose weighted sum has the highest Pearson correlation with the ratings.
        rounded: The best of all weights in whole tenths.
        n: How many drawings they rest on.
        reason: Why there are none.
    """

    exact: tuple[float, ...]
    rounded: tuple[float, ...]
    n: int
    reason: str | None = None


def pearson(first: Floats, second: Floats, weights: Floats | None = None) -> float:
    """Pearson's correlation, each case with its weight; NaN where one side does not vary.

    >>> round(pearson(np.array([1.0, 2, 3]), np.array([2.0, 4, 7])), 4)
    0.9934
    """
    x, y, each = (np.asarray(side, dtype=np.float64) for side in (first, second, np.ones(len(first))))
    each = each if weights is None else weights
    x, y = (side - (each @ side) / each.sum() for side in (x, y))
    below = float(np.sqrt((each @ (x * x)) * (each @ (y * y))))
    return float(each @ (x * y)) / below if below > 1e-12 else float("nan")


def fit_weights(table: Sequence[Sequence[float]], rating: Sequence[float], each: Sequence[float] = ()) -> FittedWeights:
    """The weights under which the sum of the columns goes best with the rating.

    Among non-negative weights the highest correlation is that of the non-negative least squares fit of what is left
    when the means are taken away, whatever the scale of the rating.

    Args:
        table: One row per drawing, one column per score, all on one scale.
        rating: The overall rating of each drawing.
        each: How much each drawing counts; alike by default.

    >>> fit_weights([[0, 0], [1, 0], [0, 1], [1, 1]], [1, 4, 2, 5]).exact
    (0.75, 0.25)
    """
    from scipy.optimize import nnls

    x, y = np.array(table, dtype=np.float64), np.array(rating, dtype=np.float64)
    n, count = len(y), x.shape[1] if x.ndim == 2 else 0
    none = (float("nan"),) * count
    if n <= count:
        return FittedWeights(none, none, n, f"{n} drawings are too few for {count} weights")
    share = np.ones(n) / n if not len(each) else np.array(each) / np.sum(each)
    x, y = x - share @ x, y - share @ y
    found, _ = nnls(x * np.sqrt(share)[:, None], y * np.sqrt(share))
    if not found.sum() > 1e-12:
        return FittedWeights(none, none, n, "no score goes with the rating")
    best = max(tenths(count), key=lambda weights: _height(x, y, share, weights))
    return FittedWeights(tuple(round(float(w), 12) for w in found / found.sum()), best, n)


def _height(x: Floats, y: Floats, share: Floats, weights: Sequence[float]) -> float:
    value = pearson(x @ np.array(weights), y, share)
    return -2.0 if np.isnan(value) else round(value, 12)


def tenths(count: int) -> list[tuple[float, ...]]:
    """All ways to share 1 out among so many, in whole tenths.

    >>> tenths(2)[:3], len(tenths(4))
    ([(0.0, 1.0), (0.1, 0.9), (0.2, 0.8)], 286)
    """
    found = []
    for bars in combinations(range(STEP + count - 1), count - 1):
        ends = (-1, *bars, STEP + count - 1)
        found.append(tuple((b - a - 1) / STEP for a, b in pairwise(ends)))
    return found
