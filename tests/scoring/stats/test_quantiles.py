from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaincinv, ndtr, stdtrit

from limner.scoring.stats.quantiles import MANY, expanded_tail, gamma_quantile, student

SAME = 1e-12


@given(st.integers(2, 20_000) | st.sampled_from([2, 3, 4, MANY, MANY + 1, MANY + 2, 10**6, 10**9]))
def test_students_t_is_scipys(n: int) -> None:
    assert student(n) == pytest.approx(float(stdtrit(n - 1, 0.975)), rel=SAME)


@given(st.integers(2, 20_000))
def test_the_tail_is_what_the_normal_leaves_beyond_students_t(n: int) -> None:
    assert expanded_tail(n) == pytest.approx(float(ndtr(-stdtrit(n - 1, 0.975) * sqrt(n / (n - 1)))), rel=SAME)


@given(st.floats(0.01, 10.0), st.floats(0.001, 0.5))
def test_the_gamma_quantile_is_scipys(shape: float, p: float) -> None:
    assert gamma_quantile(shape, p) == pytest.approx(float(gammaincinv(shape, p)), rel=1e-11)


@pytest.mark.parametrize("shape", [1e-16, 1e-9, 0.0041, 0.0042])
def test_a_gamma_quantile_below_every_float_is_0(shape: float) -> None:
    assert gamma_quantile(shape, 0.05) == pytest.approx(float(gammaincinv(shape, 0.05)), abs=1e-300)
