"""Runs an exam: makes the drawings and marks that are missing in bounded flow, and stores each at once."""

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
from ..calls.journal import in_turn
from ..calls.purse import check_purse, open_purse
from ..core.errors import LostImage, UsageError
from ..core.evaluator import row_name
from ..core.loops import run_to_end, take_all
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
from .steps import Slips, draw, mark, outcome


def _outcome(drawing: Drawing) -> tuple[object, ...]:
    """Return what a further try at a drawing may change."""
    return drawing.status, drawing.image, drawing.detail, drawing.rounds


ACCOUNT_S = 0.25
"""So often a run says what it has spent and waits for."""
AHEAD = 64
"""At least so many slots are looked up at a time in a store that other machines may use."""


class Runner:
    """Runs one plan against one store; several that follow each other may share one `budget`."""

    _journal: type[Calls] = Calls

    def __init__(
        self,
        plan: Plan,
        store: Store,
        watch: Callable[[Progress], None] = lambda _: None,
        budget: Budget | None = None,
    ) -> None:
        self.plan, self.store, self.watch, self._budget = plan, store, watch, budget
        self.backlog, self.progress = Backlog(plan, store), Progress()
        self._stopping = Stopping(self.progress)
        self._stop: Exception | None = None
        self._slips, self._recovery = Slips(), Recovery(store)

    def run(self) -> Progress:
        """Run to the end; Ctrl-C finishes what is in flight, a second one quits at once."""
        self.check()
        if self.plan.draw:
            add_exam(self.store, self.plan.whole or self.plan.exam)
        for judge, setup in self.backlog.judges:
            save_setup(self.store, setup, judge.setup, evaluator_kind(judge))
        self.backlog.load()
        if (purse := self.plan.purse) is not None:
            told = open_purse(self.store, purse, self.plan.budget, change=self.plan.change_purse)
            if told is not None:
                print(printable(told), file=sys.stderr)
        run_to_end(self._run(), self._stopping.ask)
        if self._stop is not None:
            raise self._stop
        return self.progress

    def check(self) -> None:
        """Raise early, with nothing called or stored, when the plan cannot be carried out at all.

        Raises:
            UsageError: A key is not there, or a budget cannot be kept.
        """
        Budget(self.plan.budget)
        limited = self.plan.budget is not None or self.plan.purse is not None
        if self.plan.purse is not None:
            check_purse(self.store, self.plan.purse, self.plan.budget, change=self.plan.change_purse)
        elif self.plan.change_purse:
            raise UsageError("--change-purse: name the purse with --purse")
        for arm in self.plan.arms:
            arm.strategy.fits(arm.painter)
        for one in self._everyone():
            one.check()
        if limited and (unpriced := self.unpriced()):
            raise UsageError(f"--budget cannot be kept: {'; '.join(unpriced)}")

    def unpriced(self) -> list[str]:
        """For whose calls nobody knows what they can cost, and why."""
        return list(dict.fromkeys(why for one in self._everyone() if (why := one.unpriced()) is not None))

    def _everyone(self) -> list[Painter | Strategy | Judge | Probe]:
        arms = self.plan.arms
        painters = {id(arm.painter): arm.painter for arm in arms}.values()
        strategies = {arm.strategy.name: arm.strategy for arm in arms}.values()
        return [*painters, *strategies, *self.plan.judges, *self.plan.probes]

    @property
    def _steps(self) -> int:
        """The steps after a drawing: measurements and markings."""
        return len(self.plan.probes) + len(self.plan.judges) * self.plan.repeats

    def _slots(self) -> tuple[int, Iterable[Any]]:
        """Return how many slots are to be filled, and the slots one after another.

        Machines that share a store and went through the questions in one order would wait for each other's calls. So
        each takes them in an order of its own, and looks whether another machine has filled a slot meanwhile.
        """
        if self.store.file is not None:
            return self.backlog.count, self.backlog.slots()
        self.backlog.shuffle()
        return self.backlog.count, self._looked_up(self.backlog.slots())

    def _looked_up(self, slots: Iterator[Slot]) -> Iterator[Slot]:
        while some := list(islice(slots, max(AHEAD, self.plan.concurrency))):
            yield from self.backlog.look_again(some)

    def _painter_of(self, slot: Any) -> str | None:
        """On whose account what a slot costs is booked."""
        return slot.painter.name if slot.painter else slot.stored.painter if slot.stored else None

    async def _run(self) -> None:
        count, slots = self._slots()
        self.progress.total = count * (1 + self._steps)
        self._take_part(count)
        budget = self._budget or Budget(self.plan.budget, self.plan.purse)
        calls = self._journal(
            self.store, retry_failed=self.plan.retry_failed, budget=budget, limits=self.plan.limits,
            concurrency=self.plan.concurrency,
        )  # fmt: skip
        with self._stopping.signals():
            async with calls, asyncio.TaskGroup() as group:
                beside = group.create_task(self._account_now_and_then(calls))
                await self._fill_all(count, slots, calls)
                beside.cancel()
        self._account(calls)

    async def _fill_all(self, count: int, slots: Iterable[Any], calls: Calls) -> None:
        """Fill all slots, so many at a time; an error is kept, and raised once all is told."""
        try:
            workers = min(self.plan.concurrency, count)
            await take_all(slots, partial(self._work, calls=calls), workers, lambda: self._over)
        except Exception as error:
            self._stopping.asked, self._stop = True, self._stop or error

    async def _work(self, slot: Any, calls: Calls) -> None:
        try:
            with purpose(self.plan.exam.name, self._painter_of(slot)):
                await self._fill(slot, calls)
        except Exception:
            # The others begin no further step of theirs; what they have in flight is paid for.
            self._stopping.asked = True
            raise
        self._account(calls)
        self.watch(self.progress)

    def _take_part(self, drawn: int) -> None:
        """Everyone who draws, measures and marks is there from the beginning, with what there is to do."""
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

    def _leave_out(self) -> None:
        """There is no drawing: nothing of it is measured or marked."""
        self.progress.total -= self._steps
        for probe in self.plan.probes:
            self.progress.part("measure", probe.evidence).total -= 1
        for judge in self.plan.judges:
            self.progress.part("mark", judge.name).total -= self.plan.repeats

    async def _account_now_and_then(self, calls: Calls) -> None:
        """What is spent and waited for is known while nothing ends."""
        while True:
            self._account(calls)
            await asyncio.sleep(ACCOUNT_S)

    def _account(self, calls: Calls) -> None:
        self.progress.waiting = calls.waits.now
        self.progress.account(calls.tally)

    async def _fill(self, slot: Any, calls: Calls) -> None:
        """Draw, measure and mark one slot, as far as that is not done."""
        drawing = slot.stored
        if self.backlog.must_draw(slot):
            drawing = await self._draw(slot, calls)
        elif drawing is not None:
            self._count(slot, drawing, stored=True)
        if drawing is None or drawing.status != "done":
            self._leave_out()
            return
        if self._unfinished(drawing) and not await self._whole(drawing) and slot.arm and self.plan.retry_failed:
            # Its image is lost, and to draw it again is asked for.
            drawing = await self._draw(slot, calls)
            if drawing.status != "done":
                return
        for probe in self.plan.probes:
            if self._over:
                return
            await self._measure(slot, drawing, probe, calls)
        await in_turn(partial(self._mark, slot, drawing, one, calls) for one in self.backlog.markings(drawing))

    async def _mark(
        self, slot: Any, drawing: Drawing, one: tuple[Judge, Marking, Marking | None], calls: Calls
    ) -> None:
        """Make one marking, unless it is there."""
        if self._over:
            return
        judge, blank, stored = one
        part = self.progress.part("mark", judge.name)
        if stored is not None and not self.backlog.must_make(stored):
            self._count(slot, stored, stored=True, of=part)
            return
        with part.paying():
            marking = await mark(blank, slot.question, drawing, judge, calls)
        await asyncio.wrap_future(save_marking(self.store, marking))
        self._count(slot, marking, of=part)

    def _unfinished(self, drawing: Drawing) -> bool:
        """Whether something of it is still to be measured or marked, for which its image is needed."""
        if drawing.image is None:
            return False
        measured = not any(self.backlog.must_measure(drawing, probe) for probe in self.plan.probes)
        return not measured or any(self.backlog.must_make(stored) for _, _, stored in self.backlog.markings(drawing))

    async def _whole(self, drawing: Drawing) -> bool:
        """Whether its image is in the store as it was, or has come back for nothing; at hand, it is not looked for."""
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
            self._slips.count(type(step).__name__, step.fault, step.detail)

    async def _draw(self, slot: Slot, calls: Calls) -> Drawing:
        assert slot.arm is not None
        blank, request, old = self.backlog.blank_drawing(slot), self.backlog.request(slot), slot.stored
        rounds = self.backlog.rounds(old)
        with self._drawer(slot.arm).paying():
            drawing = await draw(blank, slot.arm, request, self.store.blobs, calls, rounds)
        if old is not None and old.status == "done" and drawing.fault in ("missing", "damaged") and old.calls:
            # Its image is lost, not its marks: they were made when it was whole.
            self._count(slot, drawing)
            return old
        if old is not None and _outcome(old) == _outcome(drawing):
            self._count(slot, old, stored=True)
            return old
        await asyncio.wrap_future(save_drawing(self.store, drawing))
        self._count(slot, drawing)
        self.progress.cut += PROMPT_CUT in (drawing.notes or {})
        return drawing

    async def _measure(self, slot: Slot, drawing: Drawing, probe: Probe, calls: Calls) -> None:
        """Measure what is not known yet. A drawing that cannot be measured is marked all the same."""
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
            self._slips.count(probe.name, None, None)
        elif fault is not None:
            self.progress.count(question, "failed", fault.kind, f"{probe.evidence}: {fault.detail}", of=part)
            self._slips.count(probe.name, fault.kind, fault.detail)

    @property
    def _over(self) -> bool:
        """Whether nothing new is begun."""
        return self._stopping.asked


class Stopping:
    """Whether a run is to begin nothing more.

    Attributes:
        asked: Set by a signal, or by whoever finds that there is no use in going on.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress, self.asked = progress, False

    def ask(self) -> None:
        """Begin nothing more; what is in flight is finished."""
        self.asked = self.progress.interrupted = True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Signals are listened to inside; the run's own task is the current one."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.asked and task is not None:
                task.cancel()
            self.ask()

        # Not through the loop's own handlers: those would take the place of who counts signals for the command line.
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
