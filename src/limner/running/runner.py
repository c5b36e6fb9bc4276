"""Runs an exam: finds which drawings and marks are missing, makes them in bounded flow, stores each at once."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..calls import STOPPING, Budget, Calls, Fault, digest, purpose
from ..core.errors import StopRun, StoreError, UsageError
from ..core.evidence import IMPORTED
from ..core.exam import Question
from ..core.faults import RETRIED_NEXT_RUN
from ..core.images import BadImage
from ..evidence.probe import Probe
from ..exams import kind
from ..judges import Judge, JudgeResult, Subject
from ..painters import Aspect, Painter, Painting, PaintRequest
from ..store import Store, now
from ..store.records import (
    Drawing,
    Marking,
    add_exam,
    known_evidence,
    label,
    load_drawings,
    load_markings,
    save_drawing,
    save_evidence,
    save_marking,
    save_setup,
)
from ..strategies import Strategy
from .plan import Plan, Progress, Slot, Way, marking_id, named, slot_id

__all__ = ["Plan", "Progress", "Runner", "marking_id", "slot_id"]


class Runner:
    """Runs one plan against one store."""

    def __init__(self, plan: Plan, store: Store, watch: Callable[[Progress], None] = lambda _: None) -> None:
        self.plan, self.store, self.watch = plan, store, watch
        self.progress = Progress()
        self._protocol = kind(plan.exam.kind).protocol
        self._setups = [(judge, digest("setup-1", judge.setup)) for judge in plan.judges]
        self._markings: dict[str, Marking] = {}
        self._measured: set[tuple[str, str, str]] = set()
        self._stopping = False
        self._unwritten: BaseException | None = None
        self._stop: Exception | None = None

    def slots(self) -> Iterator[Slot]:
        """The drawings of the plan, question by question."""
        plan = self.plan
        if not plan.draw:
            chosen = {question.hash: question for question in self.questions}
            for drawing in load_drawings(self.store, plan.exam.name):
                named = plan.only_painters is None or drawing.painter in plan.only_painters
                if drawing.question_hash in chosen and named:
                    yield Slot(chosen[drawing.question_hash], None, drawing.seed, drawing)
            return
        stored = {drawing.id: drawing for drawing in load_drawings(self.store, plan.exam.name)}
        for question in self.questions:
            for way in plan.ways:
                for seed in range(plan.first_seed, plan.first_seed + plan.seeds):
                    yield Slot(question, way, seed, stored.get(self._slot_id(question, way, seed)))

    def _slot_id(self, question: Question[Any], way: Way, seed: int) -> str:
        options = self.options_of(way.painter)
        return slot_id(self.plan.exam.name, question.hash, way.painter.name, way.strategy.name, options, seed)

    @property
    def questions(self) -> list[Question[Any]]:
        """The questions of the plan that its drawing options leave in."""
        return [one for one in self.plan.exam.questions if self._protocol.takes(one, self.plan.options)]

    def options_of(self, painter: Painter) -> dict[str, Any]:
        """What makes a drawing another one: the painter's options, and the exam's where they are not the usual ones."""
        usual = {name: values[0] for name, values in self._protocol.draw_options.items()}
        own = {k: v for k, v in self.plan.options.items() if v != usual.get(k) and k not in self._protocol.selecting}
        return {**painter.options, **own}

    def label(self, painter: Painter) -> str:
        """The row of tables this plan's drawings by a painter stand in."""
        return label(painter.name, self.options_of(painter))

    @property
    def setups(self) -> frozenset[str]:
        """The ids of the plan's evaluators."""
        return frozenset(setup for _, setup in self._setups)

    def request(self, slot: Slot) -> PaintRequest:
        """What the painter of a slot is asked for, before any strategy."""
        question, painter, seed = slot.question, slot.painter, slot.seed
        assert painter is not None
        prompt = self._protocol.drawing_prompt(question, painter.group, self.plan.options)
        aspect = question.tags.get("aspect", "square")
        known: Aspect = "landscape" if aspect == "landscape" else "portrait" if aspect == "portrait" else "square"
        return PaintRequest(question.id, prompt, seed, known)

    def missing(self) -> tuple[int, int]:
        """How many drawings and markings a run would still make; nothing is called or stored."""
        return sum(1 for _ in self.missing_drawings()), sum(1 for _ in self.missing_markings())

    def missing_drawings(self) -> Iterator[Slot]:
        """The drawings a run would still make."""
        return (slot for slot in self.slots() if self._must_draw(slot) and not self._standing(slot))

    def _standing(self, slot: Slot) -> bool:
        """Whether a finished image stands in the slot; a folder's is looked at again, most likely still the same."""
        return slot.stored is not None and slot.stored.status == "done"

    def missing_markings(self) -> Iterator[tuple[Judge, Question[Any]]]:
        """Judge and question of every marking a run would still make, those of drawings to come among them."""
        self._load()
        for slot in self.slots():
            drawing = slot.stored if self._standing(slot) else None
            for judge, setup, repeat in self._pairs():
                if (drawing is None and self._must_draw(slot)) or (
                    drawing is not None and self._must_mark(self._find(drawing, judge, setup, repeat))
                ):
                    yield judge, slot.question

    def run(self) -> Progress:
        """Run to the end; Ctrl-C finishes what is in flight, a second one quits at once."""
        self.check()
        if self.plan.draw:
            add_exam(self.store, self.plan.whole or self.plan.exam)
        for judge, setup in self._setups:
            save_setup(self.store, setup, judge.setup)
        self._load()
        asyncio.run(self._run())
        if self._stop is not None:
            raise self._stop
        return self.progress

    def check(self) -> None:
        """Raise early, with nothing called or stored, when the plan cannot be carried out at all.

        Raises:
            UsageError: A key is not there, or a budget cannot be kept.
        """
        Budget(self.plan.budget)
        painters = {id(way.painter): way.painter for way in self.plan.ways}.values()
        strategies = {way.strategy.name: way.strategy for way in self.plan.ways}.values()
        for way in self.plan.ways:
            way.strategy.fits(way.painter)
        everyone: tuple[Painter | Judge | Strategy | Probe, ...] = (
            *painters,
            *strategies,
            *self.plan.judges,
            *self.plan.probes,
        )
        for one in everyone:
            one.check()
            if self.plan.budget is not None and (why := one.unpriced()) is not None:
                raise UsageError(f"--budget cannot be kept: {why}")

    def _load(self) -> None:
        stored = load_markings(self.store, self.plan.exam.name, self.setups) if self.setups else iter(())
        self._markings = {marking.id: marking for marking in stored}
        self._measured = known_evidence(self.store, [probe.evidence for probe in self.plan.probes])

    async def _run(self) -> None:
        slots = list(self.slots())
        self.progress.total = len(slots) * (1 + len(self.plan.probes) + len(self._setups) * self.plan.repeats)
        queue = iter(slots)
        calls = Calls(
            self.store,
            retry_failed=self.plan.retry_failed,
            budget=Budget(self.plan.budget),
            limits=self.plan.limits,
        )
        with self._signals():
            async with calls, asyncio.TaskGroup() as group:
                for _ in range(min(self.plan.concurrency, len(slots))):
                    group.create_task(self._work(queue, calls))
        await self.store.awrite(lambda _: None)  # Writes keep their order: after this one all are done.
        if self._unwritten is not None:
            raise self._unwritten
        self._account(calls)

    async def _work(self, queue: Iterator[Slot], calls: Calls) -> None:
        for slot in queue:
            if self._stopping:
                return
            try:
                painter = slot.painter.name if slot.painter else slot.stored.painter if slot.stored else None
                with purpose(self.plan.exam.name, painter):
                    await self._one(slot, calls)
            except Exception as error:
                # The others finish what they have in flight: it is paid for.
                self._stopping, self._stop = True, self._stop or error
                return
            self._account(calls)
            self.watch(self.progress)

    def _account(self, calls: Calls) -> None:
        self.progress.spent, self.progress.unpriced = calls.tally.spent, calls.tally.unpriced

    async def _one(self, slot: Slot, calls: Calls) -> None:
        drawing = slot.stored
        if self._must_draw(slot):
            drawing = await self._draw(slot, calls)
        elif drawing is not None:
            self.progress.count(drawing.status, drawing.fault, named(slot.question.id, drawing.detail), fresh=False)
        if drawing is None or drawing.status != "done":
            skipped = len(self._setups) * self.plan.repeats
            self.progress.total -= len(self.plan.probes) + skipped
            return
        for probe in self.plan.probes:
            if self._stopping:
                return
            await self._measure(slot.question, drawing, probe, calls)
        for judge, setup, repeat in self._pairs():
            if self._stopping:
                return
            known = self._find(drawing, judge, setup, repeat)
            if self._must_mark(known):
                await self._mark(slot.question, drawing, judge, setup, repeat, known, calls)
            elif known is not None:
                self.progress.count(known.status, known.fault, named(slot.question.id, known.detail), fresh=False)

    def missing_evidence(self) -> Iterator[tuple[Probe, Drawing]]:
        """Probe and drawing of every measurement that a run would still make on drawings that stand."""
        self._load()
        for slot in self.slots():
            if slot.stored is not None and self._standing(slot):
                drawing = slot.stored
                yield from ((probe, drawing) for probe in self.plan.probes if self._must_measure(drawing, probe))

    def _must_measure(self, drawing: Drawing, probe: Probe) -> bool:
        if drawing.image is None or (drawing.image, probe.evidence, probe.name) in self._measured:
            return False
        brought = (drawing.id, probe.evidence, IMPORTED) in self._measured
        return not brought or probe.evidence in self.plan.anew

    async def _measure(self, question: Question[Any], drawing: Drawing, probe: Probe, calls: Calls) -> None:
        """Measure what is not known yet. A drawing that cannot be measured is marked all the same."""
        if drawing.image is None or not self._must_measure(drawing, probe):
            self.progress.count("done", None, None, fresh=False)
            return
        try:
            data = await asyncio.to_thread(self.store.blobs.get, drawing.image)
            found = await probe.measure(data, calls)
        except StoreError as error:
            self.progress.count("failed", "missing", named(question.id, str(error)))
        except Fault as fault:
            self._stop_if_pointless(fault)
            self.progress.count("failed", fault.kind, named(question.id, f"{probe.evidence}: {fault.detail}"))
        else:
            self._later(save_evidence(self.store, drawing.image, probe.evidence, found.backend, found.value))
            self.progress.count("done", None, None)

    def _pairs(self) -> Iterator[tuple[Judge, str, int]]:
        for judge, setup in self._setups:
            for repeat in range(self.plan.repeats):
                yield judge, setup, repeat

    def _find(self, drawing: Drawing, judge: Judge, setup: str, repeat: int) -> Marking | None:
        return self._markings.get(marking_id(drawing.id, drawing.question_hash, drawing.image, setup, repeat))

    def _must_draw(self, slot: Slot) -> bool:
        if slot.painter is None:
            return False
        return slot.stored is None or slot.painter.changeable or self._again(slot.stored)

    def _must_mark(self, known: Marking | None) -> bool:
        return known is None or self._again(known)

    def _again(self, stored: Drawing | Marking) -> bool:
        if stored.status != "failed":
            return False
        return self.plan.retry_failed or stored.fault in RETRIED_NEXT_RUN

    async def _draw(self, slot: Slot, calls: Calls) -> Drawing:
        way, question = slot.way, slot.question
        assert way is not None
        painter, strategy = way.painter, way.strategy
        exam = self.plan.exam.name
        blank = Drawing(
            self._slot_id(question, way, slot.seed),
            exam, question.id, question.hash, painter.name, painter.spec, strategy.name, slot.seed, "failed",
            self.options_of(painter),
        )  # fmt: skip
        try:
            painting = await strategy.draw(self.request(slot), painter, calls, self.store.blobs, exam)
            drawing = await self._keep(blank, painting)
        except Fault as fault:
            self._stop_if_pointless(fault)
            status = "not_applicable" if fault.kind == "not_applicable" else "failed"
            keys, paid = list(fault.calls), fault.cost
            drawing = replace(blank, status=status, fault=fault.kind, detail=fault.detail, calls=keys, cost=paid)
        old = slot.stored
        if old is None or (old.status, old.image, old.detail) != (
            drawing.status,
            drawing.image,
            drawing.detail,
        ):
            self._later(save_drawing(self.store, drawing))
            self.progress.count(drawing.status, drawing.fault, named(question.id, drawing.detail))
        else:
            drawing = old
            self.progress.count(drawing.status, drawing.fault, named(question.id, drawing.detail), fresh=False)
        return drawing

    async def _keep(self, blank: Drawing, painting: Painting) -> Drawing:
        try:
            sha256, info = await asyncio.to_thread(self.store.blobs.put, painting.image)
        except BadImage as error:
            raise Fault("image", str(error), calls=painting.calls) from error
        except OSError as error:
            raise StoreError(f"an image cannot be written to {self.store.blobs.root}: {error}") from error
        notes = {**painting.notes, **({"image": list(info.notes)} if info.notes else {})}
        return replace(
            blank, status="done", image=sha256, width=info.width, height=info.height, cost=painting.cost,
            prompt_sent=painting.prompt_sent, notes=notes, calls=list(painting.calls), created=now(),
        )  # fmt: skip

    async def _mark(
        self,
        question: Question[Any],
        drawing: Drawing,
        judge: Judge,
        setup: str,
        repeat: int,
        known: Marking | None,
        calls: Calls,
    ) -> None:
        # After unreadable replies the same request must be sent anew, so it needs another key.
        rounds = known.rounds + (known.fault == "unreadable") if known else 0
        blank = Marking(
            marking_id(drawing.id, drawing.question_hash, drawing.image, setup, repeat),
            drawing.id, drawing.question_hash, drawing.image, setup, repeat, "failed", rounds,
        )  # fmt: skip
        clock = time.perf_counter()
        try:
            if drawing.image is None:
                raise Fault("missing", "the drawing came without its image; import it again with --images")
            subject = Subject(self.plan.exam.name, question, drawing.painter, drawing.image, repeat, rounds)
            marked: JudgeResult = await judge.mark(subject, calls)
        except Fault as fault:
            self._stop_if_pointless(fault)
            detail = {"fault": fault.kind, "detail": fault.detail, "cost": fault.cost}
            failed_calls = [["", key] for key in fault.calls]
            marking = replace(blank, replies=failed_calls, seconds=time.perf_counter() - clock, **detail)  # type: ignore[arg-type]
        else:
            marking = replace(
                blank,
                status="done",
                replies=[list(pair) for pair in marked.replies],
                marks=[mark.to_json() for mark in marked.marks] if marked.marks is not None else None,
                cost=marked.cost,
                seconds=time.perf_counter() - clock,
            )
        self._later(save_marking(self.store, marking))
        self.progress.count(marking.status, marking.fault, named(question.id, marking.detail))

    def _later(self, write: Future[None]) -> None:
        """Let a write finish while the work goes on: what it holds can be had from the journal again."""
        write.add_done_callback(self._written)

    def _written(self, write: Future[None]) -> None:
        if (error := write.exception()) is not None:
            self._unwritten, self._stopping = error, True

    def _stop_if_pointless(self, fault: Fault) -> None:
        if fault.kind in STOPPING:
            raise StopRun(f"{fault.detail} ({fault.kind}); the run stops here and resumes once this is mended")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self._stopping and task is not None:
                task.cancel()
            self._stopping = self.progress.interrupted = True

        try:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, stop)
        except (NotImplementedError, ValueError, RuntimeError):
            yield  # Not the main thread, or a platform without these: leave the signals alone.
            return
        try:
            yield
        except asyncio.CancelledError:
            if not self.progress.interrupted:
                raise
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)
