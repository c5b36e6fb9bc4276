"""A judge that is a chat model: it sends the exam's requests and keeps the replies."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

from ..calls import Calls, Fault
from ..calls.journal import in_turn
from ..core.asks import Ask, Text
from ..core.errors import Lacking
from ..core.exam import Question
from ..core.faults import picture_faults
from ..evidence.probe import OcrProbe
from ..exams.released import RELEASE
from ..models import Answer, ChatModel, Context, complete, open_model
from ..models.base import beginning
from .base import JudgeInputs, JudgeKind, JudgeResult, Subject


class ModelJudge:
    """A chat model with an exam's prompts; an OCR probe reads a drawing's text if the variant needs it."""

    def __init__(self, given: JudgeInputs) -> None:
        self.model = model = open_model(given.spec, dict(given.args), given.settings, given.images)
        self.name = model.name
        self._protocol, self._variant = protocol, variant = given.exam.protocol, given.variant
        self._blobs, self._probe = given.blobs, given.ocr
        self._reads_text = "ocr" in protocol.needed(variant)
        self.setup: dict[str, Any] = {
            "judge": model.name,
            **model.settings,
            "variant": variant.name,
            "options": dict(variant.options),
            "templates": variant.prompts.hash(*protocol.templates(variant)),
        }
        if protocol.asked:
            self.setup["asked"] = protocol.asked
        if variant.released:
            self.setup["prompts"] = RELEASE
        if self._reads_text:
            self.setup["engine"] = self._probe.name

    def check(self) -> None:
        """Raise an error if the model's key is missing."""
        self.model.check()

    @property
    def paid(self) -> bool:
        """Whether its calls may cost money."""
        return isinstance(self.model, ChatModel)

    def unpriced(self) -> str | None:
        """Return why the cost of its calls is unknown, or None."""
        return self.model.unpriced()

    def asks_like(self, question: Question[Any]) -> tuple[list[Ask], list[Ask]]:
        """Return the requests per question and per marking, in realistic length, for estimates.

        Raises:
            Lacking: The question cannot be marked this way.
        """
        before = self._protocol.before(question, self._variant)
        evidence: dict[str, Any] = {"ocr": {"value": [], "backend": self._probe.name}} if self._reads_text else {}
        evidence |= {ask.name: "x" * 4 * self._protocol.reply_tokens.get(ask.name, 500) for ask in before}
        return before, self._protocol.asks(question, "0" * 64, evidence, self._variant)

    def typical_reply(self, ask: Ask) -> int:
        """Return the approximate number of tokens in the reply to a request, thinking included."""
        usual_tokens = self._protocol.reply_tokens
        return usual_tokens.get(ask.name, usual_tokens.get(ask.name.partition("/")[0], 500))

    @property
    def reader(self) -> OcrProbe | None:
        """The OCR probe that reads a drawing's text, if the variant needs it."""
        return self._probe if self._reads_text else None

    async def mark(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Send every request in turn; see `limner.judges.base.Judge`."""
        return await self._mark(subject, calls)

    async def mark_unseen(self, subject: Subject, calls: Calls) -> JudgeResult:
        """Send the same requests without pictures; see `limner.judges.base.Unseeing`."""
        return await self._mark(subject, calls, seen=False)

    async def _mark(self, subject: Subject, calls: Calls, seen: bool = True) -> JudgeResult:
        before: list[Answer] = []
        try:
            evidence, replies = await self._measured(subject, calls, seen)
            for ask in self._protocol.before(subject.question, self._variant):
                # A caption belongs to the question, so it is shared by all painters and repeats.
                before.append(await self._ask(ask, replace(subject, painter="", repeat=0), calls))
                evidence[ask.name] = before[-1].reply.text
            asks = self._protocol.asks(subject.question, subject.image, evidence, self._variant)
            if not seen:
                asks = [replace(ask, shown=tuple(p for p in ask.shown if isinstance(p, Text))) for ask in asks]
            answers = await in_turn(partial(self._ask, ask, subject, calls) for ask in asks)
        except Lacking as error:
            raise Fault("no_reference", str(error)) from error
        replies += [(reply.ask, reply.call) for reply in (a.reply for a in (*before, *answers)) if reply.call]
        costs = [answer.cost for answer in (*before, *answers)]
        cost = None if None in costs else sum(c for c in costs if c is not None)
        if (why := self._unread(subject.question, answers)) is not None:
            raise Fault("unreadable", why, calls=tuple(key for _, key in replies), cost=cost)
        return JudgeResult(tuple(replies), None, cost)

    def _unread(self, question: Question[Any], answers: list[Answer]) -> str | None:
        """Return why no reply can be read; None if at least one can."""
        faulty = [answer for answer in answers if answer.fault is not None]
        if not faulty:
            return None
        marks = self._protocol.marks(question, [answer.reply for answer in answers], "careful")
        unread = all(mark.verdict == "unread" for mark in marks)
        return f"{faulty[0].fault}; the reply begins: {beginning(faulty[0].reply.text)}" if unread else None

    async def _measured(
        self, subject: Subject, calls: Calls, seen: bool
    ) -> tuple[dict[str, Any], list[tuple[str, str]]]:
        """Return the evidence that the variant needs, and the name and the key of the call that measured it."""
        if not self._reads_text:
            return {}, []
        if not seen:
            return {"ocr": {"value": [], "backend": self._probe.name}}, []
        with picture_faults(subject.image):
            data = await asyncio.to_thread(self._blobs.get, subject.image)
        reading = await self._probe.measure(data, calls)
        lines = [line.to_json() for line in reading.lines]
        return {"ocr": {"value": lines, "backend": self._probe.name}}, [("ocr", reading.call)]

    async def _ask(self, ask: Ask, subject: Subject, calls: Calls) -> Answer:
        of = subject.exam, subject.question.id, subject.painter, ask.name, subject.repeat, subject.round
        about = Context(*of, system=ask.system, usual=self.typical_reply(ask))
        return await complete(self.model, ask.shown, ask.contract, about, calls)


MODEL = JudgeKind("PROVIDER/MODEL", "asks a chat model with the exam's prompt and the pictures", ModelJudge)
REPLAY = JudgeKind("replay/FILE", "uses replies stored in a file, as if a model had given them", ModelJudge)
