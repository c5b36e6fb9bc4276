"""Wilson's interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from limner.scoring.stats import Interval, wilson


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_as_scipy_has_it(case: tuple[int, int]) -> None:
    hits, n = case
    found, known = wilson(hits, n), binomtest(hits, n).proportion_ci(method="wilson")
    assert [found.low, found.high] == pytest.approx([known.low, known.high], abs=1e-9)
    assert found.value == hits / n


@pytest.mark.parametrize("share", [0.02, 0.3, 0.5])
def test_it_holds_the_truth_about_as_often_as_it_says(share: float) -> None:
    drawn = np.random.default_rng(5).binomial(30, share, 1500)
    ends = [wilson(int(hits), 30) for hits in drawn]
    assert np.mean([found.low <= share <= found.high for found in ends]) > 0.92  # type: ignore[operator]


def test_where_there_is_nothing() -> None:
    assert wilson(0, 0) == Interval(None, None, None, 0)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)
