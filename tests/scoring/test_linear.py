"""Which scores are weighted sums of marks, found by asking the protocols of all sample exams."""

from __future__ import annotations

from typing import Any

import pytest

from limner import exams
from limner.core.marks import Mark
from limner.core.protocol import Protocol
from limner.scoring import Entry
from limner.scoring.linear import weights_of
from limner.store.records import Drawing

SUMS = {
    "sample/genexam": {"relaxed", "semantic", "spelling", "readability", "logic"},
    "sample/worldgenbench": {"checklist"},
    "sample/mmmg": set(),
}


def _entry(name: str, value: int) -> tuple[Entry, Protocol[Any]]:
    exam = exams.read(exams.resolve(name))
    protocol = exams.kind(exam.kind).protocol
    question = exam.questions[0]
    marks = tuple(Mark(each.id, min(value, each.top)) for each in protocol.criteria(question))
    drawing = Drawing("d", name, question.id, question.hash, "p", "folder/p", "direct", 0, "done")
    return Entry(question, drawing, None, marks, protocol.scores(question, marks, {}), "done"), protocol


@pytest.mark.parametrize("name", list(SUMS))
def test_sums_are_found_and_nothing_else(name: str) -> None:
    for value in (0, 1):
        entry, protocol = _entry(name, value)
        known = protocol.parts(entry.row)
        found = weights_of(entry, protocol, known)
        assert {part for part in found if part in {score.name for score in protocol.scored}} >= SUMS[name]
        assert "strict" not in found
        for part, weights in found.items():
            best = {each.id: float(each.top) for each in protocol.criteria(entry.question)}
            marks = [Mark(each, int(top)) for each, top in best.items()]
            full = Entry(entry.question, entry.drawing, None, tuple(marks), protocol.scores(entry.question, marks, {}))
            assert weights.top(best) == pytest.approx(protocol.parts(full.row)[part][0], rel=0.006)


def test_only_what_is_asked_for() -> None:
    entry, protocol = _entry("sample/genexam", 1)
    assert set(weights_of(entry, protocol, {"relaxed", "strict"})) == {"relaxed"}


def test_the_weights_of_a_graded_mark() -> None:
    entry, protocol = _entry("sample/genexam", 1)
    relaxed = weights_of(entry, protocol, {"relaxed"})["relaxed"]
    assert relaxed.steps["spelling", 1] == pytest.approx(5, abs=0.11)
    assert relaxed.steps["spelling", 2] == pytest.approx(5, abs=0.11)
    points = sum(gain for (name, _), gain in relaxed.steps.items() if name.startswith("point/"))
    assert points == pytest.approx(70, abs=0.5)
