"""What a reader looked at is known: whoever says so opens no file of the data behind the ledger's back."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from limner import exams
from limner.core.ledger import unchanged, under
from limner.exams.reader_id import reader_id

_watched: list[tuple[str, list[str]]] = []


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(args[0], str):
        for root, found in _watched:
            if args[0].startswith(root):
                found.append(args[0])


sys.addaudithook(_hook)


@pytest.mark.parametrize("name", exams.SHIPPED)
def test_every_file_that_is_opened_is_in_the_ledger_or_a_reference(name: str, tmp_path: Path) -> None:
    kind = exams.kind(name)
    assert kind.traced
    assert kind.sample is not None
    data = Path(shutil.copytree(kind.sample, tmp_path / "data"))
    opened: list[str] = []
    _watched.append((str(data), opened))
    try:
        exam = exams.read(exams.resolve(name, data))
    finally:
        _watched.clear()
    assert exam.ledger is not None
    assert exam.ledger.clear
    told, by = exam.ledger.to_json(), reader_id(kind.read)
    known = {under(str(data), file) for file in told["files"]}
    references = {str(q.reference.path) for q in exam.questions if q.reference is not None}
    assert known
    assert references
    assert set(opened) == known | references
    assert unchanged(told, data, by)
    assert not unchanged(told, data, "another")
    for file in known:
        before = Path(file).read_bytes()
        Path(file).write_bytes(before + b"\n")
        assert not unchanged(told, data, by)
        Path(file).write_bytes(before)
    assert unchanged(told, data, by)


@pytest.mark.parametrize("name", ["mmmg", "worldgenbench"])
def test_a_file_that_comes_to_a_searched_folder_is_noticed(name: str, tmp_path: Path) -> None:
    kind = exams.kind(name)
    data = Path(shutil.copytree(str(kind.sample), tmp_path / "data"))
    exam = exams.read(exams.resolve(name, data))
    assert exam.ledger is not None
    told = exam.ledger.to_json()
    (data / "more.jsonl").write_text("")
    assert not unchanged(told, data, reader_id(kind.read))


def test_one_file_is_known_again_too(tmp_path: Path) -> None:
    kind = exams.kind("mmmg")
    data = Path(shutil.copytree(str(kind.sample), tmp_path / "data")) / "mmmg.jsonl"
    exam = exams.read(exams.resolve("mmmg", data))
    assert exam.ledger is not None
    assert unchanged(exam.ledger.to_json(), data, reader_id(kind.read))
    (data.parent / "more.jsonl").write_text("")
    assert unchanged(exam.ledger.to_json(), data, reader_id(kind.read)), "it is no part of this data"
    data.write_text("")
    assert not unchanged(exam.ledger.to_json(), data, reader_id(kind.read))
