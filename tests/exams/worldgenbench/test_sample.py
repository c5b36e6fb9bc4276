"""The bundled sample: its layout, its references, and that drawings and words belong together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from tools.samples.worldgenbench.draw import DRAWINGS, IMAGES, draw_all

from limner.exams import read, resolve
from limner.exams.worldgenbench import WORLDGENBENCH

SAMPLE = IMAGES.parent
ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for name in ("humanities", "nature")
    for line in (SAMPLE / f"{name}.jsonl").read_text("utf-8").splitlines()
]
each_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


def test_it_is_read_and_is_whole() -> None:
    exam = read(resolve("sample/worldgenbench"))
    assert exam.notes == ()
    assert [q.id for q in exam.questions] == [row["id"] for row in ROWS] == list(DRAWINGS)
    assert [q.tags["domain"] for q in exam.questions] == ["humanities"] * 4 + ["nature"] * 4
    places = [q.tags.get("continent") or q.tags["discipline"] for q in exam.questions]
    assert len(set(places)) == len(places)
    assert all(q.reference is not None and q.reference.sha256 for q in exam.questions)


@each_row
def test_a_row_is_like_the_exams_own(row: dict[str, Any]) -> None:
    place = ["country", "continent"] if row["domain"] == "humanities" else ["discipline"]
    assert list(row) == ["id", "prompt", "domain", *place, "image_path", "checklist"]
    assert 35 <= len(row["prompt"].split()) <= 90
    assert 8 <= len(row["checklist"]) <= 10
    assert all(list(entry) == ["item", "explanation"] and all(entry.values()) for entry in row["checklist"])


@each_row
def test_much_of_the_checklist_is_not_told_by_the_prompt(row: dict[str, Any]) -> None:
    told = set(re.findall(r"\w+", row["prompt"].lower()))
    new = [e for e in row["checklist"] if len(set(re.findall(r"\w{5,}", e["item"].lower())) - told) >= 1]
    assert len(new) >= 0.7 * len(row["checklist"])


@each_row
def test_every_quoted_word_is_drawn(row: dict[str, Any]) -> None:
    words = set(DRAWINGS[row["id"]]().words)
    for text in (row["prompt"], *(entry["item"] for entry in row["checklist"])):
        assert set(quoted(text)) <= words, text
        assert text.count("'") == 2 * len(quoted(text)), text


def test_most_items_are_not_about_words() -> None:
    criteria = [c for q in read(resolve("sample/worldgenbench")).questions for c in WORLDGENBENCH.protocol.criteria(q)]
    assert 0.1 <= sum(bool(c.labels) for c in criteria) / len(criteria) <= 0.4


@each_row
def test_reference_is_small(row: dict[str, Any]) -> None:
    path = IMAGES / row["image_path"]
    assert path.stat().st_size <= 20_000
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert max(image.size) <= 640


def test_no_image_without_a_row() -> None:
    assert {path.name for path in IMAGES.iterdir()} == {row["image_path"] for row in ROWS}


@pytest.mark.slow
def test_redrawing_gives_the_same_pixels(tmp_path: Path) -> None:
    for path in draw_all(tmp_path):
        with Image.open(path) as new, Image.open(IMAGES / path.name) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter or choose a palette differently.
            difference = ImageChops.difference(new.convert("RGB"), old.convert("RGB")).convert("L")
            changed = sum(difference.histogram()[48:])
            assert changed <= 0.001 * new.width * new.height, path.name


@pytest.mark.slow
def test_text_recognition_reads_every_quoted_word() -> None:
    engine = pytest.importorskip("rapidocr").RapidOCR()
    for row in ROWS:
        seen = {_folded(text) for text in engine(str(IMAGES / row["image_path"])).txts or ()}
        for entry in row["checklist"]:
            assert {_folded(word) for word in quoted(entry["item"])} <= seen, (row["id"], entry["item"], seen)


def _folded(text: str) -> str:
    return text.replace("í", "i").replace(" ", "")
