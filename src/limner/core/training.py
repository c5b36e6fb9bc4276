"""Training samples made by a graph build, and their overlap with the exam that they are meant for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from .data_files import find_reference, read_questions
from .errors import DataError
from .exam import Question
from .schema import FrozenModel, Id, Words

FILE = "train.jsonl"


class TrainSample(FrozenModel):
    """One line of ``train.jsonl``: a question, its picture and graph, and the reasoning between them."""

    id: Id = Field(min_length=1)
    level: Words
    discipline: Words
    concept: Words = Field(min_length=1)
    prompt: Words = Field(min_length=1)
    image: Words = Field(min_length=1)
    elements: tuple[Words, ...] = ()
    dependencies: tuple[Words, ...] = ()
    trace: Words
    final_prompt: Words = Field(min_length=1)


def read_samples(folder: Path) -> Sequence[Question[TrainSample]]:
    """Return the samples of a folder, with their pictures as references.

    Raises:
        DataError: Something is wrong; the message has line and id of every problem.
    """
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"no {FILE} with one sample a line in this folder; see `limner docs training`", file=folder)
    return read_questions(path, TrainSample, _question, nothing="no sample in this file")


def _question(row: TrainSample, file: Path) -> list[Question[TrainSample]]:
    picture = find_reference(file.parent, row.image)
    if picture.path is None:
        raise ValueError(f"no image {row.image!r}")
    tags = {"level": row.level, "discipline": row.discipline, "concept": row.concept}
    return [Question(row.id, row.prompt, row, tags, picture)]


def normalize_words(text: str) -> str:
    """Return a text's words in lower case, separated by single spaces, for comparing concepts.

    >>> normalize_words("The Water-Cycle!")
    'the water cycle'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def find_overlap(samples: Iterable[Question[TrainSample]], questions: Iterable[Question[Any]]) -> dict[str, list[str]]:
    """Return training concept -> ids of the exam's questions that overlap with it.

    A question overlaps if it has the same concept or the same prompt, or if the concept's words occur in its prompt one
    after another.
    """
    given = [(item.rubric.concept, item.prompt) for item in samples]
    return find_concepts(given, ((item.id, item.tags.get("concept", ""), item.prompt) for item in questions))


def find_concepts(given: Sequence[tuple[str, str]], asked: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return the overlap as `find_overlap` does, from plain tuples.

    Args:
        given: Concept and prompt of each training sample.
        asked: Id, concept and prompt of each question.

    >>> find_concepts([("water cycle", "Draw it.")], [("q1", "", "The water cycle, please"), ("q2", "rain", "Rain")])
    {'water cycle': ['q1']}
    """
    named: dict[str, list[str]] = {}
    worded: dict[str, list[str]] = {}
    for name, prompt in given:
        if concept := normalize_words(name):
            named.setdefault(concept, []).append(name)
        worded.setdefault(normalize_words(prompt), []).append(name)
    lengths = {len(concept.split()) for concept in named}
    overlaps: dict[str, dict[str, None]] = {name: {} for name, _ in given}
    for id, tag, prompt in asked:
        words = normalize_words(prompt).split()
        runs = {" ".join(words[at : at + length]) for length in lengths for at in range(len(words) - length + 1)}
        same = worded.get(" ".join(words), [])
        for name in (*same, *(name for run in (*runs, normalize_words(tag)) for name in named.get(run, ()))):
            overlaps[name][id] = None
    return {name: list(ids) for name, ids in overlaps.items() if ids}
