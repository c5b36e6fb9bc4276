from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.certify.examine import MarkedTrial
from limner.certify.proof import (
    CORRUPTIONS,
    SWEEPING,
    CriterionProof,
    RubricProof,
    make_proof,
    shared_criteria,
    unkilled,
)
from limner.certify.trials import Trial
from limner.core.exam import Question
from limner.core.marks import Mark

SOURCE = exams.resolve("sample/genexam", None)
PROTOCOL = exams.kind(SOURCE.kind).protocol
QUESTIONS = exams.read(SOURCE).questions
Answers = Mapping[str, bool | Sequence[bool | None] | None]
"""By kind of picture, what is said of a criterion each time it is asked."""
GOOD: Answers = {"clean": (True, True), "blank": False, "text": False, "other": False, "unseen": False, "erase": False}


def marked(
    question: Question[Any], given_: Mapping[str, Answers], must: Mapping[str, str] | None = None
) -> list[MarkedTrial]:
    """The marks of one question: of these criteria these answers; `must` says what becomes of them by picture."""
    found: dict[tuple[str, int], list[Mark]] = {}
    tops = {one.id: one.top for one in PROTOCOL.criteria(question)}
    for id, answers in given_.items():
        for kind, said in answers.items():
            for repeat, yes in enumerate(said if isinstance(said, tuple) else (said,)):
                mark = Mark.abstain(id, "unsure") if yes is None else Mark(id, tops[id] * bool(yes))
                found.setdefault((kind, repeat), []).append(mark)
    return [
        MarkedTrial(
            Trial(question, kind, 0, "0" * 64, dict.fromkeys(given_, (must or {}).get(kind)), ""),  # type: ignore[arg-type]
            repeat,
            tuple(marks),
        )
        for (kind, repeat), marks in found.items()
    ]


def proof_of(answers: Answers, must: Mapping[str, str] | None = None) -> CriterionProof:
    """What is made of one criterion; another one is as it should be, and keeps the judge from guessing everywhere."""
    others = {f"point/{n}": GOOD for n in range(2, 7)}
    steps = marked(QUESTIONS[0], {"point/1": answers, **others}, must)
    return make_proof(steps, QUESTIONS[:1], PROTOCOL, lambda *_: []).criteria[0]


def kinds(one: CriterionProof) -> list[str]:
    return [reason.kind for reason in one.reasons]


def test_criterion_met_by_reference_and_killed_by_corruption_is_proved() -> None:
    one = proof_of(GOOD)
    assert (one.verdict, one.killed, one.reasons) == ("proved", ("erase",), ())


def test_criterion_not_met_by_reference_needs_mending() -> None:
    assert kinds(proof_of({**GOOD, "clean": (False, False)})) == ["reference"]
    assert kinds(proof_of({**GOOD, "clean": (True, False)})) == ["unsteady"]


def test_criterion_surviving_loss_of_its_subject_needs_mending() -> None:
    one = proof_of({**GOOD, "erase": True}, {"erase": "fall"})
    assert (one.verdict, kinds(one), one.survived) == ("mend", ["unkilled"], ("erase",))
    assert "still met where what it names is gone: erase (all)" in one.reasons[0].detail
    assert proof_of({**GOOD, "erase": True, "arrow": False}, {"erase": "fall"}).verdict == "proved"


def test_unrelated_corruption_does_not_test_criterion() -> None:
    one = proof_of({**GOOD, "erase": True, "region": True}, {"erase": "stand", "region": "stand"})
    assert (one.verdict, one.killed) == ("untested", ())


def test_criterion_unchanged_by_any_corruption_needs_mending() -> None:
    stands = {**GOOD, "erase": True, "arrow": True, "cut": True}
    assert kinds(proof_of(stands)) == ["unkilled"]
    assert proof_of({**stands, "cut": None}).verdict == "undecided"


def test_blank_sheet_is_ignored_when_corruption_kills_criterion() -> None:
    assert kinds(proof_of({**GOOD, "erase": None, "blank": True})) == ["blank"]
    assert proof_of({**GOOD, "blank": True}).verdict == "proved"


def test_guess_counts_only_if_judge_rarely_guesses() -> None:
    assert kinds(proof_of({"unseen": True, "blank": False})) == []
    everything = {f"point/{n}": {**GOOD, "erase": None} for n in range(1, 8)}
    many = [
        step
        for n, question in enumerate(QUESTIONS[:3])
        for step in marked(
            question, {id: {**one, "unseen": not n and id == "point/1"} for id, one in everything.items()}
        )
    ]
    found = make_proof(many, QUESTIONS[:3], PROTOCOL, lambda *_: [])
    assert [(one.question, one.criterion) for one in found.mend] == [(QUESTIONS[0].id, "point/1")]
    assert kinds(found.mend[0]) == ["guessed"]


def test_criterion_without_reference_is_untested_unless_met_by_blank() -> None:
    assert proof_of({"blank": (False, False), "text": False}).verdict == "untested"
    assert kinds(proof_of({"blank": (True, True), "text": False})) == ["blank"]
    assert kinds(proof_of({"blank": (True, False), "text": False})) == ["unsteady", "blank"]


