"""Exported rows and images."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars
import pytest
from pydantic import BaseModel

from limner.core.errors import UsageError
from limner.core.evaluator import Evaluator
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.exams import kind
from limner.report.tables.export import export_rows, write_images, write_rows
from limner.scoring import Entry, Group
from limner.store import Blobs
from limner.store.markings import Marking
from limner.store.records import Drawing
from tests.support import picture


class Plain(BaseModel):
    pass


PROTOCOL = kind("genexam").protocol


def entry(
    id: str = "q",
    painter: str = "mine",
    image: str | None = None,
    seed: int = 0,
    costs: tuple[float | None, float | None] = (0.25, 0.5),
    **fields: Any,
) -> Entry:
    question = Question(id, "Draw.", Plain(), {"subject": "Art"})
    name = f"{painter}-{id}-{seed}"
    drawing = Drawing(name, "exam", id, question.hash, painter, "x", "direct", seed, "done", image=image, cost=costs[0])
    marking = Marking(name, name, question.hash, image, "setup", 2, "done", cost=costs[1])
    return Entry(question, drawing, marking, **fields)


def group(*entries: Entry, painter: str = "mine") -> Group:
    return Group(painter, "direct", Evaluator("e", {"judge": "judge", "variant": "release"}), entries)


def test_export_row_has_all_fields() -> None:
    marks = (Mark("point/1", 1, "seen"), Mark.abstain("spelling", "cannot tell"))
    found = entry(marks=marks, scores={"strict": 100.0, "relaxed": None}, status="done", seed=3)
    evidence = {"regions": {"value": 83, "backend": "classical/1"}, "ocr": {"value": [{}], "backend": "x"}}
    found = replace(found, evidence=evidence)
    (row,) = export_rows("exam", PROTOCOL, [group(found)], "paper")
    assert row == {
        "exam": "exam", "id": "q", "painter": "mine", "strategy": "direct", "judge": "judge",
        "evaluator": "judge", "variant": "release", "common": True,
        "reading": "paper", "seed": 3, "repeat": 2, "status": "done", "detail": None,
        "scores": {"strict": 100.0, "relaxed": None}, "evidence": {"regions": 83, "regions_backend": "classical/1"},
        "flags": None, "marks": {"point/1": 1, "spelling": None},
        "tags": {"subject": "Art"}, "image": None, "origin": "run", "cost": 0.75,
    }  # fmt: skip


@pytest.mark.parametrize("costs", [(None, 0.5), (0.25, None)])
def test_an_unknown_price_makes_the_cost_unknown(costs: tuple[float | None, float | None]) -> None:
    (row,) = export_rows("exam", PROTOCOL, [group(entry(costs=costs))], "careful")
    assert row["cost"] is None


ROWS: list[dict[str, Any]] = [
    {"id": "a", "scores": {"x": 1}, "tags": {"t": 'ä, "ö"\nü'}, "marks": {"m": 1}, "detail": None},
    {"id": "b", "scores": {}, "tags": {"u": "2"}, "marks": {}, "detail": "why"},
    {"id": "c", "scores": {"x": 0.5}, "tags": {}, "marks": {"n": None}, "detail": None},
]


def test_tables_have_every_column(tmp_path: Path) -> None:
    """Also those that come up late, and numbers that turn out to be fractions."""
    write_rows(ROWS, "parquet", tmp_path / "rows.parquet")
    write_rows(ROWS, "csv", tmp_path / "rows.csv")
    frame = polars.read_parquet(tmp_path / "rows.parquet")
    assert frame.columns == ["id", "scores.x", "tags.t", "marks", "detail", "tags.u"]
    assert frame["scores.x"].to_list() == [1.0, None, 0.5]
    assert frame["tags.t"].to_list() == ['ä, "ö"\nü', None, None]
    assert [json.loads(text) for text in frame["marks"]] == [{"m": 1}, {}, {"n": None}]
    assert polars.read_csv(tmp_path / "rows.csv")["tags.t"].to_list() == frame["tags.t"].to_list()


def test_csv_needs_no_polars(tmp_path: Path, no_polars: None) -> None:
    rows = [{"id": "a", "common": True, "seed": 3, "scores": {"x": 0.5}}, {"id": 'b"', "common": False, "more": None}]
    write_rows(rows, "csv", tmp_path / "rows.csv")
    expected = 'id,common,seed,scores.x,more\na,true,3,0.5,\n"b""",false,,,\n'
    assert (tmp_path / "rows.csv").read_text("utf-8") == expected
    with pytest.raises(UsageError, match=r"--format parquet needs polars; .* pip install 'limner\[parquet\]'"):
        write_rows(rows, "parquet", tmp_path / "rows.parquet")
    assert not (tmp_path / "rows.parquet").exists()


def test_image_files_are_named_by_painter_and_question(tmp_path: Path) -> None:
    blobs = Blobs(str(tmp_path / "blobs"))
    one, other, jpeg = (blobs.put(data)[0] for data in (picture(1), picture(2), picture(3, "JPEG")))
    groups = [
        group(entry("sub/q", "a/b", one), entry("p", "a/b", jpeg), entry("p", "a/b", other, seed=2), painter="a/b"),
        group(entry("p", "../..", one), entry("gone", "../.."), painter="../.."),
    ]
    folder = tmp_path / "images"
    assert write_images(groups, blobs, folder) == 4
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}
    assert found == {
        "a_b/sub/q.png": picture(1),
        "a_b/p.jpg": picture(3, "JPEG"),
        "a_b/p.2.png": picture(2),
        "painter/p.png": picture(1),
    }


def test_exported_images_never_overwrite_each_other(tmp_path: Path) -> None:
    blobs = Blobs(str(tmp_path / "blobs"))
    one, other = (blobs.put(picture(n))[0] for n in (1, 2))
    groups = [group(entry("q", "a/b", one), painter="a/b"), group(entry("q", "a_b", other), painter="a_b")]
    assert write_images(groups, blobs, tmp_path / "images") == 2
    assert {path.read_bytes() for path in (tmp_path / "images").rglob("*.png")} == {picture(1), picture(2)}
