"""Two painters on the same questions: the test against brute force, symmetry, and answers where there is none."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from limner.scoring.stats import Parts, as_parts, paired, questions_needed, ratios
from limner.scoring.stats.paired import spread_of_differences

VALUES = st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=1, max_size=20)


def sides(pairs: list[tuple[int, int]]) -> tuple[Parts, Parts]:
    return as_parts([float(a) for a, _ in pairs]), as_parts([float(b) for _, b in pairs])


def brute(one: list[float], other: list[float]) -> float:
    """The share of all exchanges that give a gap at least as wide."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    seen = abs(sum(differences))
    gaps = [
        abs(sum(sign * each for sign, each in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    return sum(gap >= seen - 1e-9 for gap in gaps) / len(gaps)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=9))
def test_few_questions_use_exact_sign_flips(pairs: list[tuple[int, int]]) -> None:
    one, other = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    assert paired(as_parts(one), as_parts(other)).p.value == pytest.approx(brute(one, other))


def test_sampled_sign_flips_approximate_t_test() -> None:
    generator = np.random.default_rng(3)
    one = generator.normal(0.3, 1, 60)
    other = np.zeros(60)
    found = paired(as_parts(one.tolist()), as_parts(other.tolist())).p
    assert found.value == pytest.approx(scipy_stats.ttest_rel(one, other).pvalue, abs=0.02)


@given(VALUES)
def test_swapping_sides_changes_only_signs(pairs: list[tuple[int, int]]) -> None:
    one, other = sides(pairs)
    there, back = paired(one, other), paired(other, one)
    assert there.difference.value == pytest.approx(-(back.difference.value or 0.0))
    assert there.p == back.p
    assert there.differing == back.differing
    if there.difference.low is not None:
        assert back.difference.high is not None
        assert there.difference.low == pytest.approx(-back.difference.high)
    if there.effect.value is not None:
        assert back.effect.value == pytest.approx(-there.effect.value)


@given(VALUES, st.randoms(use_true_random=False))
def test_result_is_independent_of_question_order(pairs: list[tuple[int, int]], random: Any) -> None:
    shuffled = random.sample(pairs, len(pairs))
    one, other = paired(*sides(pairs)), paired(*sides(shuffled))
    assert (one.p, one.differing) == (other.p, other.differing)
    assert one.deviation == pytest.approx(other.deviation)
    assert one.effect.value == pytest.approx(other.effect.value)


def test_ratios_are_compared_as_reported() -> None:
    one = {"share": (np.array([3.0, 1.0, 4.0]), np.array([4.0, 2.0, 10.0]))}
    other = {"share": (np.array([1.0, 2.0, 2.0]), np.array([4.0, 2.0, 10.0]))}
    found = paired(one, other, "share")
    assert found.difference.value == ratios(one)["share"] - ratios(other)["share"]
    # The pseudo-values: how the difference changes when a question is left out.
    rest = [(5 / 12 - 4 / 12), (7 / 14 - 3 / 14), (4 / 6 - 3 / 6)]
    whole = 8 / 16 - 5 / 16
    expected = [3 * whole - 2 * each for each in rest]
    assert spread_of_differences(one, other, "share") == pytest.approx(expected)
    assert found.effect.value == pytest.approx(whole / np.std(expected, ddof=1))
    assert found.p.n == 3


def test_derived_values_are_exchanged_together() -> None:
    """The derived number is the product of two ratios: exchanging a question exchanges what it adds to both."""

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        return {"product": means["a"] * means["b"]}

    ones = np.ones(3)
    one = {"a": (np.array([1.0, 1.0, 0.0]), ones), "b": (np.array([1.0, 0.0, 1.0]), ones)}
    other = {"a": (np.array([0.0, 1.0, 0.0]), ones), "b": (np.array([0.0, 0.0, 1.0]), ones)}
    found = paired(one, other, "product", derive)
    assert found.difference.value == pytest.approx(4 / 9 - 1 / 9)
    assert found.p.value == 1.0
    assert found.differing == 1


def test_question_with_missing_value_is_omitted() -> None:
    one, other = as_parts([3.0, None, 5.0, float("nan")]), as_parts([1.0, None, 2.0, None])
    found = paired(one, other)
    assert (found.difference.value, found.difference.n, found.differing) == (2.5, 2, 2)
    assert spread_of_differences(one, other) == pytest.approx([2.0, 3.0])


@pytest.mark.parametrize(
    ("one", "other", "p", "effect", "why"),
    [
        ([1.0], [0.0], 1.0, None, "one question has no spread"),
        ([2.0, 2.0], [2.0, 2.0], 1.0, 0.0, None),
        ([3.0, 3.0], [2.0, 2.0], 0.5, None, "every question shows the same difference"),
    ],
)
def test_sparse_data_gives_value_or_reason(
    one: list[float], other: list[float], p: float, effect: float | None, why: str | None
) -> None:
    found = paired(as_parts(one), as_parts(other))
    assert (found.p.value, found.effect.value) == (p, effect)
    assert (why is None) == (found.effect.reason is None)
    assert why is None or why in (found.effect.reason or "")
    assert found.difference.value == one[0] - other[0]
    assert found.difference.low is None


def test_identical_scores_still_have_interval() -> None:
    alike = as_parts([100.0] * 20)
    found = paired(alike, alike, top=100.0).difference
    assert found.value == 0.0
    assert found.low == pytest.approx(-16.1, abs=0.05)
    assert found.high == pytest.approx(16.1, abs=0.05)


def test_sign_flip_test_has_nominal_level() -> None:
    """Where both are the same, p falls below 0.05 about as often as it says; never much more often."""
    generator = np.random.default_rng(7)
    below = 0
    for one, other in generator.binomial(1, 0.5, (300, 2, 12)):
        below += (paired(as_parts(one.tolist()), as_parts(other.tolist())).p.value or 0) < 0.05
    assert below / 300 <= 0.07


@pytest.mark.parametrize(("deviation", "gap"), [(40.0, 10.0), (1.0, 0.4)])
def test_needed_questions_give_promised_power(deviation: float, gap: float) -> None:
    needed = questions_needed(deviation, gap)
    assert needed.value is not None
    drawn = np.random.default_rng(11).normal(gap, deviation, (2000, int(needed.value)))
    found = scipy_stats.ttest_1samp(drawn, 0, axis=1).pvalue < 0.05
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("deviation", "gap", "why"),
    [
        (None, 1.0, "not known"),
        (1.0, None, "not known"),
        (float("nan"), 1.0, "not known"),
        (1.0, 0.0, "a gap of zero"),
        (0.0, 1.0, "no spread"),
    ],
)
def test_unknown_number_of_needed_questions_has_reason(deviation: float | None, gap: float | None, why: str) -> None:
    found = questions_needed(deviation, gap)
    assert found.value is None
    assert why in (found.reason or "")
