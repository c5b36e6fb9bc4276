"""Places and orders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from limner.scoring.stats import RankInterval, kendall, rank_agreement, rank_intervals, spearman, spearman_spread

TABLES = arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=st.integers(0, 5).map(float))
SCORES = st.lists(st.one_of(st.none(), st.floats(-5, 5), st.just(float("nan"))), max_size=8)


@given(TABLES)
def test_places_are_places(table: Any) -> None:
    drawn = {f"p{n}": row for n, row in enumerate(table)}
    found = rank_intervals(drawn)
    assert all(1 <= each.low <= each.high <= len(table) for each in found.values())
    assert min(each.low for each in found.values()) == 1
    assert max(each.high for each in found.values()) == len(table)
    assert rank_intervals(dict(reversed(drawn.items()))) == found


def test_a_painter_that_always_leads_is_first() -> None:
    generator = np.random.default_rng(2)
    drawn = {"a": generator.normal(5, 0.1, 500), "b": generator.normal(1, 1, 500), "c": generator.normal(1, 1, 500)}
    found = rank_intervals(drawn)
    assert found["a"].words == "1st"
    assert found["b"] == found["c"] == RankInterval(2, 3)
    assert found["b"].words == "2nd to 3rd"


def test_a_resample_without_a_number_is_left_out() -> None:
    drawn = {"a": np.array([1.0, np.nan, 1.0]), "b": np.array([2.0, 0.0, 2.0])}
    assert rank_intervals(drawn) == {"a": RankInterval(2, 2), "b": RankInterval(1, 1)}
    assert rank_intervals({"a": np.array([np.nan])}) == {}
    assert rank_intervals({}) == {}


@given(SCORES, st.randoms(use_true_random=False))
def test_correlations_do_not_depend_on_order(scores: list[float | None], random: Any) -> None:
    other = [None if score is None else -score for score in scores]
    order = random.sample(range(len(scores)), len(scores))
    for how in (spearman, kendall):
        found = how(scores, other)
        assert found == how([scores[n] for n in order], [other[n] for n in order]) == how(other, scores)
        assert found.value in (None, pytest.approx(-1.0))
        assert (found.value is None) == (found.reason is not None)


def test_correlations_by_hand() -> None:
    """Ten students, two subjects: the example most textbooks give for Spearman's coefficient, rho = 0.67."""
    english = [56, 75, 45, 71, 62, 64, 58, 80, 76, 61]
    maths = [66, 70, 40, 60, 65, 56, 59, 77, 67, 63]
    assert spearman(english, maths).value == pytest.approx(0.6727, abs=1e-4)
    assert kendall([1, 2, 3, 4], [1, 2, 4, 3]).value == pytest.approx(4 / 6)


def test_where_there_is_no_order() -> None:
    assert spearman([1.0], [2.0]).reason == "an order needs two"
    assert kendall([1.0, 1.0], [2.0, 3.0]).reason == "all have the same score"


def test_agreement_where_it_cannot_be_known() -> None:
    (pair,) = rank_agreement({"a": {"x": 0.5, "y": 0.2}, "b": {"x": 0.1, "z": 0.3}})
    assert (pair["painters"], pair["kendall"].value, pair["spearman"].value) == (1, None, None)
    (pair,) = rank_agreement({"a": {"x": 0.5, "y": 0.2}, "b": {"x": 0.1, "y": 0.3}})
    assert (pair["kendall"].value, pair["spearman"].value) == (-1.0, -1.0)
    (pair,) = rank_agreement({"a": {}, "b": {}})
    assert pair["shift"] is None
    (pair,) = rank_agreement({"a": {"x": 0.5, "y": None}, "b": {"x": 0.75, "y": 0.3}})
    assert (pair["painters"], pair["shift"]) == (1, 0.25)


def test_the_spread_of_an_order_holds_its_value() -> None:
    generator = np.random.default_rng(4)
    truth = np.array([1.0, 2.0, 3.0, 4.0])
    one, other = (truth + generator.normal(0, 0.8, (400, 4)) for _ in range(2))
    low, high = spearman_spread(1.0, one, other)
    assert low is not None
    assert high == 1.0
    assert -0.5 < low < 0.8
    assert spearman_spread(1.0, np.full((3, 2), np.nan), np.ones((3, 2))) == (None, None)
