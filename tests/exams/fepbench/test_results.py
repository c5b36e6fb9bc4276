"""Verdicts from elsewhere: JSON lines with the replies of both verifiers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from limner.core.asks import Reply
from limner.core.errors import DataError
from limner.exams.fepbench.data import read_results
from tests.exams.fepbench.atom_sets import PROTOCOL, question, unexpected, verification

ASKED = question()
LINE: dict[str, Any] = {
    "id": "S1/free",
    "verify": verification(ASKED.rubric),
    "unexpected": unexpected(("text", "Sun", "top")),
}


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), "utf-8")
    return path


def test_full_result_is_read(tmp_path: Path) -> None:
    file = write(tmp_path / "verdicts.jsonl", LINE)
    (found,) = read_results(file)
    assert (found.question, found.file, found.fault) == ("S1/free", file, None)
    marks = PROTOCOL.marks(ASKED, [Reply(ask, text) for ask, text in found.replies], "careful")
    assert {mark.verdict for mark in marks} == {"answer"}
    assert PROTOCOL.scores(ASKED, marks, {})["sp_text"] == pytest.approx(2 / 3)


def test_sample_and_regime_identify_question(tmp_path: Path) -> None:
    line = {key: value for key, value in LINE.items() if key != "id"} | {"sample": "S1", "regime": "structured"}
    (found,) = read_results(write(tmp_path / "verdicts.jsonl", line))
    assert found.question == "S1/structured"


def test_raw_texts_are_kept_and_missing_replies_are_faults(tmp_path: Path) -> None:
    lines = [{"id": "A/free", "verify": "sorry"}, {"id": "B/free", "verify": None}, {"id": "C/free"}]
    first, *others = read_results(write(tmp_path / "verdicts.jsonl", *lines))
    assert (first.replies, first.fault) == ((("verify", "sorry"),), None)
    assert [one.fault for one in others] == ["this line has no reply"] * 2


def test_results_are_read_from_folder(tmp_path: Path) -> None:
    write(tmp_path / "b" / "two.jsonl", LINE | {"id": "S2/free"})
    write(tmp_path / "a.jsonl", LINE)
    assert [found.question for found in read_results(tmp_path)] == ["S1/free", "S2/free"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no \*\.jsonl file in this folder"):
        list(read_results(tmp_path / "empty"))


@pytest.mark.parametrize("line", [{"verify": {}}, {"id": 3}, {"sample": "S1"}, {"id": None}, "[]", "{"])
def test_line_without_question_is_rejected(tmp_path: Path, line: object) -> None:
    file = write(tmp_path / "verdicts.jsonl", LINE, line)
    with pytest.raises(DataError) as caught:
        list(read_results(file))
    assert str(caught.value).startswith(f"{file}:2: ")
