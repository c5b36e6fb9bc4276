"""The script that counts how often intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest
from tools.interval_coverage import CASES, MACRO, Case, covered, table

NAMES = [case.name for case in (*CASES, MACRO)]


@pytest.mark.slow
def test_most_intervals_hold_the_truth() -> None:
    found = covered(30, exams=200)
    assert [*found] == NAMES
    for name in NAMES:
        if name.startswith("yes or no") or "symmetric" in name:
            assert found[name] > 0.9, name


@pytest.mark.slow
def test_skewed_scores_on_few_questions_too() -> None:
    assert covered(8, exams=300)["graded, skewed: most near 0"] > 0.92


def test_the_same_each_time() -> None:
    assert covered(8, exams=5, resamples=200) == covered(8, exams=5, resamples=200)


@pytest.mark.parametrize("case", [*CASES, MACRO], ids=lambda case: case.name)
def test_the_truth_is_what_many_questions_come_to(case: Case) -> None:
    tops, bottoms = case.draw(np.random.default_rng(1), (1, 200_000))
    assert tops.sum() / bottoms.sum() == pytest.approx(case.truth, abs=0.003)


def test_the_table_has_a_row_for_each_sort_of_score() -> None:
    lines = table([5, 8], exams=3).splitlines()
    assert lines[0] == "| score | n = 5 | n = 8 |"
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[2:]] == NAMES
