from __future__ import annotations

import numpy as np
import pytest

from limner.certify.bias import (
    PairAnswer,
    TrialAnswer,
    clustered_gap,
    clustered_share,
    comparing,
    errors,
    flip_rate,
    judge_tests,
    obedience,
    position_lean,
    sight,
    unseen_yes,
    verdict,
    yes_lean,
)

QUESTIONS = [f"q{n}" for n in range(20)]


def trial(
    question: str, kind: str, dose: int, expected: str | None, yes: bool | None, criterion: str = "c", repeat: int = 0
) -> TrialAnswer:
    return TrialAnswer(question, kind, dose, criterion, expected, yes, repeat)  # type: ignore[arg-type]


def known(miss: float, alarm: float) -> list[TrialAnswer]:
    """Twenty answers where no is right, of which a share is missed, and twenty where yes is right."""
    answers = [trial(q, "erase", 3, "fall", n < 20 * miss) for n, q in enumerate(QUESTIONS)]
    return answers + [trial(q, "clean", 0, "stand", n >= 20 * alarm) for n, q in enumerate(QUESTIONS)]


def test_sight_is_sensitivity_plus_specificity_minus_one() -> None:
    answers = known(miss=0.4, alarm=0.2)
    assert sight(answers).value == pytest.approx(0.6 + 0.8 - 1)
    assert errors(answers).value == pytest.approx((0.4 + 0.2) / 2)
    assert yes_lean(answers).value == pytest.approx((0.4 - 0.2) / 2)


def test_sight_ignores_small_doses_pleas_and_undecided_answers() -> None:
    right = known(0, 0)
    odd = [trial("q0", "erase", 1, "fall", True), trial("q0", "plea", 3, "fall", True)]
    odd += [trial("q0", "unseen", 1, "fall", True), trial("q0", "erase", 3, "fall", None)]
    assert sight(right + odd) == sight(right)
    assert yes_lean(right + odd) == yes_lean(right)


def test_rare_errors_that_are_missing_among_few_answers_are_no_yes_lean() -> None:
    falls = [trial(q, "erase", 3, "fall", False, f"c{n}") for q in QUESTIONS[:12] for n in range(2)]
    stands = [trial(q, "clean", 0, "stand", n > 0 or q in ("q0", "q1"), f"c{n}")
              for q in QUESTIONS[:12] for n in range(30)]  # fmt: skip
    (lean,) = [test for test in judge_tests(falls + stands, []) if test.name == "yes-lean"]
    assert lean.value == pytest.approx(-10 / 360 / 2)
    assert not lean.flagged
    again = [trial(q, "erase", 3, "fall", True, f"d{n}") for q in QUESTIONS[:12] for n in range(2)]
    (lean,) = [test for test in judge_tests(falls + again + stands, []) if test.name == "yes-lean"]
    assert lean.flagged


@pytest.mark.parametrize(("miss", "alarm"), [(0.5, 0.5), (0.0, 1.0), (1.0, 0.0), (0.3, 0.3)])
def test_judge_that_does_not_see_is_flagged_whatever_else_it_does(miss: float, alarm: float) -> None:
    tests = judge_tests(known(miss, alarm), [])
    assert tests[0].name == "sight"
    assert tests[0].flagged
    assert verdict(tests) == "cannot see the drawing"


@pytest.mark.parametrize("questions", range(5, 13))
def test_few_right_choices_are_no_reason_for_a_flag(questions: int) -> None:
    def result(looks: bool) -> tuple[bool, bool]:
        pairs = [PairAnswer(q, "erase", True, looks or first) for q in QUESTIONS[:questions] for first in (True, False)]
        (test,) = [each for each in judge_tests([], pairs) if each.name == "comparing"]
        return test.tested, test.flagged

    assert result(looks=True) == (questions > 6, False)
    assert result(looks=False) == (True, True)


def test_judge_that_sees_is_clear_and_few_answers_are_not_tested() -> None:
    tests = judge_tests(known(0.05, 0.05), [])
    assert not any(test.flagged for test in tests)
    assert verdict(tests) == "clear"
    few = judge_tests(known(0, 0)[:3], [])
    assert not few[0].tested
    assert verdict(few) == "not tested whether it sees"


