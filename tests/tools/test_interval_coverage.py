"""The script that counts how often intervals hold the truth."""

from __future__ import annotations

import pytest
from tools.interval_coverage import CASES, MACRO, covered

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