def test_wording_rules_apply_only_to_rubric_criteria() -> None:
    steps = [step for question in QUESTIONS for step in marked(question, {})]
    found = make_proof(steps, QUESTIONS, PROTOCOL, lambda _, criterion: [("general", criterion.text)])
    shared = {one.criterion for one in found.criteria if one.shared}
    assert shared == {"spelling", "readability", "logic"}
    assert {one.criterion for one in found.mend}.isdisjoint(shared)
    assert len(found.mend) == len(found.criteria) - 3 * len(QUESTIONS)
    assert shared_criteria(QUESTIONS[:1], PROTOCOL) == frozenset()
    assert len(shared_criteria([QUESTIONS[0], QUESTIONS[0]], PROTOCOL)) == 3, "what a rubric says is the rubric's"


def test_picture_passes_only_if_all_criteria_are_met() -> None:
    ids = [one.id for one in PROTOCOL.criteria(QUESTIONS[0])]
    for values, word in (
        ([None] * 9 + [False], "fails"),
        ([True] * 9 + [None], "undecided"),
        ([True] * 10, "passes"),
    ):
        given_: dict[str, Answers] = {id: {"clean": value} for id, value in zip(ids, values, strict=True)}
        assert make_proof(marked(QUESTIONS[0], given_), QUESTIONS[:1], PROTOCOL, lambda *_: []).passes == {
            QUESTIONS[0].id: {"clean": word}
        }


def test_more_is_asked_only_where_met_criterion_is_not_killed() -> None:
    taken = marked(QUESTIONS[0], {"point/1": GOOD, "point/2": {"clean": None, "erase": None}})
    left = marked(QUESTIONS[1], {"point/1": GOOD, "point/2": {**GOOD, "erase": None}})
    assert unkilled([*taken, *left], PROTOCOL) == {QUESTIONS[1].id}


pictures = st.dictionaries(
    st.sampled_from(("clean", "blank", "text", "other", "unseen", *CORRUPTIONS)), st.sampled_from((True, False, None))
)


@given(pictures, st.dictionaries(st.sampled_from(CORRUPTIONS), st.sampled_from(("fall", "stand"))))
def test_verdicts_are_consistent_with_reasons(answers: dict[str, bool | None], must: dict[str, str]) -> None:
    one = proof_of(answers, must)
    assert (one.verdict == "mend") == bool(one.reasons)
    if one.verdict == "proved":
        assert answers["clean"] is True
        assert any(answers.get(name) is False for name in CORRUPTIONS)
    silent = proof_of(dict.fromkeys(answers), must)
    assert silent.verdict in ("undecided", "untested"), "an abstention is never a failure"
    assert make_proof(marked(QUESTIONS[0], {"point/1": answers}), QUESTIONS[:1], PROTOCOL, lambda *_: []).to_json()


SORTS = ("good", "good", "good", "good", "general", "always-true", "invisible")
"""What the seven criteria of a question are: good ones, and bad ones that only looking shows."""


def truth(sort: str, kind: str, place: int) -> bool:
    """What a judge that sees everything says: of good criteria half name labels, half what is drawn."""
    if sort == "always-true":
        return True
    if sort == "general":
        return kind not in ("blank", "unseen", "other", "text")
    if sort == "invisible":
        return False
    return kind not in ("blank", "unseen", "other", "text", "erase" if place % 2 else "arrow")


def noisy(rate: float, seed: int, count: int = 60) -> tuple[RubricProof, dict[tuple[str, str], str]]:
    """A proof by a judge that errs at a rate; and what each criterion is."""
    chance = random.Random(seed)
    steps, sorts, questions = [], {}, []
    for n in range(count):
        question = Question(f"q{n}", "", QUESTIONS[0].rubric)
        questions.append(question)
        given_: dict[str, Answers] = {}
        for place, sort in enumerate(SORTS):
            id = f"point/{place + 1}"
            sorts[question.id, id] = sort
            asked = {kind: truth(sort, kind, place) for kind in ("blank", "text", "other", "unseen", *SWEEPING, "cut")}
            said = {kind: yes != (chance.random() < rate) for kind, yes in asked.items()}
            clean = tuple(truth(sort, "clean", place) != (chance.random() < rate) for _ in range(2))
            given_[id] = {**said, "clean": clean}
        steps += marked(question, given_)
    return make_proof(steps, questions, PROTOCOL, lambda *_: []), sorts


@pytest.mark.parametrize(("rate", "least", "most"), [(0.0, 1.0, 0.0), (0.02, 0.9, 0.08), (0.05, 0.8, 0.17)])
def test_bad_criteria_are_found_from_marks_alone(rate: float, least: float, most: float) -> None:
    found, sorts = noisy(rate, 1)
    share = {
        sort: [one.verdict == "mend" for one in found.criteria if sorts.get((one.question, one.criterion)) == sort]
        for sort in dict.fromkeys(SORTS)
    }
    rates = {sort: sum(some) / len(some) for sort, some in share.items()}
    print(f"errors {rate:.0%}:", {sort: f"{value:.1%}" for sort, value in rates.items()})
    assert rates["good"] <= most
    assert min(rates[sort] for sort in SORTS if sort != "good") >= least
