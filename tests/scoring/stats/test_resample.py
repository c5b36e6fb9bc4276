"""Intervals: seeded, stable, and around the number they are for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from limner.scoring.stats import LEAST, Interval, as_parts, bootstrap, ratios, spreads

NUMBERS = st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=30)


def plain(*numbers: float) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return {"x": (np.array(numbers, dtype=float), np.ones(len(numbers)))}


@given(NUMBERS)
def test_the_interval_holds_the_value_and_stays_within_the_numbers(numbers: list[float]) -> None:
    found = bootstrap(plain(*numbers), resamples=200)["x"]
    assert found.value is not None
    assert found.value == pytest.approx(sum(numbers) / len(numbers))
    assert (found.low is None) == (found.high is None) == (len(numbers) < LEAST)
    if found.low is None or found.high is None:
        return
    assert found.low <= found.value <= found.high
    assert min(numbers) - 1e-9 <= found.low
    assert found.high <= max(numbers) + 1e-9
    assert found.n == len(numbers)


@given(NUMBERS)
def test_the_same_numbers_give_the_same_interval(numbers: list[float]) -> None:
    assert bootstrap(plain(*numbers), resamples=200) == bootstrap(plain(*numbers), resamples=200)


def test_the_interval_does_not_change_from_version_to_version() -> None:
    """Intervals in old reports must be found again: the seed and the way of drawing are part of the promise."""
    assert bootstrap(plain(0, 0, 100, 100, 100, 50, 20, 80)) == {"x": Interval(56.25, 17.5, 91.25, 8)}


def test_no_number_at_all() -> None:
    assert bootstrap({}) == {}
    assert ratios({}) == {}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_clusters_have_no_interval(count: int) -> None:
    assert bootstrap(plain(*[42.5] * count))["x"] == Interval(42.5, None, None, count)


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 16.1), (20, 83.9, 100.0), (1, 0.3, 23.6), (10, 29.9, 70.1)])
def test_shares_of_all_or_nothing_have_wilsons_interval(hits: int, low: float, high: float) -> None:
    """Never 0.0 [0.0, 0.0] from 0 of 20."""
    found = bootstrap(plain(*[100.0] * hits, *[0.0] * (20 - hits)), tops={"x": 100.0})["x"]
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_scores_that_are_all_alike_have_width() -> None:
    found = bootstrap(plain(*[50.0] * 20), tops={"x": 100.0})["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 40 < 60 < found.high


def test_a_rare_score_is_not_taken_for_certain() -> None:
    """Two of twenty above nought: resampling alone would say that the mean can hardly be above 10."""
    rare = plain(*[0.0] * 18, 50.0, 40.0)
    wide, narrow = bootstrap(rare, tops={"x": 100.0})["x"].high, bootstrap(rare)["x"].high
    assert wide is not None
    assert narrow is not None
    assert wide > narrow


def test_a_skewed_score_reaches_further_up_than_its_resamples() -> None:
    skewed = plain(60.0, 20.0, 9.0, 5.0, 3.0, 2.0, 1.0, 1.0)
    found, narrow = bootstrap(skewed, tops={"x": 100.0})["x"], bootstrap(skewed)["x"]
    assert found.high is not None
    assert narrow.high is not None
    assert found.high > narrow.high + 3
    assert (found.low or 0.0) <= (narrow.low or 0.0)


@given(NUMBERS)
def test_intervals_of_scores_stay_between_nothing_and_all(numbers: list[float]) -> None:
    found = bootstrap(plain(*numbers), tops={"x": 100.0}, resamples=200)["x"]
    assert found.value is not None
    if found.low is None or found.high is None:
        return
    assert -1e-9 <= found.low <= found.value <= found.high <= 100 + 1e-9
    assert found.low < found.high


@pytest.mark.parametrize("hits", [1, 7])
def test_one_hit_or_one_miss_of_eight_may_be_rare_indeed(hits: int) -> None:
    """Wilson's interval ends at 2.2% and would miss a share of 2% whenever there is a hit."""
    found = bootstrap(plain(*[100.0] * hits, *[0.0] * (8 - hits)), tops={"x": 100.0})["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1 if hits == 1 else found.high > 99


def test_intervals_reach_as_far_as_students_t() -> None:
    numbers = np.random.default_rng(3).normal(50, 10, 10)
    found = bootstrap({"x": (numbers, np.ones(10))}, resamples=20000)["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 2.262 * numbers.std(ddof=1) / 10**0.5, rel=0.08)


def test_the_interval_is_about_as_wide_as_theory_says() -> None:
    numbers = np.random.default_rng(1).normal(50, 10, 400)
    found = bootstrap({"x": (numbers, np.ones(400))})["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * numbers.std() / 20, rel=0.1)


def test_more_questions_make_it_narrower() -> None:
    few, many = (bootstrap(plain(*[0, 100] * count))["x"] for count in (5, 500))
    assert few.high is not None
    assert few.low is not None
    assert many.high is not None
    assert many.low is not None
    assert many.high - many.low < (few.high - few.low) / 5


def test_clusters_are_drawn_whole() -> None:
    """Ten equal answers to one question are worth one answer: only questions are drawn, with all they have."""
    tops, bottoms = np.array([10.0, 0.0] * 3), np.array([10.0] * 6)
    clustered, single = bootstrap({"x": (tops, bottoms)})["x"], bootstrap(plain(*[1] * 30, *[0] * 30))["x"]
    assert (clustered.value, clustered.low, clustered.high, clustered.n) == (0.5, 0.0, 1.0, 6)
    assert single.low is not None
    assert single.low > 0.3


def test_denominators_weigh_the_clusters() -> None:
    found = bootstrap({"x": (np.array([3.0, 0.0]), np.array([3.0, 1.0]))})["x"]
    assert found.value == 0.75


def test_a_cluster_without_the_number_is_left_out() -> None:
    parts = {
        "x": (np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0])),
        "never": (np.zeros(3), np.zeros(3)),
    }
    found = bootstrap(parts)
    assert set(found) == {"x"}
    assert (found["x"].value, found["x"].n) == (0.5, 2)
    assert ratios(parts) == {"x": 0.5}


def test_derived_numbers_are_resampled_together() -> None:
    one = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    parts = {"a": (one, np.ones(5)), "b": (1 - one, np.ones(5))}

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        return {"sum": means["a"] + means["b"]}

    assert bootstrap(parts, derive) == {"sum": Interval(1.0, 1.0, 1.0, 5)}


@pytest.mark.slow
def test_large_exams_are_drawn_in_steps() -> None:
    """Steps bound the memory; how many there are must not leave any resample out."""
    found = bootstrap(plain(*[0.0, 1.0] * 5000), resamples=900)["x"]
    assert found.low is not None
    assert found.high is not None
    assert 0.48 < found.low < 0.5 < found.high < 0.52


def test_json() -> None:
    assert Interval(1.0, 0.5, 1.5, 3).to_json() == {"value": 1.0, "low": 0.5, "high": 1.5, "n": 3}


def test_several_are_drawn_together() -> None:
    """Two painters get the same resamples: whoever is better by one on every question is so in all of them."""
    one, other = as_parts([3.0, 7.0, 1.0, 9.0]), as_parts([2.0, 6.0, 0.0, 8.0])
    first, second, missing = spreads([one, other, {}], resamples=50)
    assert first["value"] - second["value"] == pytest.approx(np.ones(50))
    assert missing == {}
    (alone,) = spreads([one], resamples=50)
    assert np.array_equal(alone["value"], first["value"])


def test_sets_over_different_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be drawn together"):
        spreads([as_parts([1.0]), as_parts([1.0, 2.0])])


def test_the_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(8)
    held = []
    for numbers in generator.exponential(10, (300, 60)):
        found = bootstrap(as_parts(numbers.tolist()), resamples=400)["value"]
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= 10 <= found.high)
    assert 0.89 <= np.mean(held) <= 0.98
