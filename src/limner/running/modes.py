"""Sorts what painters got wrong into an exam's modes of failure: a chat model says which, through the call journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..calls import Budget, Calls, Limits, purpose
from ..calls.journal import NotAsked, StoredCalls
from ..core.errors import UsageError
from ..core.exam import Question
from ..core.loops import run_to_end, take_all
from ..core.marks import Mark
from ..core.prompts import Prompts
from ..core.protocol import UNREAD, FailureModes
from ..core.settings import Settings
from ..models import ChatModel, Context, ReplayModel, complete
from ..store import Store
from .estimate import Estimate, ask_tokens
from .progress import Progress
from .steps import answer_or_fault

THINKING, REPLY = 200, 12
"""About how many tokens of a reply are thought, and how many it has for each question."""


@dataclass(frozen=True)
class WrongDrawing:
    """A drawing with marks to be sorted.

    Attributes:
        row: The painter's row in tables.
        painter: Who drew it, as the store knows it.
        image: Its content hash; None where results came without it.
    """

    row: str
    painter: str
    question: Question[Any]
    image: str | None
    wrong: tuple[Mark, ...]


@dataclass(frozen=True)
class SortedDrawing:
    """Criterion -> mode or unread; or why nothing is known."""

    drawing: WrongDrawing
    modes: Mapping[str, str] = field(default_factory=dict)
    fault: str | None = None
    detail: str | None = None


@dataclass(frozen=True)
class ModeSorter:
    """Who sorts, and how."""

    exam: str
    modes: FailureModes[Any]
    model: ChatModel | ReplayModel
    prompts: Prompts
    store: Store

    def estimate(self, drawings: Sequence[WrongDrawing], settings: Settings, retry_failed: bool) -> Estimate:
        """Return what is still to be asked, and about what that costs."""
        missing = run_to_end(self._missing(drawings, retry_failed))
        asks = [self.modes.ask(one.question, one.wrong, one.image or "", self.prompts) for one in missing]
        sent = round(sum(map(ask_tokens, asks)))
        written = sum(THINKING + REPLY * len(one.wrong) for one in missing)
        dollars = settings.price(self.model.name, sent, written) if isinstance(self.model, ChatModel) else 0.0
        return Estimate(self.model.name, "sorter", len(missing), len(missing), sent, written, dollars, "rule of thumb")

    async def _missing(self, drawings: Sequence[WrongDrawing], retry_failed: bool) -> list[WrongDrawing]:
        calls, found = StoredCalls(self.store, retry_failed=retry_failed), []
        for drawing in drawings:
            try:
                await self._sort(drawing, calls)
            except NotAsked:
                found.append(drawing)
        return found

    def sort(
        self,
        drawings: Sequence[WrongDrawing],
        *,
        budget: float | None = None,
        limits: Mapping[str, Limits] | None = None,
        concurrency: int = 64,
        retry_failed: bool = False,
        watch: Callable[[Progress], None] = lambda _: None,
    ) -> tuple[list[SortedDrawing], Progress]:
        """Sort them all; what was sorted before is taken from the journal.

        Raises:
            UsageError: A budget cannot be kept.
        """
        self.model.check()
        if budget is not None and (why := self.model.unpriced()) is not None:
            raise UsageError(f"--budget cannot be kept: {why}")
        calls = Calls(self.store, retry_failed=retry_failed, budget=Budget(budget), limits=limits)
        progress, found = Progress(total=len(drawings)), dict[int, SortedDrawing]()

        async def take(numbered: tuple[int, WrongDrawing]) -> None:
            n, drawing = numbered
            made = calls.tally.made
            with purpose(self.exam, drawing.painter):
                found[n] = one = await self._sort(drawing, calls)
            status = "failed" if one.fault else "done"
            progress.count(drawing.question.id, status, one.fault, one.detail, stored=calls.tally.made == made)
            progress.account(calls.tally)
            watch(progress)

        async def run() -> None:
            async with calls:
                await take_all(enumerate(drawings), take, min(concurrency, len(drawings)))

        run_to_end(run())
        return [found[n] for n in sorted(found)], progress

    async def _sort(self, drawing: WrongDrawing, calls: Calls) -> SortedDrawing:
        if drawing.image is None:
            return SortedDrawing(drawing, fault="missing", detail="the drawing came without its image")
        ask = self.modes.ask(drawing.question, drawing.wrong, drawing.image, self.prompts)
        context = Context(self.exam, drawing.question.id, drawing.painter, ask.name, system=ask.system)
        answer, fault = await answer_or_fault(complete(self.model, ask.shown, ask.contract, context, calls))
        if answer is None:
            assert fault is not None
            return SortedDrawing(drawing, fault=fault.kind, detail=fault.detail)
        said = self.modes.read(answer.reply.text, drawing.wrong)
        return SortedDrawing(drawing, {mark.criterion: said.get(mark.criterion, UNREAD) for mark in drawing.wrong})
