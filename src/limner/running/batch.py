"""The runner of a plan with batches: each wave queues calls, submits them, waits for the results, and runs again.

The next wave finds the results in the journal, so that strategies and requests that need several rounds advance by one
round with each wave.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ..calls import Budget, Calls, Fault
from ..calls.batch_services import BatchService, open_batches
from ..calls.batches import DOUBTED, OPEN, RUNNING, UNSENT, BatchCalls, BatchState, change, find_batch, release
from ..calls.journal import WaitsForBatch
from ..core.errors import LimnerError, UsageError
from ..core.loops import run_to_end
from ..core.settings import Settings
from ..evidence.by_model import ModelProbe
from ..evidence.probe import Probe
from ..judges import Judge, ModelJudge
from ..judges.panel import Panel
from ..models import ChatModel
from ..painters import Painter
from ..painters.service import ApiPainter
from ..store import Store
from ..store.markings import Marking
from ..store.records import Drawing
from .plan import Plan, Slot
from .progress import Progress
from .runner import Runner
from .wave import Wave


class BatchRunner(Runner):
    """A runner with batches: steps that wait for a batch are repeated in the next wave, and counted once."""

    _journal = BatchCalls

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._waiting: list[Any] = []
        self._drawn: dict[str, Drawing] = {}
        self._counted: set[object] = set()

    def check(self) -> None:
        """Check the plan like `Runner`, and refuse services that would charge the full price.

        Raises:
            UsageError: A service does not support batches.
        """
        super().check()
        if wrong := list(dict.fromkeys(why for payer in payers(self.plan) if (why := payer.unbatched()) is not None)):
            raise UsageError(f"--batch: {'; '.join(wrong)}")

    async def _fill_all(self, count: int, slots: Iterable[Any], calls: Calls) -> None:
        assert isinstance(calls, BatchCalls)
        wave = Wave(calls, lambda: self._stopping.asked)
        wait = self.plan.batch_wait
        until = None if wait is None else time.monotonic() + wait
        while count:
            self._waiting, calls.busy = [], 0
            await super()._fill_all(count, slots, calls)
            count, slots = len(self._waiting), [self._as_drawn(slot) for slot in self._waiting]
            if not count or self._stopping.asked:
                break
            try:
                if not await wave.settle(until):
                    break
            except Exception as error:
                self._stopping.asked, self._error = True, self._error or error
                break
        calls.waits.count("batches", 0)
        self.progress.submitted = len(calls.waiting)

    async def _fill(self, slot: Any, calls: Calls) -> None:
        try:
            await super()._fill(slot, calls)
        except WaitsForBatch:
            self._waiting.append(slot)

    def _as_drawn(self, slot: Slot) -> Slot:
        """Return the slot with the drawing made in an earlier wave."""
        if slot.arm is None:
            return slot
        drawn = self._drawn.get(self.backlog.blank_drawing(slot).id)
        return slot if drawn is None else replace(slot, stored=drawn)

    async def _draw(self, slot: Slot, calls: Calls) -> Drawing:
        drawing = await super()._draw(slot, calls)
        self._drawn[drawing.id] = drawing
        return drawing

    async def _measure(self, slot: Slot, drawing: Drawing, probe: Probe, calls: Calls) -> None:
        if (drawing.id, probe.evidence) in self._counted:
            return
        await super()._measure(slot, drawing, probe, calls)
        self._counted.add((drawing.id, probe.evidence))

    def _count(self, slot: Slot, step: Drawing | Marking, stored: bool = False, of: Progress | None = None) -> None:
        if isinstance(step, Marking) and not stored:
            self.backlog.remember(step)
        if step.id not in self._counted:
            self._counted.add(step.id)
            super()._count(slot, step, stored, of)


def make_runner(
    plan: Plan, store: Store, watch: Callable[[Progress], None] = lambda _: None, budget: Budget | None = None
) -> Runner:
    """Return the runner for a plan: with single calls, or with batches."""
    return (BatchRunner if plan.batch else Runner)(plan, store, watch, budget)


def payers(plan: Plan) -> Iterator[ChatModel | ApiPainter]:
    """Yield every model and painter of a plan that is behind a service."""
    for arm in plan.arms:
        painters: list[Painter | None] = [arm.painter, arm.strategy.editor]
        yield from (payer for payer in painters if isinstance(payer, ApiPainter))
        yield from (payer for payer in arm.strategy.models.values() if isinstance(payer, ChatModel))
    for judge in plan.judges:
        yield from _chat_models_of_judge(judge)
    for probe in plan.probes:
        yield from _chat_model_of_probe(probe)


def _chat_models_of_judge(judge: Judge) -> Iterator[ChatModel]:
    if isinstance(judge, Panel):
        for member in judge.members:
            yield from _chat_models_of_judge(member)
    elif isinstance(judge, ModelJudge):
        if isinstance(judge.model, ChatModel):
            yield judge.model
        yield from _chat_model_of_probe(judge.reader)


def _chat_model_of_probe(probe: object) -> Iterator[ChatModel]:
    if isinstance(probe, ModelProbe) and isinstance(probe.model, ChatModel):
        yield probe.model


def cancel_batch(store: Store, word: str, settings: Settings) -> str:
    """Ask the service to stop a batch; return a message for the user.

    Results that exist by then are paid for, and are fetched by the run that submitted the batch.

    Raises:
        UsageError: The batch does not exist, or has ended.
        LimnerError: The service does not answer.
    """
    batch = find_batch(store, word)
    if batch.status not in OPEN:
        raise UsageError(f"batch {batch.id[:8]} has ended: {batch.status}")
    if batch.status == UNSENT:
        if not batch.orphaned:
            raise UsageError(f"batch {batch.id[:8]} is being submitted by a running process; stop that process first")
        release(store, batch.id, "its process ended before anything was sent", UNSENT)
        return f"batch {batch.id[:8]}: nothing was sent; its calls can be made again"
    service = open_batches(batch.service, settings.provider(batch.service))
    try:
        return run_to_end(_cancel(store, batch, service))
    except Fault as fault:
        raise LimnerError(f"batch {batch.id[:8]}: {batch.service} says {fault.detail} ({fault.kind})") from fault


async def _cancel(store: Store, batch: BatchState, service: BatchService) -> str:
    name, remote = batch.id[:8], batch.remote
    if batch.status == DOUBTED:
        remote = await service.find(batch.id, batch.created, batch.calls)
        if remote is None:
            return f"batch {name} is in doubt: {batch.service} does not list it; the run that submitted it checks again"
        change(store, batch.id, (DOUBTED,), status=RUNNING, remote=remote)
    await service.cancel(str(remote))
    message = f"batch {name}: asked {batch.service} to stop it"
    return f"{message}; answers that exist by then are paid for, and are fetched by the command that submitted it"
