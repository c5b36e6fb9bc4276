"""What is trained on: the samples of a graph build, and whether they give away the exam they prepare for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field

from ..core.data_files import FrozenModel, Id, Words, find_reference, read_questions
from ..core.errors import DataError
from ..core.exam import Question

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


def read_samples(folder: Path) -> list[Question[TrainSample]]:
    """The samples of a folder, their pictures as references.

    Raises:
        DataError: Something is wrong in it; with the line and the id of all that is wrong.
    """
    path = folder / FILE
    if not path.is_file():
        raise DataError(f"no {FILE} here, with a sample a line; see docs/training.md", file=folder)
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
    asked = [(question.id, plain(question.tags.get("concept", "")), plain(question.prompt)) for question in questions]
    found: dict[str, list[str]] = {}
    for sample in samples:
        concept, prompt = plain(sample.rubric.concept), plain(sample.prompt)
        for id, tag, text in asked:
            if concept == tag or f" {concept} " in f" {text} " or prompt == text:
                ids = found.setdefault(sample.rubric.concept, [])
                ids += [] if id in ids else [id]
    return found
