"""The built-in OCR examiner, by versioned rules: marks what words in the drawing prove, abstains from the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any
from typing import Protocol as Signature

from ...calls import Calls
from ...core.errors import UsageError
from ...core.evidence import TextLine
from ...core.faults import picture_faults
from ...core.marks import Criterion, Mark
from ...core.protocol import Protocol
from ...evidence.probe import OcrProbe
from ...store import Blobs
from ..base import JudgeInputs, JudgeKind, JudgeResult, Subject
from . import labels_2
from .examine import examine, wants_second


class Examine(Signature):
    """Rules: criteria, lines of text, the kinds of criteria that words can decide, whether mentions count -> marks.

    `second` are the lines of a reading at another scale, made where `wants_second` is true of the marks without it.
    """

    def __call__(
        self,
        criteria: Sequence[Criterion],
        lines: Sequence[TextLine],
        kinds: frozenset[str],
        mentions: bool = False,
        second: Sequence[TextLine] | None = None,
        /,
    ) -> list[Mark]:
        """One mark for each criterion."""
        ...


# Where the same lines would be marked differently, that is another version: the code of the old one is kept under a
# name of its own, and the new one is added at the end.
RULES: dict[str, Examine] = {"labels-2": labels_2.examine, "labels-3": examine}
"""Name of the rules, which is part of what identifies a marking -> what marks by them; the newest last."""


def choose_rules(name: str | None = None) -> tuple[str, Examine]:
    """The rules called `name`, or the newest.

    Raises:
        UsageError: There are none of that name; says which there are.
    """
    chosen = name or list(RULES)[-1]
    if chosen not in RULES:
        raise UsageError(f"the OCR examiner has no rules {chosen!r}; there is: {', '.join(RULES)}")
    return chosen, RULES[chosen]


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
        rules: str | None = None,
    ) -> None:
        name, self._examine = choose_rules(rules)
        self.name = "ocr/mentions" if mentions else "ocr"
        self._protocol, self._blobs, self._probe, self._mentions = protocol, blobs, probe, mentions
        self._second = OcrProbe(probe.seconds, again=True)
        self.setup: dict[str, Any] = {
            "judge": self.name,
            "engine": probe.name,
            "rules": name,
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
        marks = await asyncio.to_thread(self._examine, criteria, found.lines, kinds, self._mentions)
        replies = [("ocr", found.call)]
        if wants_second(marks):
            again = await self._second.measure(data, calls)
            given = (criteria, found.lines, kinds, self._mentions, again.lines)
            marks = await asyncio.to_thread(self._examine, *given)
            replies.append(("ocr again", again.call))
        return JudgeResult(tuple(replies), tuple(marks))

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """By no text at all; see `limner.judges.base.Unseeing`."""
        criteria, kinds = self._protocol.criteria(subject.question), self._protocol.label_kinds
        return JudgeResult((), tuple(await asyncio.to_thread(self._examine, criteria, (), kinds, self._mentions, ())))


def _open(given: JudgeInputs) -> OcrJudge:
    protocol = given.exam.protocol
    if given.spec not in ("ocr", "ocr/mentions"):
        raise UsageError(f"{given.spec!r} is not a judge: there is {OCR.usage}")
    if not protocol.label_kinds:
        raise UsageError(f"the OCR examiner cannot mark {given.exam.name}: none of its criteria is about words")
    return OcrJudge(protocol, given.blobs, given.ocr, mentions=given.spec != "ocr", rules=given.rules)


OCR = JudgeKind("ocr, ocr/mentions", "reads the words in the drawing and marks what they prove; free, offline", _open)
