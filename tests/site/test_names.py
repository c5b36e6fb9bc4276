"""Names for files and links."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from limner.site.names import key
from tests.site.hostile import WORDS

anything = st.text(st.characters(exclude_categories=()), max_size=300)


@given(anything)
def test_a_key_is_plain_and_short(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]{1,40}-[0-9a-f]{8}", key(text))


@given(anything, anything)
def test_two_names_have_two_keys_and_one_has_one(one: str, other: str) -> None:
    assert (key(one) == key(other)) == (one == other)
    assert (key(one, other) == key(other, one)) == (one == other)


def test_names_that_differ_in_case_alone_are_two_files_everywhere() -> None:
    assert key("Biology").casefold() != key("biology").casefold()


def test_no_key_is_a_device_of_windows_or_leaves_its_folder() -> None:
    found = [key(word) for word in ("con", "NUL", "aux", "..", ".", "", *WORDS)]
    assert len(set(found)) == len(found)
    assert not any(word in {"con", "nul", "aux"} or "." in word or "/" in word for word in map(str.casefold, found))
