"""The answer key as a judge: it knows the truth about the pictures of the bundled samples, and about nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from ..calls import Calls
from ..core.errors import UsageError
from ..core.evaluator import ANSWER_KEY
from ..core.exam import Exam, Question
from ..core.faults import picture_faults
from ..core.images import is_one_colour
from ..core.marks import Mark, values
from ..core.protocol import Protocol
from ..exams import SAMPLE, Kind
from ..exams.key import BLANK, KeyAnswer, answer_key
from .base import JudgeInputs, JudgeKind, JudgeResult, Subject


class KeyJudge:
    """The judge that looks a picture up in the key of its sample, by content hash, and abstains on other pictures."""

    name = ANSWER_KEY

    def __init__(self, given: JudgeInputs) -> None:
        if given.rest or given.args:
            raise UsageError(f"{given.spec!r} is not a judge: there is {KEY.usage}, without arguments")
        self._protocol, self._key, self._blobs = given.exam.protocol, answer_key(given.exam), given.blobs
        self.setup: dict[str, Any] = {"judge": self.name, "rules": self._key.version}

    def check(self) -> None:
        """Do nothing: the key is part of the installation, so nothing can be missing."""

    def unpriced(self) -> str | None:
        """Return None: looking up costs nothing."""
        return None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Return the key's marks; see `limner.judges.base.Judge`."""
        answer = self._key.find(subject.question.id, subject.image)
        if answer is None:
            with picture_faults(subject.image):
                data = await asyncio.to_thread(self._blobs.get, subject.image)
                if await asyncio.to_thread(is_one_colour, data):
                    answer = self._key.find(subject.question.id, BLANK)
        # An edited copy of a sample may ask other questions under the same ids.
        known = answer if subject.exam.startswith(SAMPLE) else None
        return JudgeResult(marks=tuple(key_marks(self._protocol, subject.question, known)))


def key_marks(protocol: Protocol[Any], question: Question[Any], answer: KeyAnswer | None) -> list[Mark]:
    """Return a mark for each criterion: its value in the key, the best one if the key names no fault."""
    criteria = protocol.criteria(question)
    if answer is None:
        return [Mark.abstain(each.id, "the key does not know this picture", ANSWER_KEY) for each in criteria]
    best = {each.id: (each.top, "") for each in criteria}
    return [
        Mark(criterion, value, reason, ANSWER_KEY) for criterion, (value, reason) in (best | {**answer.faults}).items()
    ]


def count_agreement(exam: Exam[Any], kind: Kind[Any]) -> tuple[int, int, int]:
    """Return how many criteria the OCR examiner agrees on with the key, how many it decides, and how many there are.

    Its marks are recorded for the pictures of `limner.exams.key.OCR_PAINTERS`.
    """
    key, agreed, decided, count = answer_key(kind), 0, 0, 0
    for id, image, marks in key.ocr_marks():
        question = exam.find(id)
        if question is None:
            continue
        truth = values(key_marks(kind.protocol, question, key.find(id, image)))
        agreed += sum(truth.get(criterion) == value for criterion, value in marks.items())
        decided, count = decided + len(marks), count + len(kind.protocol.criteria(question))
    return agreed, decided, count


KEY = JudgeKind("key", "knows the truth about the pictures shipped with the samples; abstains on others", KeyJudge)
