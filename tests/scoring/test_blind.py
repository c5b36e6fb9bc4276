"""A judge that gives another question's drawing about as much as the reference is called out, and no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from limner.core.evaluator import Evaluator, WrongDrawings
from limner.core.exam import Question
from limner.exams import kind, read, resolve
from limner.scoring import Entry, Group
from limner.scoring.groups import find_groups, with_warnings, wrong_drawings
from limner.store import Store
from limner.store.records import Drawing
from tests.cli.invoke import limner
from tests.scoring.compare.desk import Desk

JUDGE = Evaluator("e", {"judge": "judge"}, "judge")
MAIN = {"genexam": "strict", "mmmg": "mmmg_release", "worldgenbench": "checklist", "fepbench": "if"}
"""The leading score of some exams."""


def control(name: str, values: Sequence[float | None], exam: str = "genexam", painter: str = "") -> Group:
    """A control's drawings with these values of the exam's main score, one for each question."""
    first = read(resolve(f"sample/{exam}")).questions[0]
    questions = [replace(first, id=f"q{n:02}", tags={"level": "1"}) for n in range(len(values))]
    entries = [entry(name, each, value, exam) for each, value in zip(questions, values, strict=True)]
    return Group(painter or name, "direct", JUDGE, tuple(entries))


def entry(name: str, question: Question[Any], value: float | None, exam: str) -> Entry:
    id = f"{name} {question.id}"
    drawing = Drawing(id, exam, question.id, question.id, name, name, "direct", 0, "done", image="a" * 64)
    return Entry(question, drawing, None, (), {MAIN[exam]: value}, "done")


def found(reference: Sequence[float | None], shuffled: Sequence[float | None]) -> WrongDrawings | None:
    groups = [control("control/reference", reference), control("control/shuffled", shuffled)]
    return wrong_drawings(groups, kind("genexam").protocol)


def test_warning_gives_both_scores() -> None:
    warning = found([90, 89, 90] * 4, [88, 89, 87.6] * 4)
    words = "This judge passes wrong drawings: another question's drawing scores 88.2, the reference 89.7."
    assert warning is not None
    assert warning.reference == pytest.approx(89.6667)
    assert warning.words == words
    assert warning.to_json() | {"reference": None} == {
        "score": "strict", "shuffled": 88.2, "reference": None, "questions": 12, "words": words,
    }  # fmt: skip


@pytest.mark.parametrize(("questions", "flagged"), [(9, False), (10, True)])
def test_ten_common_questions_are_required(questions: int, flagged: bool) -> None:
    assert (found([100] * 20, [100] * questions) is not None) is flagged
    assert (found([100] * questions, [100] * 20) is not None) is flagged
    some = [100 if n < questions else None for n in range(20)]
    assert (found([100] * 20, some) is not None) is flagged


@pytest.mark.parametrize(("share", "flagged"), [(79.9, False), (80, True), (80.1, True), (100, True)])
def test_shuffled_score_of_four_fifths_of_reference_is_flagged(share: float, flagged: bool) -> None:
    assert (found([100] * 100, [share] * 100) is not None) is flagged


def test_insignificant_difference_is_flagged_below_four_fifths() -> None:
    unsure = found([100] * 7 + [0] * 5, [0] * 2 + [100] * 3 + [0] * 5 + [100] * 2)
    assert unsure is not None
    assert unsure.shuffled < 0.8 * unsure.reference
    assert found([100] * 12, [0] * 9 + [100] * 3) is None


def test_judge_failing_everything_is_not_flagged() -> None:
    assert found([0] * 12, [0] * 12) is None
    assert found([0] * 11 + [100], [0] * 12) is None, "the interval has 0 in it, but nothing wrong was passed"


def test_both_controls_are_required() -> None:
    protocol = kind("genexam").protocol
    groups = [control("control/reference", [90] * 12), control("control/blank", [90] * 12)]
    assert wrong_drawings(groups, protocol) is None
    assert wrong_drawings([], protocol) is None


def test_controls_are_identified_by_spec_and_plain_one_counts() -> None:
    named = control("control/shuffled", [90] * 12, painter="wrong")
    groups = [
        control("control/reference", [90] * 12),
        named,
        control("control/shuffled", [0] * 12, painter="wrong?a=1"),
    ]
    assert wrong_drawings(groups, kind("genexam").protocol) is not None
    assert wrong_drawings(groups[::2], kind("genexam").protocol) is None


@pytest.mark.parametrize("exam", MAIN)
def test_warning_uses_main_score_of_every_exam(exam: str) -> None:
    top = kind(exam).protocol.scored[0].top
    wrong = [control(name, [top * part] * 12, exam) for name, part in
             (("control/reference", 0.9), ("control/shuffled", 0.85))]  # fmt: skip
    warning = wrong_drawings(wrong, kind(exam).protocol)
    assert warning is not None
    assert warning.score == MAIN[exam]
    right = [wrong[0], control("control/shuffled", [0.1 * top] * 12, exam)]
    assert wrong_drawings(right, kind(exam).protocol) is None


def test_people_and_metrics_are_not_warned_about() -> None:
    groups = [control(name, [90] * 12) for name in ("control/reference", "control/shuffled")]
    person = [replace(group, evaluator=replace(JUDGE, kind="person")) for group in groups]
    protocol = kind("genexam").protocol
    assert [group.evaluator.passes_wrong_drawings is None for group in with_warnings(groups, protocol)] == [
        False,
        False,
    ]
    assert with_warnings(person, protocol) == person


@pytest.mark.parametrize("exam", ["sample/genexam", "sample/fepbench"])
def test_warning_stays_with_judge_for_any_selection(store: Store, exam: str) -> None:
    desk = Desk(store, exam)
    for question in desk.exam.questions:
        for judge, wrong in (("blind", 1), ("fair", 0)):
            for painter, share in (("mine", 0), ("control/reference", 1), ("control/shuffled", wrong)):
                marks = desk.marks(question, lambda top, share=share: top * share)  # type: ignore[misc]
                desk.put(painter, question, marks, judge=judge)
    choices: list[dict[str, Any]] = [{}, {"painters": ["mine"]}, {"without": ["control/shuffled"]}]
    for how in choices:
        _, groups = find_groups(exam, store=store, **how)
        assert {group.name for group in groups} >= {"mine"}
        assert ("control/shuffled" in {group.name for group in groups}) is (not how)
        warnings = {group.evaluator.name: group.evaluator.passes_wrong_drawings for group in groups}
        assert warnings["fair"] is None
        assert warnings["blind"] is not None


def test_table_says_when_the_judge_is_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(store, "sample/genexam")
    for question in desk.exam.questions:
        for judge in ("openai/o3", "openai/gpt-6.1-sol"):
            desk.put("mine", question, desk.marks(question, lambda top: top), judge=judge)
    said = "openai/o3 has been gone since 2026-12-11; its successor is openai/gpt-5.6-sol"
    for day, count in (("2026-12-10", 0), ("2026-12-11", 1)):
        monkeypatch.setenv("LIMNER_TODAY", day)
        shown = limner("scores", "sample/genexam", "--store", store.url).out
        assert " ".join(shown.split()).count(said) == count, shown
