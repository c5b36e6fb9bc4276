"""Typical faults: how often, and which drawings show them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limner.core.exam import Question
from limner.core.marks import Criterion, Mark
from limner.exams.genexam.data import ScoringPointsRubric
from limner.scoring import Entry
from limner.site.faults import SHOWN, Faults
from limner.site.inventory import DrawingSlot
from limner.store.records import Drawing

RUBRIC = ScoringPointsRubric.model_validate({"scoring_points": [{"question": "Is it there?", "score": 1.0}]})
CRITERIA = [
    Criterion("point/1", "a", "point", 1, 0.2),
    Criterion("point/2", "b", "point", 1, 0.8),
    Criterion("logic", "c", "rating", 2),
]


def entry(number: int, *values: int | None) -> tuple[DrawingSlot, Entry]:
    question = Question(f"q{number}", "Draw.", RUBRIC)
    drawing = Drawing(f"d{number}", "e", question.id, question.hash, "me", "x", "direct", 0, "done")
    pairs = zip(CRITERIA, values, strict=True)
    marks = [Mark(c.id, value, "why") if value is not None else Mark.abstain(c.id, "") for c, value in pairs]
    return (
        DrawingSlot(drawing.id, number, number, 0, 0, None, "done"),
        Entry(question, drawing, None, tuple(marks), status="done"),
    )


def test_shares_and_the_gravest_example_of_each_question() -> None:
    faults = Faults()
    for number, values in enumerate([(0, 0, 2), (1, 0, 1), (None, 1, 2)]):
        slot, one = entry(number, *values)
        faults.add(0, slot, one, CRITERIA)
    point, logic = faults.of(0, 0)
    assert (point["sort"], point["decided"], point["met"], point["failed"]) == ("point", 5, 2.0, 3)
    assert [(one["q"], one["text"]) for one in point["examples"]] in ([(0, "b"), (1, "b")], [(1, "b"), (0, "b")])
    assert (logic["met"], logic["failed"], logic["examples"][0]["value"]) == (2.5, 1, 1)
    assert faults.of(1, 0) == faults.of(0, 1) == []
