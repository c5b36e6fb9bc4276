"""Finding labels among the lines of a drawing."""

from __future__ import annotations

import doctest
import string

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from limner.judges.ocr import matching
from limner.judges.ocr.matching import EXACT_LENGTH, Page, allowed_slips, outline, same_word, slips, tokens
from tests.judges.pages import apart, beside, line, stacked, upward

WORDS = st.text(string.ascii_letters, min_size=1, max_size=12)
LABELS = st.lists(WORDS, min_size=1, max_size=3).map(" ".join)
FULL_WIDTH = str.maketrans({chr(c): chr(c + 0xFEE0) for c in range(0x21, 0x7F)})

SAME = [
    ("Real GDP", "REAL GDP"),
    ("Real GDP", "RealGDP"),
    ("CO2", "CO₂"),
    ("Young's modulus", "Young’s modulus"),
    ("X-axis", "x axis"),
    ("6 × 6", "6 x 6"),
    ("pré-synaptic", "pre–synaptic"),
    ("7 mm", "7mm"),
    ("100 °C", "100℃"),
    ("W_max", "Wmax"),
    ("μ", "µ"),
    ("Α", "A"),
    ("ligament", "→ ligament"),
    ("Lorenz curve", "2. Lorenz curve"),
    ("chloroplast", "chloropiast"),
    ("Endoplasmic reticulum", "Endoplasmic reticulun"),
    ("nucleus", "Nucleus (LGN)"),
    ("cell", "cells"),
    ("AD", "A D"),
]

OTHER = [
    ("alkane", "alkene"),
    ("ethane", "methane"),
    ("Region I", "Region II"),
    ("Stage 1", "Stage 2"),
    ("A", "A'"),
    ("a'", "a"),
    ("P", "P1"),
    ("-70 mV", "70 mV"),
    ("1.5", "15"),
    ("G♯", "G"),
    ("G♭", "G"),
    ("afferent", "efferent"),
    ("hypertonic", "hypotonic"),
    ("intermolecular", "intramolecular"),
    ("nucleus", "nucleolus"),
    ("ration", "concentration"),
    ("LRAS1", "LRAS2"),
]


@pytest.mark.parametrize(("label", "text"), SAME)
def test_label_matches_equivalent_text(label: str, text: str) -> None:
    assert Page([line(text)]).find(label)


@pytest.mark.parametrize(("label", "text"), OTHER)
def test_label_does_not_match_other_text(label: str, text: str) -> None:
    assert not Page([line(text)]).find(label)


@given(LABELS, st.sampled_from([str.upper, str.lower, str.title, lambda s: s.translate(FULL_WIDTH)]))
def test_a_label_matches_itself_in_any_case_and_width(label: str, change: object) -> None:
    assert callable(change)
    match = Page([line(change(label))]).find(label)
    assert match
    assert match.slips == 0


@given(LABELS, st.sampled_from([stacked, beside, lambda parts: [*reversed(stacked(parts))]]))
def test_a_label_may_be_broken_over_lines(label: str, lay: object) -> None:
    assert callable(lay)
    match = Page(lay(label.split())).find(label)
    assert match
    assert match.slips == 0


def test_label_beside_vertical_axis_may_be_broken_over_lines() -> None:
    page = Page([upward("Births and", 0, 200), upward("Deaths rate", 22, 200)])
    assert page.find("Births and Deaths rate")


def test_distant_lines_are_not_joined() -> None:
    assert not Page(apart("Optic", "nerve")).find("Optic nerve")


@given(st.text(string.ascii_lowercase, min_size=1, max_size=EXACT_LENGTH), st.text(string.ascii_lowercase, min_size=1))
def test_short_label_must_match_exactly(label: str, seen: str) -> None:
    assume(label != seen and not same_word(label, seen))
    assert slips(label, seen) is None


@given(st.text(string.ascii_lowercase, min_size=3, max_size=8), st.integers(0, 99), st.integers(0, 99))
def test_digits_must_match_exactly(word: str, one: int, two: int) -> None:
    assume(one != two)
    assert not Page([line(f"{word} {two}")]).find(f"{word} {one}")
    assert not Page([line(f"{word}{two}")]).find(f"{word}{one}")


