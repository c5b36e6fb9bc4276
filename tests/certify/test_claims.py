from __future__ import annotations

import pytest

from limner.certify.trials import expected_effects, labelled_criteria
from limner.core.marks import Criterion
from limner.painters.controls.faults import FAULTS, Faulted
from tests.painters.controls.pictures import labelled

IMAGE, LINES = labelled()
CRITERIA = [
    Criterion("nucleus", "Is the nucleus labeled 'Nucleus'?", "point"),
    Criterion("both", "Are the labels 'Membrane' and 'Cell wall' both present?", "point"),
    Criterion("number", "Is the label 'Length 42 cm' present?", "point"),
    Criterion("absent", "Is the label 'Chloroplast' present?", "point"),
    Criterion("looks", "Is the drawing neat?", "point"),
    Criterion("arrow", "Does an arrow lead to the membrane?", "point"),
    Criterion("rating", "Are the labels 'Nucleus' spelled right?", "rating"),
    Criterion("named", "", "point", labels=("Vacuole",)),
    Criterion("bad", "", "point", labels=("Plasmid",), present_means=0),
]
LABELLED = labelled_criteria(CRITERIA, LINES, frozenset({"point"}))


def without(*texts: str) -> Faulted:
    return Faulted(IMAGE, tuple(line for line in LINES if line.text not in texts), "")


def test_only_criteria_with_visible_labels_are_claimed() -> None:
    assert {one.criterion.id for one in LABELLED} == {"nucleus", "both", "number", "named"}


@pytest.mark.parametrize(
    ("gone", "fall"),
    [(("Nucleus",), {"nucleus"}), (("Cell wall",), {"both"}), (("Length 42 cm", "Vacuole"), {"number", "named"})],
)
def test_only_criteria_naming_removed_label_fall(gone: tuple[str, ...], fall: set[str]) -> None:
    found = expected_effects(FAULTS["erase"], 1, without(*gone), LABELLED, CRITERIA)
    assert {id for id, word in found.items() if word == "fall"} == fall
    assert {id for id, word in found.items() if word == "stand"} == {"nucleus", "both", "number", "named"} - fall


def test_swap_makes_no_claim_about_criteria_on_words_only() -> None:
    found = expected_effects(FAULTS["swap"], 1, without("Nucleus", "Cell wall", "Vacuole"), LABELLED, CRITERIA)
    assert found == {"nucleus": "fall", "number": "stand"}


def test_partly_cut_labels_are_not_claimed() -> None:
    part = tuple(line for line in LINES if line.text == "Nucleus")
    faulted = Faulted(IMAGE, tuple(line for line in LINES if line.text != "Nucleus"), "", part)
    assert "nucleus" not in expected_effects(FAULTS["cut"], 1, faulted, LABELLED, CRITERIA)


def test_blur_must_be_seen_only_when_text_is_illegible() -> None:
    claims = [expected_effects(FAULTS["blur"], dose, Faulted(IMAGE, (), ""), LABELLED, CRITERIA) for dose in (1, 2, 3)]
    assert set(claims[0].values()) == {"stand"}
    assert claims[1] == {}
    assert set(claims[2].values()) == {"fall"}


def test_arrow_criteria_fall_only_when_all_arrows_are_removed() -> None:
    for dose, word in ((1, None), (2, None), (3, "fall")):
        found = expected_effects(FAULTS["arrow"], dose, without(), LABELLED, CRITERIA)
        assert found.get("arrow") == word
        assert found["number"] == "stand"


def test_criterion_holds_when_label_remains_elsewhere() -> None:
    twice = (*LINES, LINES[0])
    again = labelled_criteria(CRITERIA, twice, frozenset({"point"}))
    faulted = Faulted(IMAGE, LINES, "")
    assert expected_effects(FAULTS["erase"], 1, faulted, again, CRITERIA)["nucleus"] == "stand"
