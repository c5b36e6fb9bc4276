"""How sure a judge is: members, repeats, distance; and what twice as much would gain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from limner import exams
from limner.core.evaluator import Evaluator
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.scoring import Entry, Group
from limner.scoring.confidence import DISTANCE, MEMBERS, REPEATS, agreement, confidences
from limner.scoring.purchases import judge_components, people_components, purchases
from limner.store.markings import Marking
from limner.store.records import Drawing

EXAM = exams.read(exams.resolve("sample/worldgenbench"))
PROTOCOL = exams.kind(EXAM.kind).protocol
SCORE = PROTOCOL.scored[0]


def _entry(question: Question[Any], values: list[int], repeat: int = 0, painter: str = "p", seed: int = 0) -> Entry:
    id = f"{painter}/{question.id}/{seed}"
    drawing = Drawing(id, EXAM.name, question.id, question.hash, painter, "folder/p", "direct", seed, "done")
    names = [each.id for each in PROTOCOL.criteria(question)]
    marks = tuple(Mark(name, values[place % len(values)]) for place, name in enumerate(names))
    marking = Marking("m", id, question.hash, None, "s", repeat, "done")
    return Entry(question, drawing, marking, marks, PROTOCOL.scores(question, marks, {}), "done")


def _group(entries: list[Entry], who: str = "a", painter: str = "p", kind: str = "judge") -> Group:
    return Group(painter, "direct", Evaluator(who, {"judge": who}, who, kind), tuple(entries))


def test_agreement_is_the_share_of_the_commonest_mark() -> None:
    question = EXAM.questions[0]
    entries = [_entry(question, [1]), _entry(question, [1], 1), _entry(question, [0], 2)]
    assert agreement(entries, PROTOCOL) == pytest.approx(2 / 3)
    assert agreement(entries[:2], PROTOCOL) == 1.0
    assert agreement([], PROTOCOL) == 0.0


def test_what_confidence_rests_on() -> None:
    question = EXAM.questions[0]
    once, twice = _group([_entry(question, [1])]), _group([_entry(question, [1]), _entry(question, [0], 1)])
    members = [_group([_entry(question, [1])], "b"), _group([_entry(question, [1])], "c")]
    id = once.entries[0].drawing.id
    assert confidences([once], members, SCORE, PROTOCOL) == ({id: 1.0}, MEMBERS)
    assert confidences([twice], [], SCORE, PROTOCOL) == ({id: 0.5}, REPEATS)
    assert confidences([once], [], SCORE, PROTOCOL) == ({id: 1.0}, DISTANCE)
    half = _group([_entry(question, [1, 0])])
    value = half.entries[0].scores[SCORE.name]
    assert value is not None
    assert confidences([half], [], SCORE, PROTOCOL)[0][id] == pytest.approx(abs(2 * value / SCORE.top - 1))


def test_an_open_criterion_is_no_agreement() -> None:
    question = EXAM.questions[0]
    entry = _entry(question, [1])
    open_ = Entry(question, entry.drawing, entry.marking, tuple(Mark.abstain(m.criterion, "") for m in entry.marks))
    assert agreement([entry, open_], PROTOCOL) == 0.5


def test_what_to_buy_next_is_what_varies_most() -> None:
    """Repeats of this judge differ, its seeds do not: more repeats gain more than more seeds."""
    rng = np.random.default_rng(3)
    groups, people = [], []
    for painter in ("p", "q"):
        entries, theirs = [], []
        for question in EXAM.questions:
            for seed in (0, 1):
                entries += [_entry(question, rng.integers(0, 2, 9).tolist(), r, painter, seed) for r in (0, 1)]
            theirs.append(_entry(question, [1, 1, 0], 0, painter))
        groups.append(_group(entries, "a", painter))
        people += [_group(theirs, who, painter, "person") for who in ("anna", "ben")]
    mine, others = judge_components(groups, SCORE), people_components(people, SCORE)
    assert mine.share("judge repeat") > 0.5
    found = {(each.who, each.what): each for each in purchases(groups, people, mine, others)}
    repeats, questions = found["judge", "repeats"], found["judge", "questions"]
    assert repeats.then is not None
    assert questions.then is not None
    assert questions.then == pytest.approx(questions.error / np.sqrt(2))
    assert questions.then <= repeats.then < repeats.error
    assert ("people", "raters") in found
    assert ("people", "drawings") in found
