"""Weights that go best with a rating, against other ways to find them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.stats.weights import fit_weights, pearson, tenths

SEEDS = st.integers(0, 500)


def rated(seed: int, weights: tuple[float, ...] = (0.7, 0.1, 0.1, 0.1), n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    table = generator.random((n, len(weights)))
    return table, 1 + 9 * table @ np.array(weights) + generator.normal(0, 0.5, n)


@pytest.mark.slow
@given(SEEDS)
def test_scipy_climbs_to_the_same_weights(seed: int) -> None:
    """The correlation itself, climbed by another method over the simplex."""
    from scipy.optimize import minimize
    from scipy.stats import pearsonr

    table, rating = rated(seed)
    found = fit_weights(table, rating)  # type: ignore[arg-type]
    done: Any = minimize(  # type: ignore[call-overload]
        lambda w: -pearsonr(table @ w, rating).statistic, [0.25] * 4, bounds=[(0, 1)] * 4, method="SLSQP",
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1}, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert pearson(table @ np.array(found.exact), rating) >= -done.fun - 1e-9
    assert list(found.exact) == pytest.approx(list(done.x), abs=5e-3)


@pytest.mark.slow
def test_statsmodels_finds_the_same_where_no_weight_is_pressed_to_nought() -> None:
    import statsmodels.api as sm

    table, rating = rated(3)
    each = np.random.default_rng(0).uniform(0.5, 4, len(rating))
    theirs = sm.WLS(rating, sm.add_constant(table), weights=each).fit().params[1:]
    assert (theirs > 0).all()
    assert list(fit_weights(table, rating, each).exact) == pytest.approx(list(theirs / theirs.sum()), abs=1e-9)  # type: ignore[arg-type]


@given(SEEDS)
def test_rounded_weights_are_the_best_of_all_tenths(seed: int) -> None:
    table, rating = rated(seed, (0.5, 0.3, 0.2), 30)
    found = fit_weights(table, rating)  # type: ignore[arg-type]
    best = max(
        np.corrcoef(table @ np.array([a, b, 10 - a - b]) / 10, rating)[0, 1]
        for a, b in product(range(11), repeat=2)
        if a + b <= 10
    )
    assert np.corrcoef(table @ np.array(found.rounded), rating)[0, 1] == pytest.approx(best, abs=1e-9)
    assert sum(found.rounded) == pytest.approx(1)


def test_the_papers_weights_come_back() -> None:
    table, rating = rated(11, n=250)
    assert fit_weights(table, rating).rounded == (0.7, 0.1, 0.1, 0.1)  # type: ignore[arg-type]


def test_a_score_that_goes_against_the_rating_weighs_nothing() -> None:
    table, rating = rated(5, (0.8, 0.3, -0.1))
    assert fit_weights(table, rating).exact[2] == 0  # type: ignore[arg-type]


def test_why_there_are_none() -> None:
    assert "too few" in str(fit_weights([[1, 0], [0, 1]], [1, 2]).reason)
    assert "no score goes" in str(fit_weights([[0, 1], [1, 0], [0.5, 0.5], [1, 0]], [3, 3, 3, 3]).reason)


def test_weighted_pearson_is_that_of_repeated_cases() -> None:
    first, second = np.array([1.0, 2, 4, 3]), np.array([2.0, 1, 5, 2])
    counts = np.array([1, 2, 3, 1])
    plain = np.corrcoef(np.repeat(first, counts), np.repeat(second, counts))[0, 1]
    assert pearson(first, second, counts.astype(float)) == pytest.approx(plain)
    assert len(tenths(4)) == 286
