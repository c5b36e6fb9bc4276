"""The sorting of wrong criteria into an exam's failure modes by a chat model, through the call journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls import Budget, Calls, Limits, purpose
from ..calls.journal import NotAsked, StoredCalls
from ..core.asks import Prompts
from ..core.errors import UsageError
from ..core.exam import Question
from ..core.loops import process_all, run_to_end
from ..core.marks import Mark
from ..core.protocol import UNREAD, FailureModes
from ..core.settings import Settings
from ..models import ChatModel, Context, ReplayModel, complete
from ..store import Store
from .estimate import Estimate, ask_tokens
from .progress import Progress
from .steps import answer_or_fault

THINKING, REPLY = 200, 12
"""Approximate tokens of a reply: for thinking, and for each criterion."""


@dataclass(frozen=True)
class WrongDrawing:
    """A drawing with marks to be sorted.

    Attributes:
        row: The painter's row in tables.
        painter: Its painter's name in the store.
        image: Its content hash; None for results imported without images.
    """

    row: str
    painter: str
    question: Question[Any]
    image: str | None
    wrong: tuple[Mark, ...]


@dataclass(frozen=True)
class SortedDrawing:
    """The failure mode (or unread) of each wrong criterion of a drawing, or why none is known."""

    drawing: WrongDrawing
    modes: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class ModeSorter:
    """The errors to sort into an exam's failure modes, the model that sorts, and how it is asked.

    Attributes:
        judge: The judge that answered.
        asked: Painters in their order, each with the number of questions that the judge answered.
        drawings: The drawings with wrong answers.
        notes: The questions on which painters are compared, and the painters left out.
    """

    exam: str
    modes: FailureModes[Any]
    model: ChatModel | ReplayModel
    prompts: Prompts
    store: Store
    judge: str
    asked: Sequence[tuple[str, int]]
    drawings: Sequence[WrongDrawing]
    limits: Mapping[str, Limits]
    notes: Sequence[str] = ()

    def estimate(self, settings: Settings, retry_failed: bool) -> Estimate:
        """Return the estimate of the requests that are still missing."""
        missing = run_to_end(self._missing(retry_failed))
        asks = [
            self.modes.ask(drawing.question, drawing.wrong, drawing.image or "", self.prompts) for drawing in missing
        ]
        sent = round(sum(map(ask_tokens, asks)))
        written = sum(THINKING + REPLY * len(drawing.wrong) for drawing in missing)
        dollars = settings.price(self.model.name, sent, written) if isinstance(self.model, ChatModel) else 0.0
        return Estimate(self.model.name, "sorter", len(missing), len(missing), sent, written, dollars, "rule of thumb")

    async def _missing(self, retry_failed: bool) -> list[WrongDrawing]:
        calls, missing = StoredCalls(self.store, retry_failed=retry_failed), []
        for drawing in self.drawings:
            try:
                await self._sort(drawing, calls)
            except NotAsked:
                missing.append(drawing)
        return missing

    def sort(
        self,
        *,
        budget: float | None = None,
        concurrency: int = 64,
        retry_failed: bool = False,
        watch: Callable[[Progress], None] = lambda _: None,
    ) -> tuple[list[SortedDrawing], Progress]:
        """Sort all drawings; earlier answers are taken from the journal.

        Raises:
            UsageError: The budget cannot be enforced.
        """
        self.model.check()
        if budget is not None and (why := self.model.unpriced()) is not None:
            raise UsageError(f"--budget cannot be enforced: {why}")
        calls = Calls(self.store, retry_failed=retry_failed, budget=Budget(budget), limits=self.limits)
        progress, by_number = Progress(total=len(self.drawings)), dict[int, SortedDrawing]()

        async def take(numbered: tuple[int, WrongDrawing]) -> None:
            n, drawing = numbered
            made = calls.tally.made
            with purpose(self.exam, drawing.painter):
                by_number[n] = sorted_drawing = await self._sort(drawing, calls)
            status, fault = "failed" if sorted_drawing.fault else "done", sorted_drawing.fault
            stored = calls.tally.made == made
            progress.count(drawing.question.id, status, fault, sorted_drawing.detail, stored=stored)
            progress.account(calls.tally)
            watch(progress)

        async def run() -> None:
            async with calls:
                await process_all(enumerate(self.drawings), take, min(concurrency, len(self.drawings)))

        run_to_end(run())
        return [by_number[n] for n in sorted(by_number)], progress

    async def _sort(self, drawing: WrongDrawing, calls: Calls) -> SortedDrawing:
        if drawing.image is None:
            return SortedDrawing(drawing, fault="missing", detail="the drawing was imported without its image")
        ask = self.modes.ask(drawing.question, drawing.wrong, drawing.image, self.prompts)
        context = Context(self.exam, drawing.question.id, drawing.painter, ask.name, system=ask.system)
        answer, fault = await answer_or_fault(complete(self.model, ask.shown, ask.contract, context, calls))
        if answer is None:
            assert fault is not None
            return SortedDrawing(drawing, fault=fault.kind, detail=fault.detail)
        modes = self.modes.read(answer.reply.text, drawing.wrong)
        return SortedDrawing(drawing, {mark.criterion: modes.get(mark.criterion, UNREAD) for mark in drawing.wrong})
