"""Rows of data files become questions, and everything wrong with them is told at once, by file, line and id."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.data_files import Rows, files_under, json_rows, read_questions, stream_lines
from limner.core.errors import DataError
from limner.core.exam import Question
from limner.core.problems import Problems
from limner.core.schema import Id, StrictModel


class Line(StrictModel):
    """A row of the files here."""

    id: Id
    words: str = ""


def questions(row: Line, file: Path) -> list[Question[Line]]:
    if row.words == "bad":
        raise ValueError("cannot be drawn")
    return [Question(row.id, f"{row.words} in {file.name}", row)]


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")
    return path


def told(path: Path, **how: object) -> list[str]:
    with pytest.raises(DataError) as caught:
        read_questions(path, Line, questions, **how)  # type: ignore[arg-type]
    return [line.strip().replace(f"{path.parent}/", "") for line in str(caught.value).splitlines()]


def test_rows_become_questions(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"id": "x", "words": "One"}', "", '{"id": "y"}')
    assert [(q.id, q.prompt) for q in read_questions(path, Line, questions)] == [
        ("x", "One in a.jsonl"),
        ("y", " in a.jsonl"),
    ]


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", '{"id": "x"}', '{"id": "x"}', "{", "7", '{"id": "y", "words": "bad"}', '{"no": 1}'
    )
    assert told(path) == [
        "6 problems:",
        "a.jsonl:2: id x: this id stands already in line 1",
        "a.jsonl:3: not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "a.jsonl:4: a JSON object is wanted, not int",
        "a.jsonl:5: id y: cannot be drawn",
        "a.jsonl:6: id: Field required",
        "a.jsonl:6: no: Extra inputs are not permitted",
    ]


def test_the_same_id_in_another_file(tmp_path: Path) -> None:
    write(tmp_path / "data" / "a" / "x.json", '[{"id": "x"}]')
    write(tmp_path / "data" / "b.jsonl", '{"id": "x"}')
    files = files_under(tmp_path / "data", "*.json", "*.jsonl")
    assert [file.name for file in files] == ["x.json", "b.jsonl"]
    (said,) = told(tmp_path / "data", files=files, rows=json_rows)
    assert said == "data/b.jsonl:1: id x: this id stands already in a/x.json:1"


def test_no_row_at_all(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", "")
    assert told(path) == ["a.jsonl: no question in this file"]
    assert told(path, nothing="no sample in this file") == ["a.jsonl: no sample in this file"]


def test_rows_under_another_name_for_their_id(tmp_path: Path) -> None:
    class Keyed(StrictModel):
        """A row that calls its id a key."""

        key: Id

    def rows(file: Path, problems: Problems) -> Rows:
        yield from enumerate([{"key": "x"}, {"key": "x"}, {"key": "y", "more": 1}], 1)

    with pytest.raises(DataError) as caught:
        read_questions(tmp_path, Keyed, lambda row, _: [Question(row.key, "", row)], rows=rows, key="key")
    assert f"{tmp_path}:2: id x: this key stands already in line 1" in str(caught.value)
    assert f"{tmp_path}:3: id y: more: Extra inputs are not permitted" in str(caught.value)


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), max_size=6))
def test_streamed_lines_equal_those_of_the_whole_file(lines: list[str]) -> None:
    data = "\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"\xef\xbb\xbf" + data.encode())
        streamed, whole = [*stream_lines(path)], data.split("\n")
    # An empty last line is no line.
    assert streamed == whole or (streamed == whole[:-1] and not whole[-1])


def test_a_line_that_is_not_utf8_is_told_with_its_byte(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"one\ntw\xff\n")
    with pytest.raises(DataError, match=r"not UTF-8 \(byte 6\)") as error:
        list(stream_lines(tmp_path / "x"))
    assert error.value.line == 2
