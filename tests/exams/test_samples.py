"""The bundled samples: drawings, prompts and rubrics belong together, and redrawing gives the same pictures."""

from __future__ import annotations

import re
from collections import Counter
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from limner.exams import SHIPPED, read, resolve
from limner.exams.mmmg import graph
from limner.exams.mmmg.exact import resolve as resolve_graph

each_exam = pytest.mark.parametrize("name", SHIPPED)


def sample_module(name: str) -> Any:
    """The module that draws the references of a sample."""
    return import_module(f"tools.samples.{name}.draw")


def questions(name: str) -> list[Any]:
    return list(read(resolve(f"sample/{name}")).questions)


def quoted(text: str) -> list[str]:
    return re.findall(r"'([^']+)'", text)


@each_exam
def test_every_row_has_its_picture_and_every_picture_its_row(name: str) -> None:
    module, exam = sample_module(name), read(resolve(f"sample/{name}"))
    assert exam.notes == ()
    ids = {question.id.removesuffix("/free").removesuffix("/structured") for question in exam.questions}
    assert ids == set(module.DRAWINGS)
    references = {question.reference.path for question in exam.questions if question.reference}
    assert references == set(module.IMAGES.rglob("*.png"))


@pytest.mark.slow
@each_exam
def test_redrawing_gives_the_same_pixels(name: str, tmp_path: Path) -> None:
    module = sample_module(name)
    for path in module.draw_all(tmp_path):
        with Image.open(path) as new, Image.open(module.IMAGES / path.relative_to(tmp_path)) as old:
            assert new.size == old.size
            # Releases of Pillow may shade the rim of a letter or choose a palette differently.
            difference = ImageChops.difference(new.convert("RGB"), old.convert("RGB")).convert("L")
            assert sum(difference.histogram()[48:]) <= 0.001 * new.width * new.height, path.name


@pytest.mark.parametrize("name", ["genexam", "worldgenbench"])
def test_every_quoted_label_is_drawn(name: str) -> None:
    for question in questions(name):
        words = set(sample_module(name).DRAWINGS[question.id]().words)
        rubric = question.rubric
        points = rubric.scoring_points if name == "genexam" else ()
        items = [point.question for point in points] or [entry.item for entry in rubric.checklist]
        for text in (question.prompt, *items):
            assert set(quoted(text)) <= words, text
            assert text.count("'") == 2 * len(quoted(text)), text


def test_graphs_of_mmmg_are_sound_and_drawn() -> None:
    """Every dependency leads to entities by their exact names, and both readings of the graph agree."""
    for question in questions("mmmg"):
        rubric = question.rubric
        resolved = resolve_graph(rubric.elements, rubric.dependencies)
        assert all(resolved.edges)
        whole = graph.build(dict.fromkeys(rubric.elements, True), dict.fromkeys(rubric.dependencies, True))
        assert whole.size == resolved.size
        words = [word.lower() for word in sample_module("mmmg").DRAWINGS[question.id]().words]
        # A name may be broken over two lines.
        words += [" ".join(pair) for pair in pairwise(words)]
        assert {name.lower() for name in rubric.elements} <= set(words)


def test_texts_of_fepbench_are_atoms_and_prompts_name_no_answer() -> None:
    for question in questions("fepbench"):
        atoms = question.rubric.text
        drawn = sample_module("fepbench").DRAWINGS[question.id.partition("/")[0]]().words
        assert Counter(drawn) == Counter(atom.text for atom in atoms)
        assert set(quoted(question.prompt)) == {atom.text for atom in atoms if atom.role == "instruction"}


def test_components_of_aibench_are_in_figure_and_text_or_in_neither() -> None:
    for question in questions("aibench"):
        words = " ".join(sample_module("aibench").DRAWINGS[question.id]().words)
        for item in question.rubric.checklist:
            for name in quoted(item.question):
                there = item.dimension != "component" or item.options[item.correct_option] == "Yes"
                assert (name in words) == there
                assert item.dimension != "component" or (name in question.prompt) == there
