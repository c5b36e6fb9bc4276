"""The alternative-annotator test against the authors' own notebook (nitaytech/AltTest), whose results stand here."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from limner.scoring.stats.alternative_annotator import alternative_annotator, benjamini_yekutieli

N = 80
# (seed, judge's and people's accuracy, people, eps) -> winning rate and advantage probability of their `alt_test`.
NOTEBOOK = {
    (1, 0.9, 0.85, 3, 0.1): (1.0, 0.975),
    (1, 0.9, 0.85, 3, 0.2): (1.0, 0.975),
    (2, 0.6, 0.85, 4, 0.1): (0.0, 0.790625),
    (2, 0.6, 0.85, 4, 0.2): (0.0, 0.790625),
    (3, 0.8, 0.8, 5, 0.1): (0.0, 0.8575),
    (3, 0.8, 0.8, 5, 0.2): (1.0, 0.8575),
}
Answers = dict[str, int]


def _same(one: int, others: Sequence[int]) -> float:
    return float(np.mean([one == other for other in others]))


def _data(seed: int, judge: float, people: float, many: int) -> tuple[Answers, dict[str, Answers]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, N)

    def answers(right: float) -> Answers:
        return {str(i): int(truth[i]) if rng.random() < right else int(rng.integers(0, 3)) for i in range(N)}

    return answers(judge), {f"p{place}": answers(people) for place in range(many)}


@pytest.mark.parametrize("case", list(NOTEBOOK))
def test_as_the_authors_have_it(case: tuple[int, float, float, int, float]) -> None:
    seed, right, people, many, eps = case
    found = alternative_annotator(*_data(seed, right, people, many), _same, eps)
    win_rate, advantage = NOTEBOOK[case]
    assert found.win_rate == pytest.approx(win_rate)
    assert found.advantage == pytest.approx(advantage)
    assert found.passes == (win_rate >= 0.5)
    assert found.n == N


def test_benjamini_and_yekutieli_as_statsmodels_has_it() -> None:
    p = [0.02, 0.001, 0.3, 0.004, 0.8, 0.012]
    assert benjamini_yekutieli(p) == [False, True, False, True, False, False]


def test_items_of_one_question_are_no_independent_proof() -> None:
    judge, people = _data(3, 0.8, 0.8, 5)
    twice = {f"{item}/{copy}": value for item, value in judge.items() for copy in "ab"}
    both = {name: {f"{i}/{c}": v for i, v in answers.items() for c in "ab"} for name, answers in people.items()}
    alone = alternative_annotator(judge, people, _same, 0.2)
    copied = alternative_annotator(twice, both, _same, 0.2, {item: item.partition("/")[0] for item in twice})
    assert [each.p for each in copied.people] == pytest.approx([each.p for each in alone.people])


def test_two_people_are_too_few() -> None:
    judge, people = _data(1, 0.9, 0.85, 2)
    found = alternative_annotator(judge, people, _same, 0.1)
    assert (found.win_rate, found.passes) == (None, False)
    assert found.reason == "2 of 2 people have marked 30 drawings that another marked too; the test needs 3"
