"""Shares corrected for a judge's errors, against examples in print."""

from __future__ import annotations

import numpy as np
import pytest

from limner.scoring.stats.rogan_gladen import Sum, corrected_sum, error_rates, rogan_gladen, weakest
from limner.scoring.stats.types import Floats


def test_the_example_of_the_cows() -> None:
    """150 cows, 23 positive, sensitivity 96%, specificity 89%: true prevalence 5.1% (epiR's manual, `epi.prev`)."""
    assert 100 * rogan_gladen(23 / 150, 0.96, 0.89) == pytest.approx(5.1, abs=0.05)


def _rates(seen: tuple[int, int], clear: tuple[int, int]) -> tuple[Floats, Floats]:
    human = np.array([1.0] * seen[1] + [0.0] * clear[1])
    judge = np.array([1.0] * seen[0] + [0.0] * (seen[1] - seen[0]) + [0.0] * clear[0] + [1.0] * (clear[1] - clear[0]))
    return judge, human


def test_the_variance_is_that_of_the_delta_method() -> None:
    """Rogan and Gladen (1978), equation for the variance with estimated rates, worked out term by term.

    q = 0.4 of 200; se = 0.9 of 100 with a yes; sp = 0.8 of 50 with a no. p = (0.4 + 0.8 - 1) / 0.7 = 0.2857.
    Var = [q(1-q)/200 + p^2 se(1-se)/100 + (1-p)^2 sp(1-sp)/50] / 0.7^2.
    """
    judge, human = _rates((90, 100), (40, 50))
    size = 150 + 200
    rates = error_rates(np.arange(150), size, np.ones(150), judge, human)
    assert rates.sensitivity == pytest.approx(0.9)
    assert rates.specificity == pytest.approx(0.8)
    assert (rates.yes, rates.no) == (100, 50)
    marks, ones = np.zeros(size), np.zeros(size)
    marks[150 : 150 + 80], ones[150:] = 1.0, 1.0
    found = corrected_sum(Sum(np.zeros(size), {"x": marks}, {"x": ones}, ones, 200), {"x": rates}, 150, 150)
    p = 0.2857142857
    assert found.value == pytest.approx(p)
    by_hand = (0.4 * 0.6 / 200 + p**2 * 0.9 * 0.1 / 100 + (1 - p) ** 2 * 0.8 * 0.2 / 50) / 0.7**2
    assert (found.influence**2).sum() == pytest.approx(by_hand)


def test_weights_add_up_sort_by_sort() -> None:
    """0.7 of one sort and 0.3 of another: the score is 0.7 p1 + 0.3 p2."""
    judge, human = _rates((9, 10), (8, 10))
    first = error_rates(np.arange(20), 40, np.ones(20), judge, human)
    judge, human = _rates((10, 10), (7, 10))
    second = error_rates(np.arange(20), 40, np.ones(20), judge, human)
    ones, marks = np.zeros(40), np.zeros(40)
    ones[20:], marks[20:32] = 1.0, 1.0
    whole = Sum(np.zeros(40), {"a": 0.7 * marks, "b": 0.3 * marks}, {"a": 0.7 * ones, "b": 0.3 * ones}, ones, 20)
    found = corrected_sum(whole, {"a": first, "b": second}, 20, 20)
    by_hand = 0.7 * rogan_gladen(0.6, 0.9, 0.8) + 0.3 * rogan_gladen(0.6, 1.0, 0.7)
    assert found.value == pytest.approx(by_hand)


def test_a_judge_that_does_not_look_is_refused() -> None:
    judge, human = _rates((6, 10), (5, 10))
    rates = error_rates(np.arange(20), 20, np.ones(20), judge, human)
    assert rates.informed == pytest.approx(0.1)
    assert rates.reason is not None
    assert "se + sp - 1 = 0.10, below 0.2" in rates.reason
    judge, human = _rates((7, 10), (5, 10))
    assert error_rates(np.arange(20), 20, np.ones(20), judge, human).reason is None
    assert weakest({"point": rates}, ["point"]) == f"point: {rates.reason}"
    assert weakest({}, ["point"]) == "point: people have marked none of them"


def test_without_a_no_there_is_no_specificity() -> None:
    rates = error_rates(np.arange(4), 4, np.ones(4), np.array([1.0, 1, 0, 1]), np.ones(4))
    assert rates.specificity is None
    assert rates.reason == "people said no to none of what the judge marked"


def test_where_no_error_was_seen_there_may_be_some() -> None:
    judge, human = _rates((30, 30), (10, 10))
    rates = error_rates(np.arange(40), 40, np.ones(40), judge, human)
    # One right and one wrong decision more: 11 of 12, as Lang and Reiczigel (2014) add them.
    assert (rates.of_specificity**2).sum() == pytest.approx(11 / 12 * 1 / 12 / 12)
