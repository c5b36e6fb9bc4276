"""How much does the OCR examiner decide, and how often is it wrong? ``python -m benchmarks.ocr_examiner DATA``.

DATA is a folder with GenExam's ``annotations`` and the references that are there under ``images``. Every point is true
of its own reference, so "not met" is wrong there. On the reference of another question, and on the own one with its
labels erased, "met" counts as wrong: a few of these are right by chance, so that share is an upper bound.

The rules are tuned on one half of the references and reported on the other; the hash of a question's id says which half
it is in. Readings are kept in a folder (``--cache``), so that a second run only marks.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from limner.core.evidence import TextLine
from limner.core.exam import Question
from limner.core.images import decode
from limner.evidence.ocr.rapid import RapidOcr
from limner.exams.genexam import GENEXAM
from limner.painters.controls.images import erase

HALVES = ("tune", "report")


def half_of(question: str) -> str:
    """The half that a question is in, by the hash of its id."""
    return HALVES[hashlib.sha256(question.encode()).digest()[0] % 2]


class Readings:
    """What OCR read, kept in files named after picture and engine."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._ocr = folder, RapidOcr()
        folder.mkdir(parents=True, exist_ok=True)

    def of(self, data: bytes, again: bool = False, erased: bool = False) -> list[TextLine]:
        """The lines of a picture; with `erased`, of what is left of it when the lines of its first reading are gone."""
        name = [hashlib.sha256(data).hexdigest(), self._ocr.second if again else self._ocr.version, str(erased)]
        path = self._folder / f"{hashlib.sha256(json.dumps(name).encode()).hexdigest()}.json"
        if not path.exists():
            image = decode(data)
            if erased:
                image = erase(image, self.of(data))
            path.write_text(json.dumps([line.to_json() for line in self._ocr.read(image, again)]), "utf-8")
        return [TextLine.from_json(line) for line in json.loads(path.read_text("utf-8"))]
