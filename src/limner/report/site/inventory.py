"""The inventory of an exam's pages: its questions, its painters, and the drawing in each slot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from ...core.evaluator import CONTROL_PREFIX, row_name
from ...core.exam import Question
from ...core.marks import Criterion
from ...core.protocol import Reading
from ...scoring import On, Standing
from ...scoring.entries import open_kind, shown_painters
from ...scoring.numbers import criteria_of
from ...store import Store
from ...store.records import Drawing, load_drawings, load_drawings_in_order, load_exam, load_questions
from .chunks import make_key

MAX_TAG_VALUES = 60
"""The most values of a tag that is offered as a filter."""
BATCH_DRAWINGS = 500
"""The approximate number of drawings that are read completely at a time."""


@dataclass(frozen=True)
class Terms:
    """The terms on which numbers are computed.

    Attributes:
        on: The questions on which painters are compared at first.
        constants: Constants of the exam's scores, in place of the defaults.
        backends: Name of the evidence -> the backend to use, if there are several.
        without: Painters to leave out.
    """

    reading: Reading = "careful"
    on: On = "common"
    constants: Mapping[str, float] = field(default_factory=dict)
    backends: Mapping[str, str] = field(default_factory=dict)
    without: Sequence[str] = ()


USUAL = Terms()


@dataclass(slots=True)
class DrawingSlot:
    """One drawing, with its number and the numbers of its question and painter."""

    id: str
    number: int
    question: int
    painter: int
    seed: int
    image: str | None
    status: str

    @property
    def short(self) -> str:
        """The drawing's id on pages."""
        return self.id[:12]


@dataclass
class PainterRow:
    """A row of tables: a painter by its name there, and one strategy."""

    label: str
    strategy: str
    spec: str
    done: int = 0
    cost: float | None = 0.0
    seeds: set[int] = field(default_factory=set)
    failed: dict[str, int] = field(default_factory=dict)
    absent: int = 0

    @property
    def name(self) -> str:
        """The row's name in tables."""
        return row_name(self.label, self.strategy)

    @cached_property
    def key(self) -> str:
        """The row's name in links and files."""
        return make_key(self.label, self.strategy)

    @property
    def what(self) -> str:
        """The painter's spec, without folders of the machine it ran on."""
        kind, _, _ = self.spec.partition("/")
        return kind if kind in ("folder", "python") else self.spec

    @property
    def control(self) -> bool:
        """Whether the painter is a control, whose correct result is known."""
        return self.spec.startswith(CONTROL_PREFIX)

    def count(self, seed: int, status: str, fault: str | None, cost: float | None) -> None:
        """Count a drawing."""
        self.seeds.add(seed)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        if status == "done":
            self.done += 1
        elif status == "not_applicable":
            self.absent += 1
        else:
            self.failed[fault or status] = self.failed.get(fault or status, 0) + 1


