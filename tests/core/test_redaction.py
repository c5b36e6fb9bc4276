"""Keys are known from the moment they are there; what hides them follows the plain rule, and takes little time."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core import redaction
from limner.core.redaction import HIDDEN, name_key, redacted, without_key, without_secrets

PLAIN = re.compile(r"[\w.-]*\*{3,}[\w-]*")
"""What a masked word is; it takes time with the square of the length, so that it stands here alone."""


@given(st.text(st.sampled_from("ab.-_* é\n"), max_size=40))
def test_masked_words_are_those_of_the_plain_rule(text: str) -> None:
    assert without_key(text, None) == PLAIN.sub(HIDDEN, text)


@pytest.mark.slow
def test_a_long_word_takes_no_more_than_its_length() -> None:
    """The plain rule would take hours for these."""
    long = "x." * 2**20
    assert redacted(long) == long
    assert redacted(f"{long}***{long}") == HIDDEN + long[1:]
    login = "https://" + "a:" * 2**20
    assert redacted(login) == login
    assert redacted("https://me:pass:word@host/x") == f"https://{HIDDEN}@host/x"


def test_a_key_is_known_once_it_is_set_and_no_longer_than_that(monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"told": "it was first-value-1, then other-value-2"}
    assert without_secrets(said) == said
    monkeypatch.setenv("SOME_API_KEY", "first-value-1")
    assert without_secrets(said) == {"told": "it was ***, then other-value-2"}
    monkeypatch.setenv("SOME_API_KEY", "other-value-2")
    assert without_secrets(said) == {"told": "it was first-value-1, then ***"}
    monkeypatch.delenv("SOME_API_KEY")
    assert without_secrets(said) == said


def test_a_variable_that_is_named_later_is_a_key_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_named", set())
    monkeypatch.setenv("PLAIN_NAME", "value-of-mine")
    assert redacted("value-of-mine") == "value-of-mine"
    name_key("PLAIN_NAME")
    assert redacted("value-of-mine") == "***"
