"""The bundled sample: its layout, its figures, and that figures and questions belong together."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops
from tools.samples.aibench.draw import DRAWINGS, IMAGES, draw_all

from limner.core.latex_text import stripped as stripped_latex
from limner.exams import read, resolve
from limner.exams.aibench.data import FILE, LEVELS

SAMPLE = IMAGES.parent
ROWS: list[dict[str, Any]] = [json.loads(line) for line in (SAMPLE / FILE).read_text("utf-8").splitlines()]
UNTOLD = {"It cannot be told from the picture", "None of these"}

each_row = pytest.mark.parametrize("row", ROWS, ids=[row["id"] for row in ROWS])


def options(one: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = one["options"][0] if isinstance(one["options"], list) else one["options"]
    return found


def words(row: dict[str, Any]) -> str:
    """Everything written in the figure, line by line and joined, so that broken labels are found too."""
    return " ".join(DRAWINGS[row["id"]]().words)


def test_eight_methods_all_drawn() -> None:
    assert len(ROWS) == 8
    assert {row["id"] for row in ROWS} == set(DRAWINGS)
    exam = read(resolve("sample/aibench"))
    assert (len(exam.questions), exam.notes) == (8, ())
    assert all(question.reference and question.reference.sha256 for question in exam.questions)


def test_both_layouts_of_options_and_figures_with_and_without_a_name() -> None:
    assert {type(one["options"]) for row in ROWS for one in row["checklist"]} == {dict, list}
    assert {"image" in row for row in ROWS} == {True, False}


@each_row
def test_every_level_is_asked(row: dict[str, Any]) -> None:
    counts = Counter(LEVELS[one["level"]] for one in row["checklist"])
    assert 4 <= counts.total() <= 8
    assert set(counts) == set(LEVELS.values())


@each_row
def test_options_are_those_of_the_level(row: dict[str, Any]) -> None:
    for one in row["checklist"]:
        texts = list(options(one).values())
        assert len(set(texts)) == len(texts)
        if LEVELS[one["level"]] == "component":
            assert set(texts) == {"Yes", "No"}
        else:
            assert list(options(one)) == ["A", "B", "C", "D"]
            assert len(UNTOLD & set(texts)) == 1
        assert ("Only what the picture shows counts." in one["question"]) == (LEVELS[one["level"]] == "semantics")


def test_letters_are_shuffled() -> None:
    right = Counter(one["correct_option"] for row in ROWS for one in row["checklist"])
    assert min(right["A"], right["B"], right["C"], right["D"]) >= 8
    yes = [options(one)[one["correct_option"]] for row in ROWS for one in row["checklist"] if len(options(one)) == 2]
    assert Counter(yes) == {"Yes": 20, "No": 8}


@each_row
def test_components_are_in_the_figure_and_the_text_or_in_neither(row: dict[str, Any]) -> None:
    for one in row["checklist"]:
        if LEVELS[one["level"]] == "component":
            (name,) = re.findall(r"'([^']+)'", one["question"])
            there = options(one)[one["correct_option"]] == "Yes"
            assert (name in words(row)) == there
            assert (name in row["method_text"]) == there


@each_row
def test_names_in_other_questions_are_in_the_figure(row: dict[str, Any]) -> None:
    for one in row["checklist"]:
        if LEVELS[one["level"]] != "component":
            for name in re.findall(r"'([^']+)'", one["question"]):
                assert name in words(row)


@each_row
def test_method_texts_look_like_latex(row: dict[str, Any]) -> None:
    assert row["method_text"].startswith("\\section{")
    assert 60 <= len(row["method_text"].split()) <= 160
    stripped = stripped_latex(row["method_text"])
    assert "\\emph{" in stripped
    for gone in ("\\cite", "figure}", "\n%", "\\includegraphics"):
        assert gone not in stripped


@each_row
def test_figures_are_small(row: dict[str, Any]) -> None:
    path = IMAGES / f"{row['id']}.png"
    assert path.stat().st_size < 60_000
    assert row.get("image", f"images/{row['id']}.png") == f"images/{row['id']}.png"
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert max(image.size) <= 640


def test_no_figure_without_a_row() -> None:
    found = {path.relative_to(IMAGES).with_suffix("").as_posix() for path in IMAGES.rglob("*.png")}
    assert found == {row["id"] for row in ROWS}


@pytest.mark.slow
def test_redrawing_gives_the_same_pixels(tmp_path: Path) -> None:
    for path in draw_all(tmp_path):
        with Image.open(path) as new, Image.open(IMAGES / path.relative_to(tmp_path)) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter differently; an altered label shows far more.
            worst = max(high for _, high in ImageChops.difference(new, old).getextrema())  # type: ignore[misc]
            assert worst <= 48, path.name
