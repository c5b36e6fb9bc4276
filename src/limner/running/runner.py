"""The runner of an exam: it makes missing drawings and marks concurrently, and stores each as soon as it is made."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

from ..calls import Budget, Calls, purpose
from ..calls.budget import check_purse, open_purse
from ..calls.journal import in_turn
from ..core.errors import LostImage, UsageError
from ..core.evaluator import row_name
from ..core.loops import process_all, run_to_end
from ..core.redaction import printable
from ..evidence.probe import Finding, Probe
from ..judges import Judge, evaluator_kind
from ..painters import Painter
from ..store import Store
from ..store.markings import Marking, save_marking
from ..store.records import PROMPT_CUT, Drawing, add_exam, save_drawing, save_evidence, save_setup
from ..strategies import Strategy
from .backlog import Backlog
from .plan import Arm, Plan, Slot
from .progress import Progress
from .repair import Recovery
from .steps import RepeatedErrors, draw, mark, outcome


def _retried_fields(drawing: Drawing) -> tuple[object, ...]:
    """Return the fields of a drawing that another try may change."""
    return drawing.status, drawing.image, drawing.detail, drawing.rounds


UPDATE_S = 0.25
"""Seconds between updates of the spending and the waiting calls in the progress."""
MIN_LOOKUP = 64
"""The fewest slots that are looked up at a time in a store that other machines may share."""


class Runner:
    """One run of a plan on a store; consecutive runners may share one `budget`."""

    _journal: type[Calls] = Calls

    def __init__(
        self, plan: Plan, store: Store, watch: Callable[[Progress], None] = lambda _: None, budget: Budget | None = None
    ) -> None:
        self.plan, self.store, self.watch, self._budget = plan, store, watch, budget
        self.backlog, self.progress = Backlog(plan, store), Progress()
        self._stopping = Stopping(self.progress)
        self._error: Exception | None = None
        self._repeated_errors, self._recovery = RepeatedErrors(), Recovery(store)

    def run(self) -> Progress:
        """Run to the end; the first Ctrl-C lets calls in flight finish, the second quits immediately."""
        self.check()
        if self.plan.draw:
            add_exam(self.store, self.plan.whole or self.plan.exam)
        for judge, setup in self.backlog.judges:
            save_setup(self.store, setup, judge.setup, evaluator_kind(judge))
        self.backlog.load()
        if (purse := self.plan.purse) is not None:
            message = open_purse(self.store, purse, self.plan.budget, change=self.plan.change_purse)
            if message is not None:
                print(printable(message), file=sys.stderr)
        run_to_end(self._run(), self._stopping.ask)
        if self._error is not None:
            raise self._error
        return self.progress

    def check(self) -> None:
        """Check that the plan can be carried out, without making calls or storing anything.

        Raises:
            UsageError: A key is missing, or a budget cannot be enforced.
        """
        Budget(self.plan.budget)
        limited = self.plan.budget is not None or self.plan.purse is not None
        if self.plan.purse is not None:
            check_purse(self.store, self.plan.purse, self.plan.budget, change=self.plan.change_purse)
        elif self.plan.change_purse:
            raise UsageError("--change-purse: name the purse with --purse")
        self.plan.check_painters()
        for arm in self.plan.arms:
            if len(self.plan.without_image(arm.painter)) == len(self.plan.exam.questions) and self.plan.draw:
                some = ", ".join(question.id for question in self.plan.exam.questions[:3])
                how = f"`limner exam rename {self.plan.exam.name} {arm.painter.spec.removeprefix('folder/')}` helps"
                raise UsageError(f"{arm.painter.spec}: no image is named after a question, such as {some}; {how}")
        for participant in self._everyone():
            participant.check()
        if limited and (unpriced := self.unpriced()):
            raise UsageError(f"--budget cannot be enforced: {'; '.join(unpriced)}")

    def unpriced(self) -> list[str]:
        """Return why costs are unknown: one message for each painter, strategy, judge or probe without a price."""
        return list(
            dict.fromkeys(why for participant in self._everyone() if (why := participant.unpriced()) is not None)
        )

    def _everyone(self) -> list[Painter | Strategy | Judge | Probe]:
        arms = self.plan.arms
        painters = {id(arm.painter): arm.painter for arm in arms}.values()
        strategies = {arm.strategy.name: arm.strategy for arm in arms}.values()
        return [*painters, *strategies, *self.plan.judges, *self.plan.probes]

    @property
    def _steps_per_drawing(self) -> int:
        """The number of steps that follow each drawing: measurements and markings."""
        return len(self.plan.probes) + len(self.plan.judges) * self.plan.repeats

    def _slots(self) -> tuple[int, Iterable[Any]]:
        """Return the number of slots to fill, and the slots.

        If all machines that share a store took the questions in the same order, they would wait for each other's
        calls. So each machine shuffles the questions, and looks up again what is stored just before it fills a slot.
        """
        if self.store.file is not None:
            return self.backlog.count, self.backlog.slots()
        self.backlog.shuffle()
        return self.backlog.count, self._updated(self.backlog.slots())

    def _updated(self, slots: Iterator[Slot]) -> Iterator[Slot]:
        """Yield the slots with what other machines have stored meanwhile, looked up a few at a time."""
        while some := list(islice(slots, max(MIN_LOOKUP, self.plan.concurrency))):
            yield from self.backlog.look_again(some)

    def _painter_of(self, slot: Any) -> str | None:
        """Return the painter to which a slot's costs are charged."""
        return slot.painter.name if slot.painter else slot.stored.painter if slot.stored else None

    async def _run(self) -> None:
        count, slots = self._slots()
        self.progress.total = count * (1 + self._steps_per_drawing)
        self._add_parts(count)
        budget = self._budget or Budget(self.plan.budget, self.plan.purse)
        calls = self._journal(
            self.store, retry_failed=self.plan.retry_failed, budget=budget, limits=self.plan.limits,
            concurrency=self.plan.concurrency,
        )  # fmt: skip
        with self._stopping.signals():
            async with calls, asyncio.TaskGroup() as group:
                updates = group.create_task(self._update_regularly(calls))
                await self._fill_all(count, slots, calls)
                updates.cancel()
        self._account(calls)

    async def _fill_all(self, count: int, slots: Iterable[Any], calls: Calls) -> None:
        """Fill all slots concurrently; keep an error, which `run` raises at the end."""
        try:
            workers = min(self.plan.concurrency, count)
            await process_all(slots, partial(self._work, calls=calls), workers, lambda: self._stopping.asked)
        except Exception as error:
            self._stopping.asked, self._error = True, self._error or error

    async def _work(self, slot: Any, calls: Calls) -> None:
        try:
            with purpose(self.plan.exam.name, self._painter_of(slot)):
                await self._fill(slot, calls)
        except Exception:
            # Other workers start no new step, but their calls in flight finish, because these are paid for.
            self._stopping.asked = True
            raise
        self._account(calls)
        self.watch(self.progress)

    def _add_parts(self, drawn: int) -> None:
        """Add every painter, probe and judge to the progress, with its number of steps."""
        for arm, number in zip(self.plan.arms, self.backlog.by_arm, strict=True) if self.plan.draw else ():
            self._drawer(arm).total += number
        for probe in self.plan.probes:
            self.progress.part("measure", probe.evidence).total += drawn
        for judge in self.plan.judges:
            self.progress.part("mark", judge.name).total += drawn * self.plan.repeats

    def _drawer(self, arm: Arm | None) -> Progress:
        assert arm is not None
        row = row_name(self.backlog.label(arm.painter), arm.strategy.name)
        return self.progress.part("draw", row)

    def _subtract_steps(self) -> None:
        """Subtract from the totals the steps of a drawing that was not made."""
        self.progress.total -= self._steps_per_drawing
        for probe in self.plan.probes:
            self.progress.part("measure", probe.evidence).total -= 1
        for judge in self.plan.judges:
            self.progress.part("mark", judge.name).total -= self.plan.repeats

    async def _update_regularly(self, calls: Calls) -> None:
        """Update spending and waiting calls regularly, even while no step ends."""
        while True:
            self._account(calls)
            await asyncio.sleep(UPDATE_S)

    def _account(self, calls: Calls) -> None:
        self.progress.waiting = calls.waits.now
        self.progress.account(calls.tally)

    async def _fill(self, slot: Any, calls: Calls) -> None:
        """Draw, measure and mark one slot, skipping what is already stored."""
        drawing = slot.stored
        if self.backlog.must_draw(slot):
            drawing = await self._draw(slot, calls)
        elif drawing is not None:
            self._count(slot, drawing, stored=True)
        if drawing is None or drawing.status != "done":
            self._subtract_steps()
            return
        if self._needs_image(drawing) and not await self._has_image(drawing) and slot.arm and self.plan.retry_failed:
            # Its image is lost, and --retry-failed asks to draw it again.
            drawing = await self._draw(slot, calls)
            if drawing.status != "done":
                return
        for probe in self.plan.probes:
            if self._stopping.asked:
                return
            await self._measure(slot, drawing, probe, calls)
        await in_turn(partial(self._mark, slot, drawing, job, calls) for job in self.backlog.markings(drawing))

    async def _mark(
        self, slot: Any, drawing: Drawing, job: tuple[Judge, Marking, Marking | None], calls: Calls
    ) -> None:
        """Make one marking unless it is stored already."""
        if self._stopping.asked:
            return
        judge, blank, stored = job
        part = self.progress.part("mark", judge.name)
        if stored is not None and not self.backlog.must_make(stored):
            self._count(slot, stored, stored=True, of=part)
            return
        with part.paying():
            marking = await mark(blank, slot.question, drawing, judge, calls)
        await asyncio.wrap_future(save_marking(self.store, marking))
        self._count(slot, marking, of=part)

    def _needs_image(self, drawing: Drawing) -> bool:
        """Return whether the drawing's image is still needed for a measurement or a marking."""
        if drawing.image is None:
            return False
        measured = not any(self.backlog.must_measure(drawing, probe) for probe in self.plan.probes)
        return not measured or any(self.backlog.must_make(stored) for _, _, stored in self.backlog.markings(drawing))

    async def _has_image(self, drawing: Drawing) -> bool:
        """Return whether the drawing's image is intact in the store, or was recovered for free."""
        if self.plan.images is not None and self.plan.images.has(str(drawing.image)) and not self.plan.probes:
            return True
        try:
            await asyncio.to_thread(self.store.blobs.get, str(drawing.image))
        except LostImage:
            return await self._recovery.drawing(drawing)
        return True

    def _count(self, slot: Slot, step: Drawing | Marking, stored: bool = False, of: Progress | None = None) -> None:
        if of is None and self.plan.draw:
            of = self._drawer(slot.arm)
        self.progress.count(slot.question.id, step.status, step.fault, step.detail, stored=stored, of=of)
        if not stored:
            self._repeated_errors.count(type(step).__name__, step.fault, step.detail)

    async def _draw(self, slot: Slot, calls: Calls) -> Drawing:
        assert slot.arm is not None
        blank, request, old = self.backlog.blank_drawing(slot), self.backlog.request(slot), slot.stored
        rounds = self.backlog.rounds(old)
        with self._drawer(slot.arm).paying():
            drawing = await draw(blank, slot.arm, request, self.store.blobs, calls, rounds, self.plan.least_side)
        if old is not None and old.status == "done" and drawing.fault in ("missing", "damaged") and old.calls:
            # Only the image was lost; the marks were made while it was intact, so keep the old drawing.
            self._count(slot, drawing)
            return old
        if old is not None and _retried_fields(old) == _retried_fields(drawing):
            self._count(slot, old, stored=True)
            return old
        await asyncio.wrap_future(save_drawing(self.store, drawing))
        self._count(slot, drawing)
        self.progress.cut += PROMPT_CUT in (drawing.notes or {})
        return drawing

    async def _measure(self, slot: Slot, drawing: Drawing, probe: Probe, calls: Calls) -> None:
        """Measure the drawing unless that is stored already; if this fails, the drawing is still marked."""
        question, part = slot.question.id, self.progress.part("measure", probe.evidence)
        if drawing.image is None or not self.backlog.must_measure(drawing, probe):
            self.progress.count(question, "done", stored=True, of=part)
            return
        image = drawing.image

        async def measured() -> Finding:
            data = await asyncio.to_thread(self.store.blobs.get, image)
            with part.paying():
                return await probe.measure(data, calls)

        finding, fault = await outcome(measured())
        if finding is not None:
            await asyncio.wrap_future(save_evidence(self.store, image, probe.evidence, finding.backend, finding.value))
            self.progress.count(question, "done", of=part)
            self._repeated_errors.count(probe.name, None, None)
        elif fault is not None:
            self.progress.count(question, "failed", fault.kind, f"{probe.evidence}: {fault.detail}", of=part)
            self._repeated_errors.count(probe.name, fault.kind, fault.detail)


class Stopping:
    """The switch that stops a run gracefully: calls in flight finish, nothing new is started.

    Attributes:
        asked: Whether to stop. Set by a signal, or by an error that makes it useless to go on.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress, self.asked = progress, False

    def ask(self) -> None:
        """Ask the run to stop because the user interrupted it."""
        self.asked = self.progress.interrupted = True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Handle Ctrl-C and SIGTERM inside the block; a second one cancels the task that entered the block."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.asked and task is not None:
                task.cancel()
            self.ask()

        # Not loop.add_signal_handler: it would not restore the command line's own handler, which counts signals.
        def pass_on(_number: int, _frame: object) -> None:
            loop.call_soon_threadsafe(stop)

        try:
            before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:
            yield  # Not the main thread: leave the signals alone.
            return
        try:
            yield
        except asyncio.CancelledError:
            if not self.progress.interrupted:
                raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
