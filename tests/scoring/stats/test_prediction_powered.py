"""Prediction-powered means against ppi-python 0.2.3, whose numbers stand here, and against what must hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.powered import (
    HumanEstimate,
    Judged,
    derive_estimates,
    estimate_difference,
    estimate_mean,
    human_interval,
)
from limner.scoring.stats.resample import Floats

MARKED, REST = 150, 600
# (graded, power of drawings without people's marks) -> ppi_mean_pointestimate and the standard error in ppi_mean_ci.
PPI_PYTHON = {
    (False, 0.0): (0.7133333333333334, 0.03692234092333879),
    (False, 0.4): (0.704, 0.028084053732929548),
    (False, 0.8): (0.6946666666666665, 0.027907996995418672),
    (False, None): (0.6995384879922049, 0.02671240083346552),
    (True, 0.0): (0.5250917209848108, 0.022060328808722822),
    (True, 0.4): (0.5183127735405875, 0.017474353718294575),
    (True, 0.8): (0.5115338260963643, 0.014543395740879574),
    (True, None): (0.5096390209297027, 0.01417463064418726),
}


def _data(graded: bool) -> tuple[Floats, Floats]:
    """People's numbers and the judge's, as ppi-python was given them."""
    rng, whole = np.random.default_rng(2311), MARKED + REST
    human = rng.random(whole) if graded else (rng.random(whole) < 0.7).astype(float)
    if graded:
        return human, np.clip(human * 0.6 + 0.2 + 0.3 * (rng.random(whole) - 0.5), 0, 1)
    return human, np.where(rng.random(whole) < 0.85, human, 1 - human)


def _judged(human: Floats, judge: Floats, marked: int, each: int = 1) -> Judged:
    whole = len(judge)
    known = np.where(np.arange(whole) < marked, human, np.nan)
    ones = np.ones(whole)
    places = np.repeat(np.arange(whole // each), each)
    return Judged(places, whole // each, judge, known, ones, ones / each, np.full(whole, marked / whole))


@pytest.mark.parametrize(("graded", "power"), list(PPI_PYTHON))
def test_estimate_matches_ppi_python(graded: bool, power: float | None) -> None:
    value, error = PPI_PYTHON[graded, power]
    whole = MARKED + REST
    # Theirs is the power of drawings without people's marks, ours that of all.
    found = estimate_mean(_judged(*_data(graded), MARKED), None if power is None else power * whole / REST)
    assert found is not None
    assert found.value == pytest.approx(value, abs=1e-9 if power is not None else 1e-3)
    spread = np.sqrt((found.influence**2).sum())
    assert spread == pytest.approx(error, rel=0.03)


def test_judge_is_irrelevant_when_people_marked_everything() -> None:
    human, judge = _data(True)
    found = estimate_mean(_judged(human, judge, MARKED + REST))
    assert found is not None
    assert found.value == pytest.approx(human.mean())
    assert np.sqrt((found.influence**2).sum()) == pytest.approx(human.std() / np.sqrt(len(human)))


def test_drawings_with_higher_inclusion_probability_count_less() -> None:
    human = np.array([1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    chosen = np.array([1.0, 1.0, np.nan, 0.0, np.nan, np.nan])
    ones = np.ones(6)
    # Both 1s were sure to be chosen; the one 0 stands for four: Hájek's mean is 2 / (1 + 1 + 4).
    inclusion = np.array([1, 1, 0.25, 0.25, 0.25, 0.25])
    found = estimate_mean(Judged(np.arange(6), 6, np.zeros(6), chosen, ones, ones, inclusion))
    assert found is not None
    assert found.value == pytest.approx(2 / 6)
    assert human.mean() == pytest.approx(found.value)


def test_strata_are_combined_by_size() -> None:
    # 90 drawings in one stratum, all 0; 10 in the other, all 1; people marked 5 of each.
    human = np.concatenate([np.zeros(90), np.ones(10)])
    marked = np.zeros(100, bool)
    marked[:5] = marked[90:95] = True
    known, ones = np.where(marked, human, np.nan), np.ones(100)
    strata = (np.arange(100) >= 90).astype(np.int64)
    plain = Judged(np.arange(100), 100, np.zeros(100), known, ones, ones, ones)
    without, with_ = estimate_mean(plain), estimate_mean(Judged(**{**vars(plain), "strata": strata}))
    assert without is not None
    assert with_ is not None
    assert without.value == pytest.approx(0.5)
    assert with_.value == pytest.approx(0.1)


def test_difference_is_paired_by_question() -> None:
    """Two painters on the same questions: the same as the prediction-powered mean of the differences."""
    rng = np.random.default_rng(3)
    hard = rng.random(500)
    sides = [np.clip(hard + gap + 0.1 * rng.normal(size=500), 0, 1) for gap in (0.1, 0.0)]
    judges = [np.clip(side + 0.15 * rng.normal(size=500), 0, 1) for side in sides]
    one, other = (_judged(human, judge, 100) for human, judge in zip(sides, judges, strict=True))
    found = estimate_difference(one, other)
    direct = estimate_mean(_judged(sides[0] - sides[1], judges[0] - judges[1], 100))
    assert found is not None
    assert direct is not None
    assert found.value == pytest.approx(direct.value, abs=0.003)
    assert np.sqrt((found.influence**2).sum()) == pytest.approx(np.sqrt((direct.influence**2).sum()), rel=0.05)
    apart = [estimate_mean(each) for each in (one, other)]
    unpaired = np.sqrt(sum((each.influence**2).sum() for each in apart if each is not None))
    assert np.sqrt((found.influence**2).sum()) < 0.6 * unpaired


def test_derived_values_propagate_spread() -> None:
    rng = np.random.default_rng(4)
    parts = {
        name: HumanEstimate(value, rng.normal(size=50) / 50, 1.0, 50, 20, 20)
        for name, value in (("a", 0.4), ("b", 0.8))
    }
    found = derive_estimates(
        parts, lambda means: {**means, "mean": (means["a"] + means["b"]) / 2, "product": means["a"] * means["b"]}
    )
    assert found["mean"].value == pytest.approx(0.6)
    assert found["mean"].influence == pytest.approx((parts["a"].influence + parts["b"].influence) / 2)
    assert found["product"].influence == pytest.approx(0.8 * parts["a"].influence + 0.4 * parts["b"].influence)


def test_too_few_human_marks_give_reason() -> None:
    human, judge = _data(False)
    assert human_interval(estimate_mean(_judged(human, judge, 0))).reason == "people have marked none of these drawings"
    few = human_interval(estimate_mean(_judged(human, judge, 4)), 1.0)
    assert (few.low, few.high) == (None, None)
    assert few.reason is not None
    assert "4 questions" in few.reason


@given(st.integers(0, 10_000), st.integers(5, 40), st.integers(0, 60), st.floats(0.02, 0.98))
def test_interval_contains_value_and_stays_on_scale(seed: int, marked: int, rest: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    human = (rng.random(marked + rest) < share).astype(float)
    judge = np.where(rng.random(marked + rest) < 0.8, human, 1 - human)
    found = human_interval(estimate_mean(_judged(human, judge, marked)), 1.0)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.human == marked
    assert found.n == marked + rest
