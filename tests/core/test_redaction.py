"""Messages without keys: by the plain rule, and in little time however long they are."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from limner.core.redaction import HIDDEN, redacted, without_key

PLAIN = re.compile(r"[\w.-]*\*{3,}[\w-]*")
"""What a masked word is; it takes time with the square of the length, so that it stands here alone."""


@given(st.text(st.sampled_from("ab.-_* é\n"), max_size=40))
def test_masked_words_are_those_of_the_plain_rule(text: str) -> None:
    assert without_key(text, None) == PLAIN.sub(HIDDEN, text)


def test_a_long_word_takes_no_more_than_its_length() -> None:
    """The plain rule would take hours for these."""
    long = "x." * 2**20
    assert redacted(long) == long
    assert redacted(f"{long}***{long}") == HIDDEN + long[1:]
    login = "https://" + "a:" * 2**20
    assert redacted(login) == login
    assert redacted("https://me:pass:word@host/x") == f"https://{HIDDEN}@host/x"
