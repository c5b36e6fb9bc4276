"""Texts, ids and TOML files are taken as they should be, and what is wrong is told with where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from limner.core.errors import DataError
from limner.core.schema import Id, StrictModel, Words, first_wrong, read_model, read_toml


class Entry(StrictModel):
    """What the files here say."""

    id: Id = "x"
    words: Words = ""


def wrong(**fields: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Entry.model_validate(fields)
    return first_wrong(caught.value)


@pytest.mark.parametrize("id", ["", "a//b", "../a", "a/.", " a", "a\\b", "a\nb", "a\u200bb"])
def test_an_id_names_a_file(id: str) -> None:
    assert wrong(id=id).startswith("id: Value error, an id names a file: no ")


def test_ids_and_words_as_they_should_be() -> None:
    entry = Entry(id="Biology/Biology 97.b", words="two\nlines\tand é")
    assert (entry.id, entry.words) == ("Biology/Biology 97.b", "two\nlines\tand é")


def test_words_that_no_terminal_can_take() -> None:
    assert wrong(words="a\x1b[1m") == "words: Value error, the control character U+001B stands in it"
    assert wrong(words="\ud800") == "words: Value error, half of a surrogate pair stands in it"


def test_toml_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("a = ", "utf-8")
    with pytest.raises(DataError, match=r"a\.toml: cannot be read: "):
        read_toml(path)
    with pytest.raises(DataError, match="cannot be read: "):
        read_toml(tmp_path / "nowhere.toml")
    path.write_text("a = 1", "utf-8")
    assert read_toml(path) == {"a": 1}
    with pytest.raises(DataError, match=r"a\.toml: a: Extra inputs are not permitted"):
        read_model(path, Entry)
