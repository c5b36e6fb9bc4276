"""The Fréchet distance, against scipy's matrix root and worked cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.evidence.metrics import Moments, frechet_distance


def moments(rows: np.ndarray) -> Moments:
    found = Moments()
    for row in rows:
        found.add(row)
    return found


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(8, 30))
def test_frechet_distance_matches_scipy_matrix_root(seed: int, dims: int, n: int) -> None:
    from scipy.linalg import sqrtm

    generator = np.random.default_rng(seed)
    one, other = (generator.normal(size=(n, dims)) @ generator.normal(size=(dims, dims)) for _ in range(2))
    gap = one.mean(axis=0) - other.mean(axis=0)
    first, second = np.cov(one.T), np.cov(other.T)
    expected = gap @ gap + np.trace(first + second - 2 * np.real(sqrtm(first @ second)))
    assert frechet_distance(moments(one), moments(other)) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_distance_to_itself_is_zero_with_singular_covariance() -> None:
    rows = np.random.default_rng(1).normal(size=(4, 9))
    assert frechet_distance(moments(rows), moments(rows)) == pytest.approx(0, abs=1e-6)


def test_one_dimensional_distance_matches_manual_calculation() -> None:
    """Means 1 and 4, deviations sqrt 2 and 2 sqrt 2: 9 + 2 + 8 - 2 * 4."""
    assert frechet_distance(moments(np.array([[0.0], [2]])), moments(np.array([[2.0], [6]]))) == pytest.approx(11)


def test_features_of_other_length_are_rejected() -> None:
    with pytest.raises(ValueError, match="3 features instead of 2"):
        moments(np.ones((1, 2))).add(np.ones(3))
