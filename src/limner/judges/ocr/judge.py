"""The built-in OCR examiner: marks what words in the drawing prove, abstains from the rest."""

from __future__ import annotations

import asyncio
from typing import Any

from ...calls import Calls
from ...core.errors import UsageError
from ...core.faults import picture_faults
from ...core.protocol import Protocol
from ...evidence.probe import OcrProbe
from ...store import Blobs
from ..base import JudgeInputs, JudgeKind, JudgeResult, Subject
from .examine import examine, wants_second

RULES = "labels-1"
"""The name of the rules, part of what identifies a marking; it goes up where the same lines are marked differently."""


class OcrJudge:
    """Costs nothing and needs no network. See the module.

    ``ocr`` wants words to stand as labels. ``ocr/mentions`` takes them anywhere, in titles and running text too: a
    naive examiner, there to show how far one can be fooled.
    """

    def __init__(
        self,
        protocol: Protocol[Any],
        blobs: Blobs,
        probe: OcrProbe,
        mentions: bool = False,
    ) -> None:
        self.name = "ocr/mentions" if mentions else "ocr"
        self._protocol, self._blobs, self._probe, self._mentions = protocol, blobs, probe, mentions
        self._second = OcrProbe(probe.seconds, again=True)
        self.setup: dict[str, Any] = {
            "judge": self.name,
            "engine": probe.name,
            "rules": RULES,
            "variant": "mentions" if mentions else "labels",
        }

    def check(self) -> None:
        """Nothing can be missing: the engine is part of the installation."""

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Read the drawing's text, twice before anything is not met; see `limner.judges.base.Judge`."""
        with picture_faults(subject.image):
            data = await asyncio.to_thread(self._blobs.get, subject.image)
        found = await self._probe.measure(data, calls)
        criteria = self._protocol.criteria(subject.question)
        kinds = self._protocol.label_kinds
        marks = await asyncio.to_thread(examine, criteria, found.lines, kinds, self._mentions)
        replies = [("ocr", found.call)]
        if wants_second(marks):
            again = await self._second.measure(data, calls)
            given = (criteria, found.lines, kinds, self._mentions, again.lines)
            marks = await asyncio.to_thread(examine, *given)
            replies.append(("ocr again", again.call))
        return JudgeResult(tuple(replies), tuple(marks))

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """By no text at all; see `limner.judges.base.Unseeing`."""
        criteria, kinds = self._protocol.criteria(subject.question), self._protocol.label_kinds
        return JudgeResult((), tuple(await asyncio.to_thread(examine, criteria, (), kinds, self._mentions, ())))


def _open(given: JudgeInputs) -> OcrJudge:
    protocol = given.exam.protocol
    if given.spec not in ("ocr", "ocr/mentions"):
        raise UsageError(f"{given.spec!r} is not a judge: there is {OCR.usage}")
    if not protocol.label_kinds:
        raise UsageError(f"the OCR examiner cannot mark {given.exam.name}: none of its criteria is about words")
    return OcrJudge(protocol, given.blobs, given.ocr, mentions=given.spec != "ocr")


OCR = JudgeKind("ocr, ocr/mentions", "reads the words in the drawing and marks what they prove; free, offline", _open)
