"""The Fréchet distance between two sets of features: FID, where the features are Inception's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Features = NDArray[np.float64]


class Moments:
    """Mean and covariance of features that come one after another; only sums are kept."""

    def __init__(self) -> None:
        self.n = 0
        self._sum: Features | None = None
        self._products: Features | None = None

    def add(self, features: Features) -> None:
        """One image's features.

        Raises:
            ValueError: They are not as many as the others'.
        """
        row = np.asarray(features, dtype=np.float64)
        if self._sum is None or self._products is None:
            self._sum, self._products = np.zeros(len(row)), np.zeros((len(row), len(row)))
        if len(row) != len(self._sum):
            raise ValueError(f"{len(row)} features where {len(self._sum)} are wanted")
        self.n += 1
        self._sum += row
        self._products += np.outer(row, row)

    @property
    def dims(self) -> int:
        """How many features an image has."""
        return 0 if self._sum is None else len(self._sum)

    @property
    def mean(self) -> Features:
        """The mean."""
        assert self._sum is not None
        return self._sum / self.n

    @property
    def covariance(self) -> Features:
        """The covariance, over n - 1."""
        assert self._products is not None
        found: Features = (self._products - self.n * np.outer(self.mean, self.mean)) / (self.n - 1)
        return found


def frechet_distance(one: Moments, other: Moments) -> float:
    """``|m1 - m2|² + tr(S1 + S2 - 2 (S1 S2)^½)``; both sets need two images.

    >>> first, second = Moments(), Moments()
    >>> for x in (0.0, 2.0):
    ...     first.add(np.array([x])); second.add(np.array([x + 3]))
    >>> round(frechet_distance(first, second), 9)
    9.0
    """
    values, vectors = np.linalg.eigh(one.covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    # Symmetric, so that its eigenvalues are real even where a covariance is singular.
    between = np.linalg.eigvalsh(root @ other.covariance @ root)
    gap = one.mean - other.mean
    spread = np.trace(one.covariance) + np.trace(other.covariance) - 2 * np.sqrt(np.maximum(between, 0)).sum()
    # Below nought only by the last bits.
    return max(0.0, float(gap @ gap + spread))
