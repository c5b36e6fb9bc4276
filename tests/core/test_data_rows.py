"""Rows of data files: the same from every format, or named with file and line."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core import data_rows
from limner.core.data_rows import TABLES, EmbeddedImage, Problems, read_rows
from limner.core.errors import DataError
from tests.support import picture

# A mark of text in tables is taken off, and blank cells are none.
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=8).filter(
    lambda text: text.strip() and not text.startswith("'")
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from(["id", "Prompt", "a b", "é"]), TEXT, min_size=1), min_size=1, max_size=5
)


def table(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(buffer, names, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def read(path: Path, data: str | bytes, levels: tuple[str, ...] | None = None) -> list[tuple[int, dict[str, Any]]]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    problems = Problems()
    rows = list(read_rows(path, problems, levels))
    problems.settle()
    return rows


def told(path: Path, data: str | bytes, levels: tuple[str, ...] | None = None) -> list[str]:
    with pytest.raises(DataError) as caught:
        read(path, data, levels)
    return [line.strip().replace(f"{path.parent}/", "") for line in str(caught.value).splitlines()]


@given(ROWS)
def test_all_formats_give_the_same_rows(rows: list[dict[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = "\n".join(map(json.dumps, rows))
        by_id = json.dumps({str(n): row for n, row in enumerate(rows)}, indent=1)
        buffer = io.BytesIO()
        polars.DataFrame(rows, infer_schema_length=None).write_parquet(buffer)
        files: dict[str, str | bytes] = {
            "a.json": json.dumps(rows),
            "b.json": json.dumps(rows, indent=2),
            "c.jsonl": lines,
            "d.csv": table(rows),
            "e.tsv": table(rows, "\t"),
            "f.parquet": buffer.getvalue(),
        }
        for file, data in files.items():
            assert [row for _, row in read(folder / file, data)] == rows, file
        keyed = [{"id": str(n)} | row for n, row in enumerate(rows)]
        assert [row for _, row in read(folder / "g.json", by_id)] == keyed


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3), lambda s: st.lists(s) | st.dictionaries(st.text(max_size=3), s)
    )
)
def test_entries_of_a_list_are_the_objects_in_it(value: Any) -> None:
    with tempfile.TemporaryDirectory() as name:
        rows = read(Path(name) / "a.json", json.dumps([{"x": value}, {"y": value}], indent=1), ())
    assert [row for _, row in rows] == [{"x": value}, {"y": value}]


@given(st.binary(max_size=60) | st.text(max_size=60).map(str.encode), st.sampled_from(TABLES))
def test_any_bytes_are_read_or_refused(data: bytes, suffix: str) -> None:
    rows, problems = list[tuple[int, dict[str, Any]]](), Problems()
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(DataError):
        (Path(name) / f"x{suffix}").write_bytes(data)
        rows = list(read_rows(Path(name) / f"x{suffix}", problems))
    assert all(line >= 1 and isinstance(row, dict) for line, row in rows)


def test_nested_objects_give_columns(tmp_path: Path) -> None:
    body = {"art": {"1": {"p": "a"}, "2": {"p": "b", "id": "own"}}, "law": {"1": {"p": "c"}}}
    rows = read(tmp_path / "a.json", json.dumps(body, indent=1), ("category", "id"))
    assert rows == [
        (3, {"category": "art", "id": "1", "p": "a"}),
        (6, {"category": "art", "id": "own", "p": "b"}),
        (12, {"category": "law", "id": "1", "p": "c"}),
    ]
    lists = {"art": [{"p": "a"}, {"p": "b"}], "law": []}
    assert read(tmp_path / "b.json", json.dumps(lists), ("category",)) == [
        (1, {"category": "art", "p": "a"}),
        (1, {"category": "art", "p": "b"}),
    ]


def test_single_object_is_a_row(tmp_path: Path) -> None:
    assert read(tmp_path / "a.json", '{\n "p": "a", "points": {}}') == [(1, {"p": "a", "points": {}})]
    assert read(tmp_path / "a.json", '{"a": {"p": 1}}', ()) == [(1, {"a": {"p": 1}})]
    assert read(tmp_path / "a.json", '{"p": 1}\n{"p": 2}\n') == [(1, {"p": 1}), (2, {"p": 2})]


def test_problems_have_lines(tmp_path: Path) -> None:
    assert told(tmp_path / "a.json", '[\n{"a": 1},\n3,\n"x"]') == [
        "2 problems:",
        "a.json:3: expected a JSON object, not int",
        "a.json:4: expected a JSON object, not str",
    ]
    assert told(tmp_path / "a.json", '{\n"a": {},\n"b": }')[0].startswith("a.json:3: not JSON")
    assert told(tmp_path / "a.csv", 'id,p\n1,"two\nlines"\n2\n3,c,d\n') == [
        "2 problems:",
        "a.csv:4: has 1 cells for 2 columns",
        "a.csv:5: has 3 cells for 2 columns",
    ]
    assert told(tmp_path / "a.csv", "id,id\n1,2\n") == ["a.csv:1: has two columns 'id'"]
    assert told(tmp_path / "a.csv", f'id\n"{"x" * 200_000}"')[0].startswith("a.csv:2: not readable as a table: field")
    assert told(tmp_path / "a.csv", b"id\n\xff\n") == ["a.csv:2: not UTF-8 (byte 3)"]
    assert told(tmp_path / "a.parquet", b"PAR1 no")[0].startswith("a.parquet: not readable as Parquet")


def test_limits_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_rows, "MAX_ROWS", 2)
    buffer = io.BytesIO()
    polars.DataFrame({"id": [1, 2, 3]}).write_parquet(buffer)
    files: dict[str, str | bytes] = {
        "a.csv": "id\n1\n2\n3",
        "a.jsonl": '{"id": 1}\n' * 3,
        "a.parquet": buffer.getvalue(),
    }
    for name, data in files.items():
        assert told(tmp_path / name, data) == [f"{name}: has more than 2 rows"]
    monkeypatch.setattr(data_rows, "MAX_BYTES", 5)
    assert told(tmp_path / "a.csv", "id\n123456\n") == ["a.csv: has more than 0.0 GB"]
    assert told(tmp_path / "a.json", "1" * 5)[0].startswith("a.json:1: expected a JSON object, not int")


def test_images_of_parquet_are_loaded_when_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = [{"bytes": picture(n), "path": None} for n in range(3)]
    frame = polars.DataFrame(
        {
            "id": [1, 2, 3],
            "image": [images[0], None, {"bytes": None, "path": "x.png"}],
            "inputs": [images, [], None],
            "raw": [None, picture(7), b""],
            "meta": [{"a": 1, "b": None}, None, {"a": None, "b": "x"}],
        },
        schema_overrides={"image": polars.Struct({"bytes": polars.Binary, "path": polars.String})},
    )
    frame.write_parquet(tmp_path / "a.parquet")
    loaded, real = list[tuple[str, int]](), data_rows._images

    def images_of(file: Path, column: str, chunk: int) -> list[Any]:
        loaded.append((column, chunk))
        return real(file, column, chunk)

    monkeypatch.setattr(data_rows, "_images", images_of)
    first, second, third = (row for _, row in read_rows(tmp_path / "a.parquet", Problems()))
    assert not loaded
    assert (first["image"].load(), second["raw"].load()) == (picture(0), picture(7))
    assert [image.load() for image in first["inputs"]] == [picture(n) for n in range(3)]
    assert set(loaded) == {("image", 0), ("raw", 0), ("inputs", 0)}
    assert (first["meta"], third["meta"]) == ({"a": 1}, {"b": "x"})
    assert [sorted(row) for row in (second, third)] == [["id", "raw"], ["id", "meta"]]
    assert isinstance(first["image"], EmbeddedImage)
