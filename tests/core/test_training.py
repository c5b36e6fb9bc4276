"""Samples are read whole or refused with all that is wrong, and do not give the exam away unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import DataError
from limner.core.exam import Question
from limner.core.training import find_concepts, find_overlap, normalize_words, read_samples
from tests.train.conftest import write_samples


@pytest.fixture(name="data")
def _data(tmp_path: Path) -> Path:
    return write_samples(tmp_path / "data", 4)


def test_samples_are_read_as_questions_with_images(data: Path) -> None:
    samples = read_samples(data)
    assert [sample.id for sample in samples] == ["s0", "s1", "s2", "s3"]
    assert samples[0].reference is not None
    assert samples[0].reference.path == data / "images/0.png"
    assert (samples[1].tags["concept"], samples[1].rubric.final_prompt) == ("plant cell", "A plant cell, labelled.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image": "../x.png"}, "leaves the folder"),
        ({"image": "images/9.png"}, "no image"),
        ({"final_prompt": ""}, "final_prompt"),
        ({"id": "s0"}, "is already used"),
    ],
)
def test_invalid_sample_is_reported_with_file(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    folder = write_samples(tmp_path / "bad", 2, **change)
    with pytest.raises(DataError, match=message) as caught:
        read_samples(folder)
    assert "train.jsonl" in str(caught.value)


def test_folder_without_samples_explains_expected_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no train\.jsonl with one sample a line"):
        read_samples(tmp_path)


def question(id: str, prompt: str, **tags: str) -> Question[Any]:
    rubric: Any = None
    return Question(id, prompt, rubric, tags)


def test_overlap_is_found_by_tag_and_by_prompt(data: Path) -> None:
    samples = read_samples(data)
    exam = [
        question("a", "Show a labelled Plant-Cell, please."),
        question("b", "Something else", concept="Moon phases"),
        question("c", "draw the human heart"),
        question("d", "A plant in a prison cellar; the heart of a human."),
    ]
    assert find_overlap(samples, exam) == {"plant cell": ["a"], "moon phases": ["b"], "human heart": ["c"]}
    assert find_overlap(samples, exam[3:]) == {}


@given(
    st.lists(st.tuples(st.text("ab ", max_size=4), st.text("abc ", max_size=6)), max_size=5),
    st.lists(st.tuples(st.text("ab ", max_size=4), st.text("abc ", max_size=8)), max_size=5),
)
def test_concept_index_equals_pairwise_search(given_: list[tuple[str, str]], prompts: list[tuple[str, str]]) -> None:
    asked = [(f"q{n}", tag, prompt) for n, (tag, prompt) in enumerate(prompts)]
    wanted: dict[str, list[str]] = {}
    for concept, prompt in given_:
        name, text = normalize_words(concept), normalize_words(prompt)
        for id, tag, words in asked:
            there = bool(name) and (name == normalize_words(tag) or f" {name} " in f" {normalize_words(words)} ")
            if there or text == normalize_words(words):
                ids = wanted.setdefault(concept, [])
                ids += [] if id in ids else [id]
    found = find_concepts(given_, asked)
    assert {name: sorted(ids) for name, ids in found.items()} == {name: sorted(ids) for name, ids in wanted.items()}
