"""The bundled MMMG sample: its layout, its references, and that drawings and graphs belong together."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from PIL import Image, ImageChops
from tools.samples.mmmg.draw import DRAWINGS, IMAGES, draw_all

from limner.core.exam import Question
from limner.exams.mmmg import MMMG, graph
from limner.exams.mmmg.data import LEVELS, GraphRubric, read
from limner.exams.mmmg.exact import resolve

SAMPLE = IMAGES.parent
EXAM = read(SAMPLE)
FIELDS = ["key", "Education", "prompt", "Knowledge_Graph", "Annotation", "image"]
each = pytest.mark.parametrize("question", EXAM.questions, ids=[question.id for question in EXAM.questions])


def words(id: str) -> set[str]:
    """What stands in the drawing; a name broken over two lines is one."""
    found = [word.lower() for word in DRAWINGS[id]().words]
    return {*found, *(f"{a} {b}" for a, b in itertools.pairwise(found))}


def test_the_release_layout() -> None:
    assert EXAM.notes == ()
    for line in (SAMPLE / "mmmg.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        assert list(row) == FIELDS
        assert set(json.loads(row["Knowledge_Graph"])) == {"elements", "dependencies"}
        assert len(row["prompt"].split()) <= 80


def test_every_level_and_many_disciplines() -> None:
    assert {question.tags["level"] for question in EXAM.questions} == set(LEVELS)
    assert len({question.tags["discipline"] for question in EXAM.questions}) >= 7
    assert len(EXAM.questions) == 8


@each
def test_graphs_are_sound(question: Question[GraphRubric]) -> None:
    """Every dependency leads to entities by their exact names, and both readings of the graph agree."""
    rubric = question.rubric
    found = resolve(rubric.elements, rubric.dependencies)
    assert all(found.edges)
    assert {node for edges in found.edges for edge in edges for node in edge} == set(range(len(rubric.elements)))
    whole = graph.build(dict.fromkeys(rubric.elements, True), dict.fromkeys(rubric.dependencies, True))
    assert whole.size == found.size
    explained = json.loads(rubric.annotation)
    assert len(explained["Element Explanation"]) == len(rubric.elements)
    assert len(explained["Dependency Explanation"]) == len(rubric.dependencies)


@each
def test_every_entity_is_drawn_under_its_name(question: Question[GraphRubric]) -> None:
    assert {name.lower() for name in question.rubric.elements} <= words(question.id)


def test_all_relations_are_used() -> None:
    used = {text.partition("(")[0] for question in EXAM.questions for text in question.rubric.dependencies}
    assert used >= {"Causes", "Contains", "Requires", "TemporalOrder"}
    assert any("change(" in text for question in EXAM.questions for text in question.rubric.dependencies)


@each
def test_references_are_small(question: Question[GraphRubric]) -> None:
    path = IMAGES / f"{question.id}.png"
    assert path.stat().st_size < 25_000
    with Image.open(path) as image:
        assert max(image.size) <= 640


def test_no_image_without_a_row() -> None:
    assert {path.stem for path in IMAGES.glob("*")} == {question.id for question in EXAM.questions} == set(DRAWINGS)


def test_redrawing_gives_the_same_picture(tmp_path: Path) -> None:
    for path in draw_all(tmp_path):
        with Image.open(path) as new, Image.open(IMAGES / path.name) as old:
            assert new.size == old.size
            pixels = ImageChops.difference(new.convert("RGB"), old.convert("RGB"))
            # Releases of Pillow may shade the rim of a letter differently; an altered label shows far more.
            assert max(high for _, high in pixels.getextrema()) <= 48, path.name  # type: ignore[misc]


def test_the_kind_knows_its_sample() -> None:
    assert MMMG.sample == SAMPLE
