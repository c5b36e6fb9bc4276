"""The answer keys of the bundled samples: what is right and wrong in pictures that were drawn on purpose.

``key/key.jsonl`` beside a sample's folder has a line for each question and picture: the criteria that are not at their
best, each with its value and the reason. It is written by the program that drew the pictures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..core.errors import UsageError
from . import Kind, each

FOLDER, KEY = "key", "key.jsonl"
BLANK = "blank"
"""Stands for the content hash of any picture of one colour."""
PAINTERS = (
    "reference",
    "one part missing",
    "one label wrong",
    "two labels swapped",
    "labels erased",
    "wrong question",
    "blank",
)
"""The painters that a key knows, from the best to the worst."""
OCR_MARKS = "ocr.jsonl"
"""Beside a key: what the OCR examiner decides about the pictures of `OCR_PAINTERS`, recorded because OCR is slow."""
OCR_PAINTERS = ("reference", "one label wrong", "labels erased")
VARIANTS = tuple(name.replace(" ", "-") for name in PAINTERS[1:5])
"""The painters whose pictures are shipped with a sample, as they are called on the command line."""


@dataclass(frozen=True)
class KeyAnswer:
    """The truth about one picture for one question.

    Attributes:
        painter: One of `PAINTERS`.
        image: The content hash of the picture, or `BLANK`.
        what: What is wrong with it, in words.
        faults: Criterion -> its value and the reason, for each that is not at its best; and marks beyond the criteria.
        file: The picture, relative to the key's folder, if it is a variant.
        regions: The number of regions, for exams that count them.
    """

    id: str
    painter: str
    image: str
    what: str
    faults: Mapping[str, tuple[int, str]]
    file: str | None = None
    regions: int | None = None


class AnswerKey:
    """The key of one sample."""

    def __init__(self, folder: Path) -> None:
        data = (folder / KEY).read_bytes()
        self.folder, self.version = folder, hashlib.sha256(data).hexdigest()[:12]
        self.answers = tuple(KeyAnswer(**_line(line)) for line in data.decode().splitlines())
        self._by_image = {(answer.id, answer.image): answer for answer in self.answers}
        self._by_painter = {(answer.id, answer.painter): answer for answer in self.answers}
        self._regions = {answer.image: answer.regions for answer in self.answers}

    def find(self, question: str, image: str) -> KeyAnswer | None:
        """Return the answers about a picture, by its content hash."""
        return self._by_image.get((question, image))

    def picture(self, question: str, painter: str) -> Path | None:
        """Return the file of a painter's picture."""
        answer = self._by_painter.get((question, painter))
        return self.folder / answer.file if answer and answer.file else None

    def ocr_marks(self) -> list[tuple[str, str, dict[str, int]]]:
        """Return the question, the picture and the recorded marks of the OCR examiner, for each picture it read."""
        lines = map(json.loads, (self.folder / OCR_MARKS).read_text("utf-8").splitlines())
        return [(line["id"], line["image"], line["marks"]) for line in lines]

    def regions(self, image: str) -> int | None:
        """Return the number of regions in a picture."""
        return self._regions.get(image)


def _line(line: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(line)
    return body | {"faults": {name: (value, reason) for name, (value, reason) in body["faults"].items()}}


def key_folder(exam: Kind[Any]) -> Path | None:
    """Return the folder of an exam's answer key, beside its sample."""
    return exam.sample.with_name(FOLDER) if exam.sample else None


@cache
def _read(folder: Path | None) -> AnswerKey | None:
    return AnswerKey(folder) if folder and (folder / KEY).is_file() else None


def answer_key(exam: Kind[Any]) -> AnswerKey:
    """Return the key of an exam's sample.

    Raises:
        UsageError: It has none.
    """
    key = _read(key_folder(exam))
    if key is None:
        raise UsageError(f"the exam {exam.name} has no sample with an answer key")
    return key


def counted_regions(image: str) -> int | None:
    """Return the number of regions that a key gives for a picture."""
    keys = (_read(key_folder(exam)) for exam in each())
    return next((count for key in keys if key and (count := key.regions(image)) is not None), None)


def file_name(painter: str, drawing: str) -> str:
    """Return the path of a variant's picture inside the key's folder."""
    return f"{painter.replace(' ', '-')}/{drawing}.png"
