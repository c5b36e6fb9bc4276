"""The bundled FEPBench sample: its spread, its references, and that drawings, prompts and atoms belong together."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from tools.samples.fepbench.draw import DRAWINGS, IMAGES, draw_all

from limner.exams.fepbench.data import MODALITIES

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in (IMAGES.parent / "samples.jsonl").read_text("utf-8").splitlines()
]
each_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


def texts(row: dict[str, Any], role: str | None = None) -> list[str]:
    return [atom["text"] for atom in row["atoms"]["text"] if role in (None, atom["role"])]


def test_the_spread() -> None:
    assert len(ROWS) == 8
    assert Counter(row["domain"] for row in ROWS).keys() == {
        "Physics & Materials",
        "Geography & Ecology",
        "Biology & Medicine",
    }
    assert {row["panel_type"] for row in ROWS} == {"single", "multi"}
    assert {row["aspect"] for row in ROWS} == {"landscape", "portrait", "square"}
    assert {row["panel_type"] for row in ROWS if row["domain"].startswith("Geo")} == {"single", "multi"}


def test_ids_are_unique_and_all_drawn() -> None:
    assert [row["id"] for row in ROWS] == list(DRAWINGS)
    assert {path.stem for path in IMAGES.glob("*.png")} == set(DRAWINGS)


@each_row
def test_atom_sets_are_of_a_useful_size(row: dict[str, Any]) -> None:
    assert all(len(row["atoms"][modality]) >= 4 for modality in MODALITIES)
    ids = [atom["id"] for modality in MODALITIES for atom in row["atoms"][modality]]
    assert ids == [f"{m[0]}{n}" for m in MODALITIES for n in range(1, len(row["atoms"][m]) + 1)]


@each_row
def test_every_text_in_the_reference_is_an_atom_and_no_other(row: dict[str, Any]) -> None:
    assert Counter(DRAWINGS[row["id"]]().words) == Counter(texts(row))


@each_row
@pytest.mark.parametrize("regime", ["free", "structured"])
def test_prompts_name_instruction_texts_and_no_others(row: dict[str, Any], regime: str) -> None:
    prompt = row["prompts"][regime]
    assert prompt.count("'") == 2 * len(quoted(prompt))
    assert set(quoted(prompt)) == set(texts(row, "instruction"))
    hidden = set(texts(row, "reasoning"))
    assert not hidden & set(quoted(prompt))


@each_row
def test_the_structured_prompt_says_the_same_in_order(row: dict[str, Any]) -> None:
    heads = re.findall(r"^(\w+): ", row["prompts"]["structured"], re.M)
    assert sorted(heads) == ["Layout", "Objects", "Relations", "Text"]
    assert 40 <= len(row["prompts"]["free"].split()) <= 120


@each_row
def test_reference_is_small_and_of_its_aspect(row: dict[str, Any]) -> None:
    with Image.open(IMAGES / row["image_path"]) as image:
        assert image.format == "PNG"
        assert max(image.size) <= 640
        ratio = image.width / image.height
    assert (IMAGES / row["image_path"]).stat().st_size < 80_000
    kind = "landscape" if ratio > 1.1 else "portrait" if ratio < 0.9 else "square"
    assert kind == row["aspect"]


@pytest.mark.slow
def test_redrawing_gives_the_same_pixels(tmp_path: Path) -> None:
    written = draw_all(tmp_path)
    assert len(written) == len(ROWS)
    for path in written:
        with Image.open(path) as new, Image.open(IMAGES / path.name) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter differently; an altered label shows far more.
            worst = max(high for _, high in ImageChops.difference(new, old).getextrema())  # type: ignore[misc]
            assert worst <= 48, path.name
