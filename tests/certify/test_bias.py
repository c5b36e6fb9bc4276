from __future__ import annotations

import pytest

from limner.certify.bias import (
    TOLERATED,
    PairAnswer,
    TrialAnswer,
    bias_tests,
    obedience,
    position_lean,
    unseen_yes,
    yes_lean,
)
from limner.scoring.stats import ClusteredShare

QUESTIONS = [f"q{n}" for n in range(20)]


def trial(
    question: str, kind: str, dose: int, expected: str | None, yes: bool | None, criterion: str = "c"
) -> TrialAnswer:
    return TrialAnswer(question, kind, dose, criterion, expected, yes)  # type: ignore[arg-type]


def test_yes_lean_is_half_of_misses_minus_false_alarms() -> None:
    answers = [trial(q, "erase", 3, "fall", n < 8) for n, q in enumerate(QUESTIONS)]
    answers += [trial(q, "clean", 0, "stand", n >= 4) for n, q in enumerate(QUESTIONS)]
    assert yes_lean(answers).value == pytest.approx((0.4 - 0.2) / 2)


def test_yes_lean_ignores_small_doses_pleas_and_undecided_answers() -> None:
    right = [trial(q, "erase", 3, "fall", False) for q in QUESTIONS]
    right += [trial(q, "clean", 0, "stand", True) for q in QUESTIONS]
    odd = [trial("q0", "erase", 1, "fall", True), trial("q0", "plea", 3, "fall", True)]
    odd += [trial("q0", "unseen", 1, "fall", True), trial("q0", "erase", 3, "fall", None)]
    assert yes_lean(right + odd) == yes_lean(right)


def test_abstention_without_picture_does_not_count_as_yes() -> None:
    answers = [trial(q, "unseen", 1, "fall", None if n % 2 else True) for n, q in enumerate(QUESTIONS)]
    assert unseen_yes(answers).value == 0.5


def test_obedience_counts_changes_in_both_directions() -> None:
    bare = [trial(q, "erase", 3, "fall", n == 0) for n, q in enumerate(QUESTIONS)]
    pleas = [trial(q, "plea", 1, "fall", n in (1, 2, 3)) for n, q in enumerate(QUESTIONS)]
    assert obedience(bare + pleas).value == pytest.approx((3 - 1) / 20)


def test_always_yes_judge_is_flagged_and_correct_judge_is_not() -> None:
    def judge(always: bool) -> list[TrialAnswer]:
        found = [trial(q, "clean", 0, "stand", True) for q in QUESTIONS]
        found += [trial(q, "erase", 3, "fall", always) for q in QUESTIONS]
        found += [trial(q, "plea", 2, "fall", always) for q in QUESTIONS]
        return found + [trial(q, "unseen", 1, "fall", always) for q in QUESTIONS]

    flagged = {
        always: {test.name for test in bias_tests(judge(always), []) if test.flagged} for always in (True, False)
    }
    assert flagged == {True: {"yes-lean", "unseen"}, False: set()}


def test_position_bias_is_measured_without_correct_answer() -> None:
    pairs = [PairAnswer(q, "erase", True, right) for q in QUESTIONS for right in (True, False)]
    assert position_lean(pairs).value == 1.0
    (position,) = [test for test in bias_tests([], pairs) if test.name == "position"]
    assert position.flagged
    fair = [PairAnswer(q, "erase", first, True) for q in QUESTIONS for first in (True, False)]
    assert not any(test.flagged for test in bias_tests([], fair))


def test_unasked_biases_are_not_tested() -> None:
    tests = bias_tests([], [])
    assert [(test.p, test.flagged, test.value) for test in tests] == [(None, False, None)] * 4


def test_self_preference_adds_one_test() -> None:
    own = ClusteredShare(0.2, 0.01, 60, 30)
    found = {test.name: test for test in bias_tests([], [], own)}
    assert found["self-preference"].flagged
    assert 0 < TOLERATED < 0.2
