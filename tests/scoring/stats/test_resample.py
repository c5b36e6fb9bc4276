"""Intervals, shares, quantiles and corrected tests: seeded, stable, and around the number they are for."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binomtest

from limner.scoring.stats import (
    MIN_CLUSTERS,
    Interval,
    as_parts,
    bootstrap,
    holm,
    ratios,
    score_interval,
    spreads,
    wilson,
)
from limner.scoring.stats.resample import student

NUMBERS = st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=30)


def plain(*numbers: float) -> dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]:
    return {"x": (np.array(numbers, dtype=float), np.ones(len(numbers)))}


@given(NUMBERS)
def test_interval_contains_value_and_stays_within_data(numbers: list[float]) -> None:
    found = bootstrap(plain(*numbers), resamples=200)["x"]
    assert found.value is not None
    assert found.value == pytest.approx(sum(numbers) / len(numbers))
    assert (found.low is None) == (found.high is None) == (len(numbers) < MIN_CLUSTERS)
    if found.low is None or found.high is None:
        return
    assert found.low <= found.value <= found.high
    assert min(numbers) - 1e-9 <= found.low
    assert found.high <= max(numbers) + 1e-9
    assert found.n == len(numbers)


def test_interval_is_stable_across_versions() -> None:
    """Intervals in old reports must be found again: the seed and the way of drawing are part of the promise."""
    assert bootstrap(plain(0, 0, 100, 100, 100, 50, 20, 80)) == {"x": Interval(56.25, 17.5, 91.25, 8)}


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_few_clusters_have_no_interval(count: int) -> None:
    assert bootstrap(plain(*[42.5] * count))["x"] == Interval(42.5, None, None, count)


@pytest.mark.parametrize(("hits", "low", "high"), [(0, 0.0, 16.1), (20, 83.9, 100.0), (1, 0.3, 23.6), (10, 29.9, 70.1)])
def test_binary_shares_have_wilson_interval(hits: int, low: float, high: float) -> None:
    """Never 0.0 [0.0, 0.0] from 0 of 20."""
    found = bootstrap(plain(*[100.0] * hits, *[0.0] * (20 - hits)), tops={"x": 100.0})["x"]
    assert found.low == pytest.approx(low, abs=0.05)
    assert found.high == pytest.approx(high, abs=0.05)


def test_rare_scores_widen_interval() -> None:
    """Two of twenty above nought: resampling alone would say that the mean can hardly be above 10."""
    rare = plain(*[0.0] * 18, 50.0, 40.0)
    wide, narrow = bootstrap(rare, tops={"x": 100.0})["x"].high, bootstrap(rare)["x"].high
    assert wide is not None
    assert narrow is not None
    assert wide > narrow


@pytest.mark.parametrize("hits", [1, 7])
def test_single_hit_or_miss_widens_interval(hits: int) -> None:
    """Wilson's interval ends at 2.2% and would miss a share of 2% whenever there is a hit."""
    found = bootstrap(plain(*[100.0] * hits, *[0.0] * (8 - hits)), tops={"x": 100.0})["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.low < 1 if hits == 1 else found.high > 99


def test_intervals_match_student_t_width() -> None:
    numbers = np.random.default_rng(3).normal(50, 10, 10)
    found = bootstrap({"x": (numbers, np.ones(10))}, resamples=20000)["x"]
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 2.262 * numbers.std(ddof=1) / 10**0.5, rel=0.08)


def test_clusters_are_resampled_whole() -> None:
    """Ten equal answers to one question are worth one answer: only questions are drawn, with all they have."""
    tops, bottoms = np.array([10.0, 0.0] * 3), np.array([10.0] * 6)
    clustered, single = bootstrap({"x": (tops, bottoms)})["x"], bootstrap(plain(*[1] * 30, *[0] * 30))["x"]
    assert (clustered.value, clustered.low, clustered.high, clustered.n) == (0.5, 0.0, 1.0, 6)
    assert single.low is not None
    assert single.low > 0.3


def test_cluster_without_value_is_omitted() -> None:
    parts = {
        "x": (np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0])),
        "never": (np.zeros(3), np.zeros(3)),
    }
    found = bootstrap(parts)
    assert set(found) == {"x"}
    assert (found["x"].value, found["x"].n) == (0.5, 2)
    assert ratios(parts) == {"x": 0.5}


def test_derived_values_are_resampled_together() -> None:
    one = np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    parts = {"a": (one, np.ones(5)), "b": (1 - one, np.ones(5))}

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        return {"sum": means["a"] + means["b"]}

    assert bootstrap(parts, derive) == {"sum": Interval(1.0, 1.0, 1.0, 5)}


def test_several_sets_share_resamples() -> None:
    """Two painters get the same resamples: whoever is better by one on every question is so in all of them."""
    one, other = as_parts([3.0, 7.0, 1.0, 9.0]), as_parts([2.0, 6.0, 0.0, 8.0])
    first, second, missing = spreads([one, other, {}], resamples=50)
    assert first["value"] - second["value"] == pytest.approx(np.ones(50))
    assert missing == {}
    (alone,) = spreads([one], resamples=50)
    assert np.array_equal(alone["value"], first["value"])


def test_sets_over_different_clusters_are_rejected() -> None:
    with pytest.raises(ValueError, match="cannot be drawn together"):
        spreads([as_parts([1.0]), as_parts([1.0, 2.0])])


def test_interval_has_nominal_coverage() -> None:
    generator = np.random.default_rng(8)
    held = []
    for numbers in generator.exponential(10, (300, 60)):
        found = bootstrap(as_parts(numbers.tolist()), resamples=400)["value"]
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= 10 <= found.high)
    assert 0.89 <= np.mean(held) <= 0.98


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_matches_scipy(case: tuple[int, int]) -> None:
    hits, n = case
    found, known = wilson(hits, n), binomtest(hits, n).proportion_ci(method="wilson")
    assert [found.low, found.high] == pytest.approx([known.low, known.high], abs=1e-9)
    assert found.value == hits / n


def test_wilson_handles_empty_and_invalid_counts() -> None:
    assert wilson(0, 0) == Interval(None, None, None, 0)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson(3, 2)


def test_student_t_matches_tables() -> None:
    assert [round(student(n), 3) for n in (2, 3, 11, 121)] == [12.706, 4.303, 2.228, 1.98]
    assert round(student(11, 0.8), 3) == 0.879


def test_share_rounding_to_one_has_interval() -> None:
    part = np.full(6, 1 - 1e-16), np.ones(6)
    found = score_interval(1 - 1e-16, np.ones(9), 1.0, part, 6)
    assert found.low == pytest.approx(wilson(6, 6).low)
    assert found.high == pytest.approx(1.0)


P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


def test_holm_matches_textbook_example() -> None:
    """Holm's own steps: four tests, the smallest times four, the next times three, and so on."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_holm_never_lowers_p_values_and_keeps_order(p_values: list[float | None]) -> None:
    found = holm(p_values)
    pairs = sorted((p, q) for p, q in zip(p_values, found, strict=True) if p is not None and q is not None)
    assert [p is None for p in p_values] == [q is None for q in found]
    assert all(p <= q <= 1 for p, q in pairs)
    assert all(one[1] <= other[1] for one, other in pairwise(pairs))
