"""Forms of one word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.judges.ocr.forms import is_letter_of, may_be, outline, same_word

PLAIN = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=12)


@given(PLAIN, PLAIN)
def test_being_the_same_word_goes_both_ways(one: str, other: str) -> None:
    assert same_word(one, other) == same_word(other, one)
    assert same_word(one, one)
    assert same_word(one, one + "s")


@given(PLAIN)
def test_a_word_may_be_itself(word: str) -> None:
    assert may_be(word, word)
    assert outline(outline(word)) == outline(word)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("pits", "pit", True),
        ("mitochondrion", "mitochondria", True),
        ("vertebra", "vertebrae", True),
        ("bodies", "body", True),
        ("cell", "cello", False),
        ("methane", "ethane", False),
    ],
)
def test_singular_and_plural(one: str, other: str, same: bool) -> None:
    assert same_word(one, other) == same


def test_greek_letters_have_names() -> None:
    assert is_letter_of("a1", "alpha")
    assert is_letter_of("θ", "theta")
    assert not is_letter_of("axon", "alpha")
    assert not is_letter_of("a1", "beta")