class Inventory:
    """The questions, painters and drawings that all pages of one exam share.

    Attributes:
        name: The exam's name in the store.
        questions: The newest version of each question, in the exam's order.
        versions: All versions by hash.
        painters: The rows of tables, by name, controls last.
        places: Painter and strategy -> index in `painters`.
        slots: The drawings by id; of two in one slot, the later one.
        called: All names of the store's painters, including those left out.
        first: The time of the first drawing; `last` is that of the last one.
    """

    def __init__(self, store: Store, name: str, terms: Terms = USUAL) -> None:
        self.store, self.name, self.terms = store, name, terms
        self.kind = open_kind(store, name, terms.constants, terms.reading)
        self.protocol = self.kind.protocol
        self.versions = load_questions(store, name, self.kind.rubric)
        newest = load_exam(store, name, self.kind.rubric).questions
        # Reuse the questions that are already in memory.
        self.questions: Sequence[Question[Any]] = [self.versions.get(each.hash, each) for each in newest]
        self.numbers = {question.id: number for number, question in enumerate(self.questions)}
        self.keys = [make_key(question.id) for question in self.questions]
        self.painters: list[PainterRow] = []
        self.places: dict[tuple[str, str], int] = {}
        self.slots: dict[str, DrawingSlot] = {}
        self.called: set[str] = set()
        self.first: float | None = None
        self.last: float | None = None
        self._steps: set[str] = set()
        self._read_drawings()

    def _read_drawings(self) -> None:
        latest: dict[tuple[str, str, str, int], tuple[Any, ...]] = {}
        rows: dict[tuple[str, str], PainterRow] = {}
        times = []
        drawings = list(load_drawings(self.store, self.name, brief=True))
        shown = shown_painters(self.kind, drawings)
        for drawing in drawings:
            if drawing.question_hash not in self.versions:
                continue
            row = (drawing.label, drawing.strategy)
            called = {drawing.painter, drawing.label, row_name(*row), shown[row], row_name(shown[row], row[1])}
            self.called |= called
            if called & {*self.terms.without}:
                continue
            rows.setdefault(row, PainterRow(shown[row], drawing.strategy, drawing.spec))
            for step in steps_of(drawing.notes):
                self._steps.update(step_images(step))
            facts = (drawing.id, drawing.image, drawing.status, drawing.fault, drawing.cost)
            latest[*row, drawing.question_id, drawing.seed] = facts
            times.append(drawing.created)
        if times:
            self.first, self.last = min(times), max(times)
        order = sorted(rows, key=lambda row: (rows[row].control, row[0].casefold(), row))
        self.painters = [rows[row] for row in order]
        self.places = {row: place for place, row in enumerate(order)}
        placed = [
            (self.numbers[question], self.places[label, strategy], seed, facts)
            for (label, strategy, question, seed), facts in latest.items()
        ]
        for question, painter, seed, (id, image, status, fault, cost) in sorted(placed, key=lambda each: each[:3]):
            self.slots[id] = DrawingSlot(id, len(self.slots), question, painter, seed, image, status)
            self.painters[painter].count(seed, status, fault, cost)

    def row_of(self, row: Standing) -> PainterRow:
        """Return the painter of a standing."""
        return self.painters[self.places[row.painter, row.strategy]]

    def whole(self) -> Iterator[tuple[str, Question[Any], list[tuple[DrawingSlot, Drawing]]]]:
        """Yield every question with its key and complete drawings, the oldest first, read in batches."""
        mine: list[list[str]] = [[] for _ in self.questions]
        for slot in self.slots.values():
            mine[slot.question].append(slot.id)
        step = max(1, BATCH_DRAWINGS * len(mine) // max(1, len(self.slots)))
        for start in range(0, len(mine), step):
            drawings: dict[int, list[tuple[DrawingSlot, Drawing]]] = {}
            for drawing in load_drawings_in_order(self.store, chain.from_iterable(mine[start : start + step])):
                slot = self.slots[drawing.id]
                drawings.setdefault(slot.question, []).append((slot, drawing))
            for number in range(start, min(start + step, len(mine))):
                yield self.keys[number], self.questions[number], drawings.get(number, [])

    def shown(self) -> set[tuple[str, int]]:
        """Return every image of a drawing or question, with the number of the question on whose page it is shown."""
        images = {(slot.image, slot.question) for slot in self.slots.values()}
        images |= {(picture.sha256, number) for number, q in enumerate(self.questions) for picture in q.pictures}
        return {(image, question) for image, question in images if image}

    def images(self) -> set[str]:
        """Return every image that a page of this exam shows."""
        return {image for image, _ in self.shown()} | self._steps

    @cached_property
    def tags(self) -> dict[str, list[str]]:
        """The tags to filter questions by, with their ordered values: the exam's own, or all with few values."""
        values: dict[str, set[str]] = {}
        for question in self.questions:
            for tag, value in question.tags.items():
                values.setdefault(tag, set()).add(value)
        own = [tag for tag in self.protocol.breakdowns if tag in values]
        few = min(MAX_TAG_VALUES, len(self.questions) // 2)
        tags = own or [tag for tag, some in values.items() if 1 < len(some) <= few]
        return {tag: sorted(values[tag], key=self._place(tag)) for tag in tags}

    def _place(self, tag: str) -> Any:
        order = {value: place for place, value in enumerate(self.protocol.orders.get(tag, ()))}
        return lambda value: (order.get(value, len(order)), value.casefold())

    def criteria(self, question: Question[Any]) -> Sequence[Criterion]:
        """Return the criteria of this question."""
        return criteria_of(question, self.protocol)


def steps_of(notes: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the strategy's steps in a drawing's notes."""
    steps = (notes or {}).get("steps")
    return [dict(step) for step in steps if isinstance(step, Mapping)] if isinstance(steps, list) else []


def step_images(step: Mapping[str, Any]) -> list[str]:
    """Return the images that a step names, by their hashes."""
    several = step.get("pictures")
    images = [step.get("image"), *(several if isinstance(several, list) else [])]
    return [image for image in images if isinstance(image, str) and len(image) == 64 and image.isalnum()]