@given(
    st.text(string.ascii_lowercase, min_size=1, max_size=15), st.text(string.ascii_lowercase, min_size=1, max_size=15)
)
def test_slips_never_exceed_allowance(wanted: str, seen: str) -> None:
    count = slips(wanted, seen)
    assert count is None or count <= allowed_slips(len(wanted))
    assert slips(wanted, wanted) == 0


def test_allowed_slips_match_stated_thresholds() -> None:
    assert [allowed_slips(n) for n in (1, 4, 5, 9, 10, 30)] == [0, 0, 1, 1, 2, 2]


@given(LABELS, st.lists(LABELS, max_size=4))
def test_further_lines_never_hide_a_label(label: str, more: list[str]) -> None:
    lines = stacked(label.split())
    others = [line(text, 3 * number, 7 * number) for number, text in enumerate(more)]
    assert Page([*lines, *others]).find(label)


@pytest.mark.parametrize(
    ("text", "proof"),
    [
        ("Brain", True),
        ("1. Brain", True),
        ("Human brain", True),
        ("Anatomy of the brain", False),
        ("Draw a brain with all of its parts in colour", False),
    ],
)
def test_label_is_proof_but_mention_in_sentence_is_not(text: str, proof: bool) -> None:
    match = Page([line(text)]).find("brain")
    assert match
    assert match.proof is proof


def test_last_line_of_paragraph_is_not_proof() -> None:
    match = Page(stacked(["Draw the human head and label all its", "brain parts"])).find("brain")
    assert match
    assert not match.proof


def test_low_confidence_line_is_not_proof() -> None:
    match = Page([line("Brain", confidence=0.6)]).find("brain")
    assert match
    assert not match.proof


def test_panel_letter_is_not_proof_of_point() -> None:
    assert not (match := Page([line("(a)")]).find("A")) or not match.proof


@pytest.mark.parametrize(
    ("label", "text"),
    [
        ("Golgi complex", "Golgi apparatus"),
        ("mitochondrion", "Mitochondria"),
        ("average queuing delay", "AQD"),
        ("temperature", "Temp."),
        ("Price", "P"),
        ("chloroplast", "Chloruplsat"),
        ("carbon dioxide", "CO2"),
        ("myelin sheath", "themyelinlayer"),
        ("splicing", "splldng"),
        ("pits", "Pit"),
    ],
)
def test_similar_text_hints_at_label(label: str, text: str) -> None:
    assert Page([line(text)]).hints(label) == text


def test_common_words_are_not_hints() -> None:
    page = Page([line("Section")])
    assert page.hints("section")
    assert not page.hints("middle section")
    assert not page.hints("cerebellum")


def test_nearest_line_is_found() -> None:
    assert Page(apart("Nucleus", "Nucleolus wall", "Axon")).nearest("Nucleuss") == "Nucleus"
    assert Page([]).nearest("Nucleus") is None


@given(st.text(string.ascii_lowercase, min_size=4, max_size=12), st.text(string.ascii_lowercase, min_size=4))
def test_singular_and_plural_comparison_is_symmetric(one: str, other: str) -> None:
    assert same_word(one, other) == same_word(other, one)
    assert same_word(one, one + "s")
    assert outline(outline(one)) == outline(one)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("mitochondrion", "mitochondria", True),
        ("vertebra", "vertebrae", True),
        ("bodies", "body", True),
        ("cell", "cello", False),
        ("methane", "ethane", False),
    ],
)
def test_singular_and_plural_are_same_word(one: str, other: str, same: bool) -> None:
    assert same_word(one, other) == same


@given(st.text(max_size=40))
def test_any_text_can_be_compared(text: str) -> None:
    assert all(tokens(text))
    Page([line(text)]).find(text)


def test_symbols_without_words_do_not_match() -> None:
    assert not Page([line("Axon")]).find("…")
    assert not Page([line("→")]).lines


def test_docstring_examples_pass() -> None:
    assert doctest.testmod(matching).failed == 0