def test_abstention_without_picture_does_not_count_as_yes() -> None:
    answers = [trial(q, "unseen", 1, "fall", None if n % 2 else True) for n, q in enumerate(QUESTIONS)]
    assert unseen_yes(answers).value == 0.5
    absent = [trial(q, "unseen", 1, None, True, "absent") for q in QUESTIONS]
    assert unseen_yes([*answers, *absent]) == unseen_yes(answers)


def test_obedience_counts_changes_in_both_directions_on_every_criterion() -> None:
    bare = [trial(q, "erase", 3, None, n == 0) for n, q in enumerate(QUESTIONS)]
    pleas = [trial(q, "plea", 1, None, n in (1, 2, 3)) for n, q in enumerate(QUESTIONS)]
    assert obedience(bare + pleas).value == pytest.approx((3 - 1) / 20)


def test_flips_are_counted_among_repeats_only() -> None:
    answers = [trial(q, "clean", 0, None, True, repeat=n) for q in QUESTIONS for n in (0, 1)]
    answers += [trial("q0", "erase", 3, None, bool(n), repeat=n) for n in (0, 1)]
    answers += [trial(q, "erase", 1, None, True) for q in QUESTIONS]
    assert flip_rate(answers).value == pytest.approx(1 / 21)


def test_gravest_flag_is_named_and_others_are_counted() -> None:
    answers = [trial(q, "clean", 0, "stand", True) for q in QUESTIONS]
    answers += [trial(q, "erase", 3, "fall", n < 7) for n, q in enumerate(QUESTIONS)]
    assert verdict(judge_tests(answers, [])) == "says yes too often (+18 points)"
    blind = [trial(q, "unseen", 1, "fall", n < 18) for n, q in enumerate(QUESTIONS)]
    assert verdict(judge_tests(answers + blind, [])) == "says yes without a picture (90%), 1 more flag"


def test_position_is_measured_on_equal_pairs_only() -> None:
    first = [PairAnswer(q, "copy", True, None) for q in QUESTIONS for _ in range(2)]
    fair = [PairAnswer(q, "erase", shown, True) for q in QUESTIONS for shown in (True, False)]
    assert position_lean(first + fair).value == 1.0
    assert comparing(first + fair).value == 1.0
    flagged = {test.name for test in judge_tests([], first + fair) if test.flagged}
    assert flagged == {"position"}


def test_ties_are_half_a_choice() -> None:
    ties = [PairAnswer(q, kind, None, None) for q in QUESTIONS for kind in ("copy", "erase")]
    assert position_lean(ties).value == comparing(ties).value == 0.5
    tests = {test.name: test.flagged for test in judge_tests([], ties)}
    assert tests["comparing"]
    assert not tests["position"]


def test_unasked_faults_are_not_tested() -> None:
    tests = judge_tests([], [])
    assert [(test.tested, test.flagged, test.value) for test in tests] == [(False, False, None)] * 8


def test_error_depends_on_clusters_and_not_answers() -> None:
    once = clustered_share([(n, n % 2) for n in range(40)])
    often = clustered_share([(n, n % 2) for n in range(40) for _ in range(10)])
    assert often.error == pytest.approx(once.error)
    assert (once.n, often.n, often.clusters) == (40, 400, 40)


def test_error_of_single_answer_clusters_is_standard_error() -> None:
    values = np.random.default_rng(1).random(50)
    found = clustered_share(enumerate(values))
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(50))


def test_gap_within_clusters_is_paired() -> None:
    level = np.random.default_rng(2).random(60)
    one, other = list(enumerate(level + 0.1)), list(enumerate(level))
    assert clustered_gap(one, other).value == pytest.approx(0.1)
    assert clustered_gap(one, other).error == pytest.approx(0.5 / 60)  # All differ alike: as if one more did not.


def test_unanimous_answers_still_have_interval() -> None:
    found = clustered_share([(n, 1.0) for n in range(10)]).share()
    assert found.value == found.high == 1.0
    assert found.low is not None
    assert found.low < 0.75


def test_clustered_test_has_nominal_level() -> None:
    rng = np.random.default_rng(3)
    p = [clustered_share(enumerate((rng.random(40) < 0.5).astype(float))).p(0.5) for _ in range(400)]
    assert sum(value is not None and value <= 0.05 for value in p) <= 32
