from __future__ import annotations

import pytest

from limner import exams
from limner.certify.bias import TrialAnswer
from limner.certify.certificate import consistency, dose_response
from limner.certify.examine import ChosenPair, MarkedTrial
from limner.certify.trials import Trial
from limner.core.marks import Mark
from limner.judges import OcrJudge, Unseeing


def answer(question: int, dose: int, expected: str | None, yes: bool | None, kind: str = "erase") -> TrialAnswer:
    return TrialAnswer(f"q{question}", kind, dose, "c", expected, yes)  # type: ignore[arg-type]


def test_dose_response_counts_expected_and_unexpected_falls() -> None:
    answers = [answer(n, 1, "fall", n >= 2) for n in range(8)] + [answer(n, 3, "fall", n >= 6) for n in range(8)]
    answers += [answer(n, 1, "stand", n != 0) for n in range(4)] + [
        answer(9, 1, "fall", None),
        answer(9, 1, None, False),
    ]
    rows = {(row["kind"], row["dose"]): row for row in dose_response(answers)}
    first = rows["erase", 1]
    assert (first["must_fall"], first["must_stand"], first["undecided"]) == (9, 4, 1)
    assert first["seen"]["value"] == pytest.approx(0.25)
    assert first["false_alarms"]["value"] == pytest.approx(0.25)
    assert rows["erase", 3]["seen"]["value"] == pytest.approx(0.75)
    assert rows["erase", 2]["questions"] == 0


@pytest.mark.parametrize(("missed", "reached"), [(0, True), (1, False)])
def test_self_consistency_matches_mmmg_report(missed: int, reached: bool) -> None:
    source = exams.resolve("sample/mmmg", None)
    protocol, marked = exams.kind(source.kind).protocol, []
    for question in exams.read(source).questions:
        criteria = protocol.criteria(question)
        marks = tuple(Mark(one.id, 0 if n < missed * 3 else one.top) for n, one in enumerate(criteria))
        marked.append(MarkedTrial(Trial(question, "clean", 0, "0" * 64, {}, ""), 0, marks))
    found = consistency(marked, protocol)
    assert found["tag"] == "level"
    assert found["least"] == {"fidelity_release": 0.92, "u_acc": 0.91}
    assert found["reached"] is reached
    assert len(found["rows"]) == len({one.trial.question.tags["level"] for one in marked})


def test_pair_choice_is_correct_in_either_order() -> None:
    question = exams.read(exams.resolve("sample/genexam", None)).questions[0]
    clean, faulty = (Trial(question, kind, dose, "0" * 64, {}, "") for kind, dose in (("clean", 0), ("erase", 3)))
    for shown_first, choice, first, right in (
        (True, "first", True, True), (True, "second", False, False), (False, "first", True, False),
        (False, "second", False, True),
    ):  # fmt: skip
        found = ChosenPair(clean, faulty, shown_first, choice).answer()
        assert found is not None
        assert (found.first, found.right) == (first, right)
    tie = ChosenPair(clean, faulty, True, "tie").answer()
    assert tie is not None
    assert (tie.first, tie.right) == (None, None)
    assert ChosenPair(clean, faulty, True, None, fault="refused").answer() is None


def test_ocr_examiner_can_be_asked_without_picture() -> None:
    assert issubclass(OcrJudge, Unseeing)
