"""What the words of a drawing prove."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.evidence import TextLine
from limner.core.marks import Criterion, values
from limner.judges.ocr.examine import decide, examine
from limner.judges.ocr.labels import Label, LabelClaim, claim
from tests.judges.pages import apart, stacked

POINT = frozenset({"point"})


def decision(text: str, lines: list[TextLine]) -> int | None:
    found = claim(text)
    assert found
    return decide(found, lines).value


def test_all_labels_found_prove_a_criterion_that_asks_no_more() -> None:
    found = claim("Are the nucleus and the cell wall labeled?")
    assert found
    proved = decide(found, [*apart("Nucleus", "x"), *stacked(["Cell", "wall"], y=900)])
    assert proved.value == 1
    assert "'Nucleus'" in proved.reason
    assert "'Cell wall'" in proved.reason


def test_found_labels_prove_nothing_where_more_is_asked() -> None:
    assert decision("Is the nucleus labeled and shown in the middle?", apart("Nucleus")) is None


def test_one_missing_label_disproves() -> None:
    found = claim("Are the nucleus and the vacuole labeled and correctly placed?")
    assert found
    missing = decide(found, apart("Nucleus", "Cytoplasm"))
    assert missing.value == 0
    assert missing.reason == "'vacuole' not found, nearest line 'Nucleus'"


def test_a_drawing_without_text_carries_no_label() -> None:
    found = claim("Is the nucleus labeled?")
    assert found
    assert decide(found, []).reason == "'nucleus' not found, no text at all"


@pytest.mark.parametrize("text", ["Nuclei", "Nucleovs", "Nucleolus", "The nucleus is found inside of every plant cell"])
def test_in_doubt_nothing_is_proved(text: str) -> None:
    assert decision("Are the nucleus and vacuole labeled?", apart(text, "Vacuole")) is None


def test_any_one_will_do() -> None:
    text = "Is each panel labeled 'Attraction' or 'Repulsion'?"
    assert decision(text, apart("Gravity")) == 0
    assert decision(text, apart("Repulsion")) is None
    either = LabelClaim((Label("Attraction", firm=True), Label("Repulsion", firm=True)), "any", True)
    assert decide(either, apart("Repulsion")).value == 1


def test_a_single_letter_may_be_overlooked_but_not_many() -> None:
    assert decision("Is a triangle with vertices labeled A, B, and C drawn?", apart("Triangle")) is None
    assert decision("Is a square with vertices labeled A, B, C, and D drawn?", apart("Square")) == 0
    assert decision("Is a square with vertices labeled A, B, C, and D drawn?", apart("Square", "B")) is None


def test_synonyms_save_a_label_from_being_missed() -> None:
    assert decision("Are water and carbon dioxide labeled?", apart("H₂O", "CO₂")) is None
    assert decision("Are water and carbon dioxide labeled?", apart("Nothing else")) == 0


LABELS = st.sampled_from(["nucleus", "cell wall", "vacuole", "ribosome", "chloroplast", "cytoplasm"])
TEXTS = st.lists(st.one_of(LABELS, st.text(st.characters(codec="ascii"), max_size=20)), max_size=6)


@given(st.lists(LABELS, min_size=1, max_size=3, unique=True), TEXTS, TEXTS)
def test_further_lines_never_turn_yes_into_no(names: list[str], first: list[str], more: list[str]) -> None:
    demanded = LabelClaim(tuple(Label(name, firm=True) for name in names), "all", True)
    lines = [*apart(*names), *stacked(first, y=2000)]
    before = decide(demanded, lines).value
    after = decide(demanded, [*lines, *stacked(more, y=1990)]).value
    assert before != 0
    assert after != 0


@given(st.lists(LABELS, min_size=1, max_size=3, unique=True), TEXTS, TEXTS)
def test_further_lines_never_turn_doubt_into_no(names: list[str], first: list[str], more: list[str]) -> None:
    demanded = LabelClaim(tuple(Label(name, firm=True) for name in names), "all", True)
    if decide(demanded, apart(*first)).value != 0:
        assert decide(demanded, [*apart(*first), *stacked(more, y=5000)]).value != 0


def test_examine_marks_every_criterion() -> None:
    criteria = [
        Criterion("point/1", "Are the nucleus and vacuole labeled?", "point"),
        Criterion("point/2", "Is the ribosome present and labeled?", "point"),
        Criterion("point/3", "Is the cell round?", "point"),
        Criterion("spelling", "Is the spelling right?", "rating", top=2),
    ]
    marks = examine(criteria, apart("Nucleus", "Vacuole"), POINT)
    assert [mark.criterion for mark in marks] == [c.id for c in criteria]
    assert values(marks) == {"point/1": 1, "point/2": 0}
    assert {mark.source for mark in marks} == {"ocr"}
    assert all(mark.reason for mark in marks)


@pytest.mark.parametrize(
    ("words", "plain", "exact"),
    [
        ("Chloroplast", 1, 1),
        ("CHLOROPLAST", 1, 1),
        ("Chloropiast", 1, None),
        ("Chloroplasts", 1, None),
        ("Chloroplast A", 1, None),
    ],
)
def test_an_exact_label_forgives_no_slip_and_no_further_word(words: str, plain: int, exact: int | None) -> None:
    criteria = [Criterion(str(way), "", "label", labels=("Chloroplast",), exact=way) for way in (False, True)]
    found = [mark.value for mark in examine(criteria, apart(words), frozenset({"label"}))]
    assert found == [plain, exact]
