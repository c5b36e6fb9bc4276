from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from limner.certify.trials import ExaminedReference, expected_effects, falls_with_nothing, labelled_criteria
from limner.core.evidence import TextLine
from limner.core.exam import Question
from limner.core.marks import Criterion
from limner.painters.controls.faults import FAULTS, Effect, Faulted
from tests.painters.controls.pictures import labelled

IMAGE, LINES = labelled()
CRITERIA = [
    Criterion("nucleus", "Is the nucleus labeled 'Nucleus'?", "point"),
    Criterion("both", "Are 'Cell wall' and 'Vacuole' labeled?", "point"),
    Criterion("number", "Is the length labeled 'Length 42 cm'?", "point"),
    Criterion("absent", "Is the label 'Chloroplast' present?", "point"),
    Criterion("looks", "Is the drawing neat?", "point"),
    Criterion("arrow", "Does an arrow lead to the membrane?", "point"),
    Criterion("narrow", "Is the stem narrowing towards the top?", "point"),
    Criterion("rating", "Are the labels 'Nucleus' spelled right?", "rating"),
    Criterion("named", "Vacuole", "point", labels=("Vacuole",)),
    Criterion("bad", "", "point", labels=("Plasmid",), present_means=0),
]


class Rubric(BaseModel):
    """No rubric: the criteria are given."""


def reference(lines: tuple[TextLine, ...] = LINES, criteria: list[Criterion] = CRITERIA) -> ExaminedReference:
    question: Question[Any] = Question("q", "Draw.", Rubric())
    return ExaminedReference(question, b"", lines, tuple(labelled_criteria(criteria, lines, frozenset({"point"}))))


def without(*texts: str) -> Faulted:
    return Faulted(IMAGE, tuple(line for line in LINES if line.text not in texts), "")


def effects(kind: str, faulted: Faulted, dose: int = 1, known: ExaminedReference | None = None) -> dict[str, Effect]:
    return expected_effects(FAULTS[kind], dose, faulted, known or reference(), CRITERIA)


def fallen(found: dict[str, Effect], word: Effect = "fall") -> set[str]:
    return {id for id, effect in found.items() if effect == word}


def test_only_criteria_with_visible_labels_are_claimed() -> None:
    assert {each.criterion.id for each in reference().labelled} == {"nucleus", "both", "number", "named"}


@pytest.mark.parametrize(
    ("gone", "fall"),
    [(("Nucleus",), {"nucleus"}), (("Cell wall",), {"both"}), (("Length 42 cm", "Vacuole"), {"number", "both"})],
)
def test_only_criteria_naming_removed_label_fall(gone: tuple[str, ...], fall: set[str]) -> None:
    found = effects("erase", without(*gone))
    assert fallen(found) == fall
    assert "Vacuole" in gone or fallen(found, "stand") == {"nucleus", "both", "number", "named"} - fall


def test_thing_that_may_be_drawn_does_not_fall_with_its_label() -> None:
    assert "named" not in effects("erase", without("Vacuole"))
    other = Faulted(IMAGE, (), "another picture")
    assert effects("other", other)["named"] == "fall"


def test_empty_picture_meets_only_criteria_about_an_absence() -> None:
    texts = [Criterion("there", "Is the 'Encoder' present?", "component"),
             Criterion("extra", "Is the 'Decoder' present?", "component", present_means=0)]  # fmt: skip
    assert falls_with_nothing(texts) == {"there": "fall"}


def test_swap_falls_only_where_criterion_binds_label_to_part() -> None:
    found = effects("swap", without("Nucleus", "Cell wall", "Vacuole"))
    assert found == {"nucleus": "fall", "number": "stand"}


def test_label_that_is_also_elsewhere_is_not_claimed_when_one_is_touched() -> None:
    again = TextLine("Nucleus", tuple((x, y + 400) for x, y in LINES[0].box), 0.95)  # type: ignore[arg-type]
    twice = reference((*LINES, again))
    one_left = Faulted(IMAGE, (*(line for line in LINES if line.text != "Nucleus"), again), "")
    assert "nucleus" not in effects("swap", one_left, known=twice)
    assert "nucleus" not in effects("erase", one_left, known=twice)


def test_criterion_that_shares_a_number_with_touched_label_does_not_stand() -> None:
    texts = [Criterion("weight", "Is the weight of x2 labeled '20'?", "point")]
    lines = tuple(
        TextLine(text, tuple((x + 300 * n, y) for x, y in LINES[0].box), 0.99)  # type: ignore[arg-type]
        for n, text in enumerate(("20", "20", "-30"))
    )
    known = reference(lines, texts)
    swapped = Faulted(IMAGE, lines[:1], "exchanged: '20', '-30'")
    assert expected_effects(FAULTS["swap"], 1, swapped, known, texts) == {}


def test_partly_cut_labels_are_not_claimed() -> None:
    part = tuple(line for line in LINES if line.text == "Nucleus")
    faulted = Faulted(IMAGE, tuple(line for line in LINES if line.text != "Nucleus"), "", part)
    assert "nucleus" not in effects("cut", faulted)


@pytest.mark.parametrize("kind", ["cut", "region", "arrow"])
def test_nothing_stands_where_drawn_parts_are_gone(kind: str) -> None:
    assert "stand" not in effects(kind, without("Nucleus"), 3).values()


def test_arrow_criteria_fall_only_when_all_arrows_are_removed() -> None:
    for dose, word in ((1, None), (2, None), (3, "fall")):
        assert effects("arrow", without(), dose).get("arrow") == word
    assert "narrow" not in effects("arrow", without(), 3)
