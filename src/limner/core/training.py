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


def find_concepts(given: Iterable[tuple[str, str]], asked: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return the overlap as `find_overlap` does, from plain tuples.

    Args:
        given: Concept and prompt of each training sample.
        asked: Id, concept and prompt of each question.

    >>> find_concepts([("water cycle", "Draw it.")], [("q1", "", "The water cycle, please"), ("q2", "rain", "Rain")])
    {'water cycle': ['q1']}
    """
    wanted = [(name, normalize_words(name), normalize_words(prompt)) for name, prompt in given]
    lengths = {len(concept.split()) for _, concept, _ in wanted}
    overlaps: dict[str, list[str]] = {}
    named: dict[str, dict[str, None]] = {}
    worded: dict[str, dict[str, None]] = {}
    order: dict[str, int] = {}
    for id, tag, prompt in asked:
        order.setdefault(id, len(order))
        text = normalize_words(prompt)
        words = text.split()
        for length in lengths:
            for at in range(len(words) - length + 1):
                named.setdefault(" ".join(words[at : at + length]), {})[id] = None
        named.setdefault(normalize_words(tag), {})[id] = None
        worded.setdefault(text, {})[id] = None
    for name, concept, prompt in wanted:
        ids = {*named.get(concept, ()), *worded.get(prompt, ())} if concept else {*worded.get(prompt, ())}
        for id in sorted(ids, key=order.__getitem__):
            matched = overlaps.setdefault(name, [])
            matched += [] if id in matched else [id]
    return overlaps
