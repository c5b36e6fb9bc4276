"""The bundled GenExam sample: its layout, its references, and that drawings and words belong together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from tools.samples.genexam.draw import DRAWINGS, IMAGES, draw_all, image_path

SAMPLE = IMAGES.parent
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (SAMPLE / "annotations" / "All_Subjects.jsonl").read_text("utf-8").splitlines()
]
FIELDS = ["id", "prompt", "image_path", "scoring_points", "taxonomy", "img_type", "subject", "difficulty"]
TYPES = {
    "diagrams",
    "plots and charts",
    "chemical structures",
    "geometric shapes",
    "sheet music",
    "maps",
    "trees and graphs",
    "other",
}

each_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


def questions(row: dict[str, Any]) -> list[str]:
    return [point["question"] for point in row["scoring_points"]]


@each_row
def test_row_has_the_release_layout(row: dict[str, Any]) -> None:
    assert list(row) == FIELDS
    assert row["img_type"] in TYPES
    assert row["difficulty"] in {"easy", "medium", "hard"}
    assert len(row["taxonomy"].split("/")) >= 2
    assert 25 <= len(row["prompt"].split()) <= 90
    assert all(list(point) == ["question", "score"] for point in row["scoring_points"])


@each_row
def test_weights_sum_to_one(row: dict[str, Any]) -> None:
    scores = [point["score"] for point in row["scoring_points"]]
    assert 4 <= len(scores) <= 8
    assert all(score > 0 for score in scores)
    assert round(sum(scores), 4) == 1


def test_ids_are_unique_and_all_drawn() -> None:
    ids = [row["id"] for row in ROWS]
    assert len(set(ids)) == len(ids)
    assert set(ids) == set(DRAWINGS)


def test_six_subjects_or_more_and_every_level() -> None:
    assert len({row["subject"] for row in ROWS}) >= 6
    assert {row["difficulty"] for row in ROWS} == {"easy", "medium", "hard"}


def test_mini_is_a_part_of_the_whole() -> None:
    mini = (SAMPLE / "mini_sample_ids.txt").read_text("utf-8").split()
    assert len(mini) == len(set(mini)) == 4
    assert set(mini) <= {row["id"] for row in ROWS}


@each_row
def test_reference_exists_and_is_small(row: dict[str, Any]) -> None:
    assert row["image_path"] == image_path(row["id"]) == f"{row['subject']}/{row['id']}.png"
    with Image.open(IMAGES / row["image_path"]) as image:
        assert image.format == "PNG"
        assert max(image.size) <= 640


def test_no_image_without_a_row() -> None:
    found = {path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*.png")}
    assert found == {row["image_path"] for row in ROWS}


@pytest.mark.slow
def test_redrawing_gives_the_same_pixels(tmp_path: Path) -> None:
    written = draw_all(tmp_path)
    assert len(written) == len(ROWS)
    for path in written:
        with Image.open(path) as new, Image.open(IMAGES / path.relative_to(tmp_path)) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter differently; an altered label shows far more.
            worst = max(high for _, high in ImageChops.difference(new, old).getextrema())  # type: ignore[misc]
            assert worst <= 48, path.name


@each_row
def test_every_quoted_label_is_drawn(row: dict[str, Any]) -> None:
    words = set(DRAWINGS[row["id"]]().words)
    for text in (row["prompt"], *questions(row)):
        assert set(quoted(text)) <= words, text


@each_row
def test_quotes_are_paired(row: dict[str, Any]) -> None:
    for text in (row["prompt"], *questions(row)):
        assert text.count("'") == 2 * len(quoted(text)), text


def test_a_third_of_the_points_ask_for_labels_and_many_labels_are_answers() -> None:
    points = [question for row in ROWS for question in questions(row)]
    assert sum(bool(quoted(question)) for question in points) >= 0.35 * len(points)
    hidden = [
        row["id"]
        for row in ROWS
        for question in questions(row)
        if quoted(question) and all(label.lower() not in row["prompt"].lower() for label in quoted(question))
    ]
    assert len(set(hidden)) >= 8


@pytest.mark.slow
def test_text_recognition_reads_every_quoted_label() -> None:
    engine = pytest.importorskip("rapidocr").RapidOCR()
    for row in ROWS:
        read = set(engine(str(IMAGES / row["image_path"])).txts or ())
        for question in questions(row):
            assert set(quoted(question)) <= read, (row["id"], question)
