"""What was looked at, in little room."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core import ledger
from limner.core.data_files import is_there, read_lines, stream_lines
from limner.core.ledger import Ledger, PackedNames, Recent, UnpackedNames, kept, unchanged, under, within


@given(st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9)))
def test_names_come_back_in_their_order(names: list[str]) -> None:
    packed = PackedNames()
    for name in names:
        packed.add(name)
    found = UnpackedNames(packed.packed())
    assert list(found) == names
    assert found[1:3] == names[1:3]


@pytest.mark.parametrize("path", ["/data/a.jsonl", "/data/images/b.png", "/data", "/beside/c.png"])
def test_a_path_is_found_again_below_its_root(path: str) -> None:
    assert under("/data", within("/data", path)) == path
    assert under("/other", within("/data", path)) == path.replace("/data", "/other")


def test_a_file_that_was_read_in_part_or_twice_with_other_bytes_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_text("one\ntwo\n")
    for read, clear in ((lambda: next(stream_lines(file)), False), (lambda: [*stream_lines(file)], True)):
        noted = Ledger(tmp_path, "me")
        with kept(noted):
            read()
        assert noted.clear is clear
    with kept(noted):
        read_lines(file)
        assert noted.clear
        file.write_text("one\nten\n")
        read_lines(file)
    assert not noted.clear


def test_what_was_looked_for_in_vain_counts(tmp_path: Path) -> None:
    noted = Ledger(tmp_path, "me")
    with kept(noted):
        assert not is_there(tmp_path / "list")
    assert unchanged(noted.to_json(), tmp_path, "me")
    (tmp_path / "list").touch()
    assert not unchanged(noted.to_json(), tmp_path, "me")
    assert ledger.ledger() is None


def test_what_is_recent_is_made_once_and_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "RECENT", 2)
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    recent = Recent[int, int]()
    for number in (1, 1, 2, 1, 3, 3, 1):
        assert recent.get(number, lambda number=number: make(number)) == number  # type: ignore[misc]
    assert made == [1, 2, 3, 1]
