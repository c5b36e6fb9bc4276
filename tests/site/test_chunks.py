"""Data files: what they may hold and be called, and that they can be written bit by bit."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.site import chunks
from limner.site.chunks import Chunks, encode, key
from tests.site.hostile import WORDS
from tests.site.reading import parts

text = st.text(st.characters(exclude_categories=()), max_size=40)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
)


@given(plain)
def test_what_is_encoded_reads_back_and_breaks_out_of_nothing(value: Any) -> None:
    said = encode(value)
    assert json.loads(said) == value
    assert said.isascii()
    assert not set(said) & set("<>&\n\r")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_none_becomes_null(number: float) -> None:
    assert json.loads(encode({"a": [number, 1.5], "b": (number,)})) == {"a": [None, 1.5], "b": [None]}


def test_parts_come_in_any_order_and_are_written_when_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "HELD", 200)
    writer = Chunks(tmp_path)
    wanted: dict[str, list[Any]] = {name: [] for name in ("q/a", "q/b", "list")}
    for number in range(30):
        for name, found in wanted.items():
            part = {"n": number, "word": WORDS[number % len(WORDS)]}
            writer.add(name, part)
            found.append(part)
            assert writer._held < 1000
    assert (tmp_path / "q" / "a.js").exists()
    writer.flush()
    assert {name: parts(tmp_path, name) for name in wanted} == wanted


anything = st.text(st.characters(exclude_categories=()), max_size=300)


@given(anything)
def test_a_key_is_plain_and_short(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_]{1,40}-[0-9a-f]{8}", key(text))


def test_no_key_is_a_device_of_windows_or_leaves_its_folder() -> None:
    found = [key(word) for word in ("con", "NUL", "aux", "..", ".", "", *WORDS)]
    assert len(set(found)) == len(found)
    assert not any(word in {"con", "nul", "aux"} or "." in word or "/" in word for word in map(str.casefold, found))
