"""What is trained on: the samples of a graph build, and whether they give away the exam they prepare for."""

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
    """One line of ``train.jsonl``: a question, its picture and graph, and how to think from one to the other."""

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
    """Return the samples of a folder, their pictures as references.

    Raises:
        DataError: Something is wrong in it; with the line and the id of all that is wrong.
    """
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"no {FILE} here, with a sample a line; see `limner docs training`", file=folder)
    return read_questions(path, TrainSample, _question, nothing="no sample in this file")


def _question(row: TrainSample, file: Path) -> list[Question[TrainSample]]:
    picture = find_reference(file.parent, row.image)
    if picture.path is None:
        raise ValueError(f"there is no image {row.image!r}")
    tags = {"level": row.level, "discipline": row.discipline, "concept": row.concept}
    return [Question(row.id, row.prompt, row, tags, picture)]


def plain(text: str) -> str:
    """Words in lower case with one blank between them, for comparing concepts.

    >>> plain("The Water-Cycle!")
    'the water cycle'
    """
    return " ".join(re.findall(r"\w+", text.casefold()))


def overlap(samples: Iterable[Question[TrainSample]], questions: Iterable[Question[Any]]) -> dict[str, list[str]]:
    """Training concept -> questions of the exam it stands in: as their concept, in their prompt, or as their prompt.

    A concept stands in a prompt where its words follow each other there.
    """
    given = [(one.rubric.concept, one.prompt) for one in samples]
    return concepts_in(given, ((one.id, one.tags.get("concept", ""), one.prompt) for one in questions))


def concepts_in(given: Iterable[tuple[str, str]], asked: Iterable[tuple[str, str, str]]) -> dict[str, list[str]]:
    """Return the same for concepts with their prompts, and for ids with their concept and prompt.

    >>> concepts_in([("water cycle", "Draw it.")], [("q1", "", "The water cycle, please"), ("q2", "rain", "Rain")])
    {'water cycle': ['q1']}
    """
    wanted = [(name, plain(name), plain(prompt)) for name, prompt in given]
    lengths = {len(concept.split()) for _, concept, _ in wanted}
    found: dict[str, list[str]] = {}
    named: dict[str, dict[str, None]] = {}
    worded: dict[str, dict[str, None]] = {}
    order: dict[str, int] = {}
    for id, tag, prompt in asked:
        order.setdefault(id, len(order))
        text = plain(prompt)
        words = text.split()
        for length in lengths:
            for at in range(len(words) - length + 1):
                named.setdefault(" ".join(words[at : at + length]), {})[id] = None
        named.setdefault(plain(tag), {})[id] = None
        worded.setdefault(text, {})[id] = None
    for name, concept, prompt in wanted:
        ids = {*named.get(concept, ()), *worded.get(prompt, ())} if concept else {*worded.get(prompt, ())}
        for id in sorted(ids, key=order.__getitem__):
            known = found.setdefault(name, [])
            known += [] if id in known else [id]
    return found
