"""The part of a plan that the store still lacks: drawings, evidence, markings. Nothing is called or stored here."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import Any

from ..core.asks import Prompts
from ..core.errors import LostImage
from ..core.evaluator import HASH_LETTERS, label
from ..core.evidence import IMPORTED
from ..core.exam import Question, Reference
from ..core.faults import RETRIED_NEXT_RUN
from ..core.images import BadImage, inspect
from ..evidence.probe import Probe
from ..exams import kind
from ..exams.released import OWN, RELEASE
from ..judges import Judge
from ..painters import Aspect, Painter, PaintRequest
from ..painters.base import FinishedImages
from ..store import Store
from ..store.markings import Marking, load_markings_by_id, load_outcomes
from ..store.records import Drawing, drawing_places, known_evidence, load_drawings_by_id, load_evidence
from .plan import Arm, Plan, Slot, marking_id, setup_id, slot_id

SOME = 256
"""The number of drawings looked up in the store at a time."""


class Backlog:
    """One plan compared with one store."""

    def __init__(self, plan: Plan, store: Store) -> None:
        self.plan, self.store = plan, store
        self.judges = [(judge, setup_id(judge.setup)) for judge in plan.judges]
        self._protocol = kind(plan.exam.kind).protocol
        self._marked: dict[str, Marking] = {}
        self._measured: dict[tuple[str, str], set[str]] = {}
        self._in_turn: Sequence[Question[Any]] = plan.exam.questions
        self._shapes: dict[str, str] = {}

    def shuffle(self) -> None:
        """Put the questions into a random order; the drawings of each question stay together."""
        questions = list(self._in_turn)
        random.SystemRandom().shuffle(questions)
        self._in_turn = questions

    @property
    def setups(self) -> frozenset[str]:
        """The ids of the plan's evaluators."""
        return frozenset(setup for _, setup in self.judges)

    def load(self) -> None:
        """Load the stored markings and evidence."""
        self._marked = load_outcomes(self.store, self.plan.exam.name, self.setups)
        self._measured = known_evidence(self.store, [probe.evidence for probe in self.plan.probes])

    def look_again(self, slots: Sequence[Slot]) -> list[Slot]:
        """Return these slots updated with what other processes have stored meanwhile."""
        ids = [self._id(slot) for slot in slots]
        stored_drawings = load_drawings_by_id(self.store, ids)
        done = [drawing for drawing in stored_drawings.values() if drawing.status == "done"]
        marking_ids = (blank.id for drawing in done for _, blank in self._blanks(drawing))
        self._marked |= load_markings_by_id(self.store, marking_ids)
        if wanted := {probe.evidence for probe in self.plan.probes}:
            images = [drawing.image for drawing in stored_drawings.values() if drawing.image is not None]
            for one in load_evidence(self.store, images):
                if one.name in wanted:
                    self._measured.setdefault((one.name, one.backend), set()).add(one.subject)
        return [replace(one, stored=stored_drawings.get(id)) for one, id in zip(slots, ids, strict=True)]

    def remember(self, marking: Marking) -> None:
        """Remember a marking that was just made."""
        self._marked[marking.id] = marking

    @property
    def questions(self) -> Iterator[Question[Any]]:
        """The questions of the plan that fit its drawing options."""
        return (question for question in self._in_turn if self._protocol.takes(question, self.plan.options))

    @cached_property
    def count(self) -> int:
        """The number of drawings in the plan."""
        return sum(self.by_arm) if self.plan.draw else len(self._stored_places())

    @cached_property
    def by_arm(self) -> list[int]:
        """The number of drawings of each arm of the plan."""
        plan = self.plan
        if plan.shard is not None or plan.only_drawings is not None:
            counts = Counter(id(slot.arm) for _, slot in self._wanted_slots())
            return [counts[id(arm)] for arm in plan.arms]
        return [sum(self._is_drawn(q, arm) for q in self.questions) * plan.seeds for arm in plan.arms]

    def _is_drawn(self, question: Question[Any], arm: Arm) -> bool:
        """Return whether the arm draws a question; one without a finished image is left out."""
        painter = arm.painter
        return self.plan.require_all or not (isinstance(painter, FinishedImages) and painter.lacks(question.id))

    def _here(self, id: str) -> bool:
        plan = self.plan
        return (plan.only_drawings is None or id in plan.only_drawings) and (plan.shard is None or plan.shard.has(id))

    def slots(self) -> Iterator[Slot]:
        """Yield the drawings of the plan question by question, loading stored ones in chunks."""
        if not self.plan.draw:
            yield from self._stored_slots()
            return
        wanted = self._wanted_slots()
        while some := list(islice(wanted, SOME)):
            stored = load_drawings_by_id(self.store, [id for id, _ in some])
            yield from (replace(slot, stored=stored.get(id)) for id, slot in some)

    def _wanted_slots(self) -> Iterator[tuple[str, Slot]]:
        plan = self.plan
        for question in self.questions:
            for arm in (arm for arm in plan.arms if self._is_drawn(question, arm)):
                for seed in range(plan.first_seed, plan.first_seed + plan.seeds):
                    if self._here(id := self._slot_id(question, arm, seed)):
                        yield id, Slot(question, arm, seed, None)

    def _stored_places(self) -> list[tuple[Question[Any], str]]:
        """Return question and id of the stored drawings that the plan selects, question by question.

        A question's prepared pictures are then reused for all painters.
        """
        turns = {question.hash: (turn, question) for turn, question in enumerate(self.questions)}
        painters = self.plan.only_painters
        places = [
            (*turns[question_hash], id)
            for id, question_hash, painter in drawing_places(self.store, self.plan.exam.name)
            if question_hash in turns and (painters is None or painter in painters) and self._here(id)
        ]
        places.sort(key=lambda place: place[0])
        return [(question, id) for _, question, id in places]

    def _stored_slots(self) -> Iterator[Slot]:
        # Loaded by id in chunks: one long read would keep SQLite from cleaning up its write-ahead log.
        rest = iter(self._stored_places())
        while some := list(islice(rest, SOME)):
            stored = load_drawings_by_id(self.store, [id for _, id in some])
            for question, id in some:
                drawing = stored.get(id)
                if drawing is not None and drawing.question_hash == question.hash:
                    yield Slot(question, None, drawing.seed, drawing)

    def _slot_id(self, question: Question[Any], arm: Arm, seed: int) -> str:
        options = self.options_of(arm.painter)
        return slot_id(self.plan.exam.name, question.hash, arm.painter.name, arm.strategy.name, options, seed)

    def _id(self, slot: Slot) -> str:
        if slot.arm is not None:
            return self._slot_id(slot.question, slot.arm, slot.seed)
        assert slot.stored is not None
        return slot.stored.id

    def options_of(self, painter: Painter) -> dict[str, Any]:
        """Return the options that distinguish a drawing: the painter's, and the exam's non-default ones."""
        usual = {name: values[0] for name, values in self._protocol.draw_options.items()}
        own = {k: v for k, v in self.plan.options.items() if v != usual.get(k) and k not in self._protocol.selecting}
        return {**painter.options, **own, **self._wording(painter)}

    def _wording(self, painter: Painter) -> dict[str, str]:
        """Return the name of the prompt's wording as an option, if it is not the shipped one."""
        name, prompts = self._protocol.drawing_template(painter.group), self.plan.drawing_prompts
        if name is None or prompts is None or prompts.text(name) == Prompts(prompts.shipped).text(name):
            return {}
        return {"prompts": f"{RELEASE if name in prompts.released else OWN} {prompts.hash(name)[:HASH_LETTERS]}"}

    def label(self, painter: Painter) -> str:
        """Return the name of the table row for this plan's drawings by a painter."""
        return label(painter.name, self.options_of(painter))

    def request(self, slot: Slot) -> PaintRequest:
        """Return the request to a slot's painter, before a strategy changes it."""
        question = slot.question
        assert slot.painter is not None
        plan, group = self.plan, slot.painter.group
        prompt = self._protocol.drawing_prompt(question, group, plan.options, plan.drawing_prompts)
        inputs = tuple(picture.sha256 or "" for picture in question.inputs)
        return PaintRequest(question.id, prompt, slot.seed, self._aspect(question), inputs=inputs)

    def _aspect(self, question: Question[Any]) -> Aspect:
        """Return the drawing's aspect: that of the question's tag, else of its first picture."""
        aspect = question.tags.get("aspect")
        if aspect is None and question.inputs and (sha256 := question.inputs[0].sha256):
            if sha256 not in self._shapes:
                self._shapes[sha256] = _shape(question.inputs[0], self.store)
            aspect = self._shapes[sha256]
        return "landscape" if aspect == "landscape" else "portrait" if aspect == "portrait" else "square"

    def blank_drawing(self, slot: Slot) -> Drawing:
        """Return the record of a slot's drawing before it is drawn."""
        assert slot.arm is not None
        exam, question, painter = self.plan.exam.name, slot.question, slot.arm.painter
        return Drawing(
            self._slot_id(question, slot.arm, slot.seed),
            exam, question.id, question.hash, painter.name, painter.spec, slot.arm.strategy.name, slot.seed, "failed",
            self.options_of(painter),
        )  # fmt: skip

    def markings(self, drawing: Drawing) -> Iterator[tuple[Judge, Marking, Marking | None]]:
        """Yield for every judge and repeat the judge, the marking before it is made, and the stored marking, if any."""
        for judge, blank in self._blanks(drawing):
            stored = self._marked.get(blank.id)
            yield judge, replace(blank, rounds=self.rounds(stored)) if stored else blank, stored

    def _blanks(self, drawing: Drawing) -> Iterator[tuple[Judge, Marking]]:
        of = drawing.id, drawing.question_hash, drawing.image
        for judge, setup in self.judges:
            for repeat in range(self.plan.repeats):
                yield judge, Marking(marking_id(*of, setup, repeat), *of, setup, repeat, "failed")

    def rounds(self, stored: Drawing | Marking | None) -> int:
        """Return how often replies were unreadable: a request that is sent again needs another key in the journal."""
        if stored is None:
            return 0
        return stored.rounds + (stored.fault == "unreadable" and self.plan.retry_failed)

    def must_draw(self, slot: Slot) -> bool:
        """Return whether a run draws this slot, or checks whether its source has changed."""
        return slot.painter is not None and (slot.painter.changeable or self.must_make(slot.stored))

    def must_make(self, stored: Drawing | Marking | None) -> bool:
        """Return whether a run makes it: it is missing, or it failed and is to be retried."""
        if stored is None:
            return True
        return stored.status == "failed" and (stored.fault in RETRIED_NEXT_RUN or self.plan.retry_failed)

    def must_measure(self, drawing: Drawing, probe: Probe) -> bool:
        """Return whether a run measures it: there is no value, or only an imported one although a new one is wanted."""
        measured = self._measured.get((probe.evidence, probe.name), ())
        if drawing.image is None or drawing.image in measured:
            return False
        brought = drawing.id in self._measured.get((probe.evidence, IMPORTED), ())
        return not brought or probe.evidence in self.plan.remeasured

    def missing_drawings(self) -> Iterator[Slot]:
        """Yield the drawings that a run would still make."""
        return (slot for slot in self.slots() if self.must_draw(slot) and slot.drawn is None)

    def missing_evidence(self) -> Iterator[tuple[Probe, Drawing]]:
        """Yield probe and drawing of every measurement that a run would still make on finished drawings."""
        self.load()
        for drawing in (slot.drawn for slot in self.slots()):
            if drawing is not None:
                yield from ((probe, drawing) for probe in self.plan.probes if self.must_measure(drawing, probe))

    def missing_markings(self) -> Iterator[tuple[Judge, Question[Any]]]:
        """Yield judge and question of every marking that a run would still make, also on drawings not made yet."""
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
        """Return the numbers of drawings and markings that a run would still make."""
        return sum(1 for _ in self.missing_drawings()), sum(1 for _ in self.missing_markings())


MIN_RATIO = 1.2
"""The least ratio of the longer to the shorter side of a picture that is not square."""


def _shape(picture: Reference, store: Store) -> str:
    """Return the aspect of a picture; one that cannot be read counts as square, and fails when it is drawn from."""
    try:
        info = inspect(picture.path or picture.read() or store.blobs.get(str(picture.sha256)))
    except (BadImage, LostImage, OSError):
        return "square"
    ratio = info.width / info.height
    return "landscape" if ratio >= MIN_RATIO else "portrait" if ratio <= 1 / MIN_RATIO else "square"
