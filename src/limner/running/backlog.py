"""What of a plan the store still lacks: drawings, evidence, markings. Nothing is called or stored here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..core.evidence import IMPORTED
from ..core.exam import Question
from ..core.faults import RETRIED_NEXT_RUN
from ..evidence.probe import Probe
from ..exams import kind
from ..judges import Judge
from ..painters import Aspect, Painter, PaintRequest
from ..store import Store
from ..store.measurements import known_evidence, load_evidence
from ..store.records import Drawing, Marking, drawings_now, label, load_drawings, load_markings, markings_now
from .plan import Arm, Plan, Slot, marking_id, setup_id, slot_id


class Backlog:
    """One plan against one store."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        self.judges = [(judge, setup_id(judge.setup)) for judge in plan.judges]
        self._protocol = kind(plan.exam.kind).protocol
        self._markings: dict[str, Marking] = {}
        self._measured: set[tuple[str, str, str]] = set()

    @property
    def setups(self) -> frozenset[str]:
        """The ids of the plan's evaluators."""
        return frozenset(setup for _, setup in self.judges)

    def load(self) -> None:
        """Look up what the store has beside drawings."""
        stored = load_markings(self.store, self.plan.exam.name, self.setups) if self.setups else ()
        self._markings = {marking.id: marking for marking in stored}
        self._measured = known_evidence(self.store, [probe.evidence for probe in self.plan.probes])

    def look_again(self, slots: Sequence[Slot]) -> list[Slot]:
        """These slots with what others have put into the store meanwhile."""
        ids = [self._id(slot) for slot in slots]
        found = drawings_now(self.store, ids)
        if self.setups:
            self._markings |= markings_now(self.store, ids, self.setups)
        if wanted := {probe.evidence for probe in self.plan.probes}:
            images = [drawing.image for drawing in found.values() if drawing.image is not None]
            here = load_evidence(self.store, images)
            self._measured |= {(one.subject, one.name, one.backend) for one in here if one.name in wanted}
        return [replace(one, stored=found.get(id)) for one, id in zip(slots, ids, strict=True)]

    def remember(self, marking: Marking) -> None:
        """A marking is made now."""
        self._markings[marking.id] = marking

    @property
    def questions(self) -> list[Question[Any]]:
        """The questions of the plan that its drawing options leave in."""
        return [one for one in self.plan.exam.questions if self._protocol.takes(one, self.plan.options)]

    def slots(self) -> Iterator[Slot]:
        """The drawings of the plan, question by question."""
        plan, stored = self.plan, load_drawings(self.store, self.plan.exam.name)
        here = plan.shard.has if plan.shard is not None else lambda _: True
        if not plan.draw:
            chosen: dict[str, list[Drawing]] = {question.hash: [] for question in self.questions}
            for drawing in stored:
                wanted = plan.only_painters is None or drawing.painter in plan.only_painters
                if drawing.question_hash in chosen and wanted and here(drawing.id):
                    chosen[drawing.question_hash].append(drawing)
            # Question by question here too: what is prepared of one is at hand for all who drew it.
            for question in self.questions:
                yield from (Slot(question, None, drawing.seed, drawing) for drawing in chosen[question.hash])
            return
        known = {drawing.id: drawing for drawing in stored}
        for question in self.questions:
            for arm in plan.arms:
                for seed in range(plan.first_seed, plan.first_seed + plan.seeds):
                    if here(id := self._slot_id(question, arm, seed)):
                        yield Slot(question, arm, seed, known.get(id))

    def _slot_id(self, question: Question[Any], arm: Arm, seed: int) -> str:
        options = self.options_of(arm.painter)
        return slot_id(self.plan.exam.name, question.hash, arm.painter.name, arm.strategy.name, options, seed)

    def _id(self, slot: Slot) -> str:
        if slot.arm is not None:
            return self._slot_id(slot.question, slot.arm, slot.seed)
        assert slot.stored is not None
        return slot.stored.id

    def options_of(self, painter: Painter) -> dict[str, Any]:
        """What makes a drawing another one: the painter's options, and the exam's where they are not the usual ones."""
        usual = {name: values[0] for name, values in self._protocol.draw_options.items()}
        own = {k: v for k, v in self.plan.options.items() if v != usual.get(k) and k not in self._protocol.selecting}
        return {**painter.options, **own}

    def label(self, painter: Painter) -> str:
        """The row of tables this plan's drawings by a painter stand in."""
        return label(painter.name, self.options_of(painter))

    def request(self, slot: Slot) -> PaintRequest:
        """What the painter of a slot is asked for, before any strategy."""
        question = slot.question
        assert slot.painter is not None
        prompt = self._protocol.drawing_prompt(question, slot.painter.group, self.plan.options)
        aspect = question.tags.get("aspect", "square")
        known: Aspect = "landscape" if aspect == "landscape" else "portrait" if aspect == "portrait" else "square"
        return PaintRequest(question.id, prompt, slot.seed, known)

    def blank_drawing(self, slot: Slot) -> Drawing:
        """What a slot's drawing is before anybody has drawn it."""
        assert slot.arm is not None
        exam, question, painter = self.plan.exam.name, slot.question, slot.arm.painter
        return Drawing(
            self._slot_id(question, slot.arm, slot.seed),
            exam, question.id, question.hash, painter.name, painter.spec, slot.arm.strategy.name, slot.seed, "failed",
            self.options_of(painter),
        )  # fmt: skip

    def markings(self, drawing: Drawing) -> Iterator[tuple[Judge, Marking, Marking | None]]:
        """For every judge and repeat: who marks, the marking before it is made, and what the store has."""
        of = drawing.id, drawing.question_hash, drawing.image
        for judge, setup in self.judges:
            for repeat in range(self.plan.repeats):
                id = marking_id(*of, setup, repeat)
                stored = self._markings.get(id)
                yield judge, Marking(id, *of, setup, repeat, "failed", self.rounds(stored)), stored

    def rounds(self, stored: Drawing | Marking | None) -> int:
        """How often replies were unreadable: the same request must then be sent anew, so it needs another key."""
        if stored is None:
            return 0
        return stored.rounds + (stored.fault == "unreadable" and self._again(stored))

    def must_draw(self, slot: Slot) -> bool:
        """Whether a run draws it, or looks at it again."""
        return slot.painter is not None and (slot.painter.changeable or self.must_make(slot.stored))

    def must_make(self, stored: Drawing | Marking | None) -> bool:
        """Whether a run makes it: it is not there, or it failed in a way that is tried again."""
        if stored is None:
            return True
        return stored.status == "failed" and (stored.fault in RETRIED_NEXT_RUN or self._again(stored))

    def _again(self, stored: Drawing | Marking) -> bool:
        """Whether what failed for good is tried again: that is asked for, and nobody has done so since."""
        return self.plan.retry_failed and (self.plan.since is None or stored.created < self.plan.since)

    def must_measure(self, drawing: Drawing, probe: Probe) -> bool:
        """Whether a run measures it: nobody has, or only imported results brought a value and another is wanted."""
        if drawing.image is None or (drawing.image, probe.evidence, probe.name) in self._measured:
            return False
        brought = (drawing.id, probe.evidence, IMPORTED) in self._measured
        return not brought or probe.evidence in self.plan.anew

    def missing_drawings(self) -> Iterator[Slot]:
        """The drawings a run would still make."""
        return (slot for slot in self.slots() if self.must_draw(slot) and slot.drawn is None)

    def missing_evidence(self) -> Iterator[tuple[Probe, Drawing]]:
        """Probe and drawing of every measurement that a run would still make on drawings that stand."""
        self.load()
        for drawing in (slot.drawn for slot in self.slots()):
            if drawing is not None:
                yield from ((probe, drawing) for probe in self.plan.probes if self.must_measure(drawing, probe))

    def missing_markings(self) -> Iterator[tuple[Judge, Question[Any]]]:
        """Judge and question of every marking a run would still make, those of drawings to come among them."""
        self.load()
        for slot in self.slots():
            if slot.drawn is not None:
                missing = [judge for judge, _, stored in self.markings(slot.drawn) if self.must_make(stored)]
            elif self.must_draw(slot):
                missing = [judge for judge, _ in self.judges for _ in range(self.plan.repeats)]
            else:
                missing = []
            yield from ((judge, slot.question) for judge in missing)

    def counts(self) -> tuple[int, int]:
        """How many drawings and markings a run would still make."""
        return sum(1 for _ in self.missing_drawings()), sum(1 for _ in self.missing_markings())
