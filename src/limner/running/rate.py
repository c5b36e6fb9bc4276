"""Runs of evaluators that are not judges over stored drawings: metrics, and models asked for a number or a choice."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..calls import Calls, Fault, digest, setup_id
from ..core.asks import Prompts
from ..core.errors import UsageError
from ..core.evaluator import row_name
from ..core.exam import Question
from ..core.images import SUFFIXES
from ..core.loops import run_to_end
from ..evidence.metrics import LocalMetric, Moments, frechet_distance
from ..evidence.probe import Probe
from ..judges import Judge
from ..judges.baselines import Baseline
from ..models import ChatModel, Context, ReplayModel
from ..models.base import complete_afresh
from ..painters import Painter
from ..store import Store
from ..store.markings import (
    PainterMetric,
    PairChoice,
    Rating,
    load_painter_metrics,
    save_ratings,
)
from ..store.records import Drawing, save_setup
from ..strategies import Strategy
from .backlog import Backlog
from .plan import Plan, Slot
from .runner import Runner
from .steps import NO_IMAGE, outcome

METRIC = "metric"
"""The kind of these evaluators."""
REASON = 500
"""The most characters kept of the reason for a missing value."""
T = TypeVar("T")


class EvaluatingRunner(Runner):
    """A runner that neither draws nor marks. Run it again to resume.

    Args:
        plan: The stored drawings to evaluate; it has no judges and no probes.
        store: The store of the drawings.
        evaluator: The model or metric, checked before anything is done.
        metric: The name under which failures are counted.
        setup: Everything that determines the answers.
    """

    def __init__(self, plan: Plan, store: Store, evaluator: Any, metric: str, setup: dict[str, Any]) -> None:
        super().__init__(plan, store)
        self._evaluator, self._metric = evaluator, metric
        self.setup, self.setup_id = setup, setup_id(setup)

    def run(self) -> Any:
        """Run to the end; see `Runner.run`."""
        self.check()
        save_setup(self.store, self.setup_id, self.setup, METRIC)
        return super().run()

    def _everyone(self) -> list[Painter | Strategy | Judge | Probe]:
        return [self._evaluator]

    @property
    def _steps_per_drawing(self) -> int:
        return 0

    async def _outcome(self, question: str, work: Awaitable[T]) -> tuple[T | None, str | None]:
        """Return the value of one request or the reason why there is none, and count it."""
        value, fault = await outcome(work)
        kind, detail = (None, None) if fault is None else (fault.kind, fault.detail)
        self.progress.count(question, "failed" if fault else "done", kind, detail)
        self._repeated_errors.count(self._metric, kind, detail)
        return value, None if fault is None else f"{kind}: {detail}"[:REASON]


ARENA = "arena"
"""The scale of choices that a model makes."""


@dataclass(frozen=True)
class RatedItem:
    """One request: a drawing, or two of one question in the order shown.

    Attributes:
        turned: Whether the drawings are shown in reverse order.
    """

    question: Question[Any]
    drawings: tuple[Drawing, ...]
    turned: bool = False

    @property
    def shown(self) -> tuple[Drawing, ...]:
        """The drawings as they are shown."""
        return self.drawings[::-1] if self.turned else self.drawings

    @property
    def painter(self) -> str:
        """Their painters, in the order shown."""
        return " | ".join(drawing.painter for drawing in self.shown)


class RatingRunner(EvaluatingRunner):
    """A baseline asked of one model. Run it again to resume: answers are kept in the journal.

    Args:
        plan: The stored drawings to evaluate; it has no judges and no probes.
        store: The store of the drawings.
        baseline: The question to ask.
        model: The model to ask.
        prompts: The wording.
        against: The painter of one drawing of each pair; by default all pairs of painters are compared.
    """

    def __init__(
        self,
        plan: Plan,
        store: Store,
        baseline: Baseline,
        model: ChatModel | ReplayModel,
        prompts: Prompts,
        against: str | None = None,
    ) -> None:
        super().__init__(plan, store, model, baseline.metric, baseline.setup(model, prompts))
        self.baseline, self.model, self.prompts, self.against = baseline, model, prompts, against

    @cached_property
    def items(self) -> list[RatedItem]:
        """Every request of this run.

        Raises:
            UsageError: There is nothing to ask about.
        """
        done: dict[str, list[tuple[Question[Any], Drawing]]] = {}
        for slot in self.backlog.slots():
            if slot.stored is not None and slot.stored.status == "done":
                done.setdefault(slot.question.id, []).append((slot.question, slot.stored))
        if self.baseline.pictures == 1:
            items = [RatedItem(question, (drawing,)) for rows in done.values() for question, drawing in rows]
        else:
            items = [item for rows in done.values() for item in self._met(rows)]
        if not items:
            need = "a finished drawing" if self.baseline.pictures == 1 else "a question that two painters have drawn"
            by = f" with one by {self.against}" if self.against else ""
            raise UsageError(f"{self.plan.exam.name} does not have {need}{by}")
        return items

    def _met(self, rows: Sequence[tuple[Question[Any], Drawing]]) -> Iterator[RatedItem]:
        """Yield every two drawings of a question by different painters with equal seeds, in both orders."""
        in_order = sorted(rows, key=lambda row: (_name(row[1]), row[1].seed, row[1].id))
        for (question, first), (_, second) in combinations(in_order, 2):
            names = [{drawing.painter, _name(drawing)} for drawing in (first, second)]
            met = self.against is None or self.against in names[0] | names[1]
            if _name(first) != _name(second) and first.seed == second.seed and met:
                for turned in (False, True):
                    yield RatedItem(question, (first, second), turned)

    def estimate(self) -> float | None:
        """Return the approximate cost of all requests in dollars; None if unknown."""
        each = self.baseline.price(self.model, self.prompts)
        return None if each is None else each * len(self.items)

    def check(self) -> None:
        """Check the plan like `Runner`, and that there is something to ask about, before anything is stored."""
        super().check()
        self._slots()  # Raises an error if there is nothing to ask about.

    def _slots(self) -> tuple[int, Iterable[RatedItem]]:
        return len(self.items), self.items

    def _painter_of(self, slot: RatedItem) -> str | None:
        return slot.drawings[0].painter

    async def _fill(self, slot: RatedItem, calls: Calls) -> None:
        """Ask and store the answer; a fault is stored without a value, with its reason."""
        await self._keep(slot, *await self._outcome(slot.question.id, self._answer(slot, calls)))

    async def _answer(self, slot: RatedItem, calls: Calls) -> Any:
        images = [drawing.image for drawing in slot.shown]
        if None in images:
            raise Fault("missing", NO_IMAGE)
        shown = self.baseline.shown(self.prompts, slot.question.prompt, *map(str, images))
        of = self.plan.exam.name, slot.question.id, slot.painter, self.baseline.metric
        about = Context(*of, usual=self.baseline.reply_tokens)
        return (await complete_afresh(self.model, shown, self.baseline.contract, about, calls)).value

    async def _keep(self, item: RatedItem, value: Any, reason: str | None) -> None:
        if self.baseline.pictures == 1:
            (drawing,) = item.drawings
            numbers = value or {self.baseline.metric: None}
            rows = [Rating(drawing.id, self.setup_id, scale, n, reason=reason) for scale, n in numbers.items()]
            await asyncio.wrap_future(save_ratings(self.store, rows))
            return
        first, second = item.drawings
        # The same pair in reverse order counts as a repeat.
        made = PairChoice(
            first.exam, item.question.id, first.id, second.id, self.setup_id, ARENA, _named(value, item.turned),
            "second" if item.turned else "first", repeat=int(item.turned), reason=reason,
        )  # fmt: skip
        await asyncio.wrap_future(save_ratings(self.store, [made]))


def _named(choice: str | None, turned: bool) -> str | None:
    """Return a choice by the order shown, translated to the order of names.

    >>> _named("first", True), _named("tie", True), _named("second", False)
    ('second', 'tie', 'second')
    """
    return {"first": "second", "second": "first"}.get(choice or "", choice) if turned else choice


def _name(drawing: Drawing) -> str:
    return row_name(drawing.label, drawing.strategy)


class MetricRunner(EvaluatingRunner):
    """The measurement of every finished drawing with one metric. Run it again to resume.

    Attributes:
        cut: Drawings whose prompt is longer than the metric's model reads.
    """

    def __init__(self, plan: Plan, store: Store, metric: LocalMetric) -> None:
        super().__init__(plan, store, metric, metric.kind.name, metric.setup)
        self.metric, self.cut = metric, 0

    def _slots(self) -> tuple[int, Iterable[Slot]]:
        slots = [slot for slot in self.backlog.slots() if slot.drawn is not None]
        return len(slots), slots

    async def _fill(self, slot: Slot, calls: Calls) -> None:
        drawing = slot.drawn
        assert drawing is not None
        measured, reason = await self._outcome(slot.question.id, self._measured(drawing, slot.question.prompt, calls))
        value = None if measured is None else float(measured["value"])
        row = Rating(drawing.id, self.setup_id, self.metric.kind.name, value, reason=reason)
        await asyncio.wrap_future(save_ratings(self.store, [row]))
        self.cut += measured is not None and measured.get("read", 0) < measured.get("tokens", 0)

    async def _measured(self, drawing: Drawing, prompt: str, calls: Calls) -> Mapping[str, Any]:
        if drawing.image is None:
            raise Fault("missing", NO_IMAGE)
        data = await asyncio.to_thread(self.store.blobs.get, drawing.image)
        return await self.metric.measure(data, prompt, calls)


@dataclass(frozen=True)
class SetDistance:
    """One painter's distance to the reference set.

    Attributes:
        n: The number of drawings it is computed from.
        least: The fewest images on either side for which the covariance can have full rank.
        stored: Whether it was already stored for the same images.
    """

    painter: str
    value: float
    n: int
    reference_n: int
    least: int
    stored: bool

    @property
    def words(self) -> str:
        """The distance and the numbers of images, as text."""
        text = f"{self.painter}: {self.value:.3f} (n = {self.n:,} drawings, {self.reference_n:,} reference images)"
        few = min(self.n, self.reference_n) < self.least
        return text + (f"; too few: with fewer than {self.least:,} images the distance is overestimated" if few else "")


def set_distances(plan: Plan, store: Store, metric: LocalMetric) -> list[SetDistance]:
    """Return every painter's Fréchet distance to the reference set; known distances are not computed again.

    Raises:
        UsageError: There are no reference images, or no painter has two drawings.
    """
    metric.check()
    reference = _reference(plan, store, metric.options.get("reference"))
    rows: dict[tuple[str, str], dict[str, Drawing]] = {}
    for slot in Backlog(plan, store).slots():
        if (drawing := slot.drawn) is not None and drawing.image is not None:
            rows.setdefault((drawing.label, drawing.strategy), {})[drawing.id] = drawing
    if not any(len(each) > 1 for each in rows.values()):
        raise UsageError(f"{plan.exam.name}: a distance needs two drawings of one painter")
    setup = {**metric.setup, "reference": {"images": digest(sorted(reference)), "n": len(reference)}}
    id = setup_id(setup)
    save_setup(store, id, setup, METRIC)
    stored = {
        (row.painter, row.strategy): row for row in load_painter_metrics(store, plan.exam.name) if row.setup == id
    }
    distances, theirs = [], None
    for (painter, strategy), drawings in sorted(rows.items()):
        images = sorted(str(drawing.image) for drawing in drawings.values())
        before, name = stored.get((painter, strategy)), row_name(painter, strategy)
        if len(images) < 2:
            continue
        if before is not None and before.body.get("images") == digest(images):
            distances.append(SetDistance(name, before.value, len(images), len(reference), before.body["least_n"], True))
            continue
        theirs = theirs or _moments(metric, reference.values())
        own = _moments(metric, (store.blobs.get(image) for image in images))
        value, least = frechet_distance(own, theirs), theirs.dims + 1
        body = {"images": digest(images), "reference_n": len(reference), "dims": theirs.dims, "least_n": least}
        made = PainterMetric(plan.exam.name, painter, id, value, strategy, n=len(images), body=body)
        save_ratings(store, [made]).result()
        distances.append(SetDistance(name, value, len(images), len(reference), least, False))
    return distances


def _reference(plan: Plan, store: Store, folder: str | None) -> Mapping[str, bytes]:
    """Return the reference set by hash: a folder's images, or the questions' own reference images."""
    if folder is not None:
        endings = {f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg")}
        root = Path(folder).expanduser()
        files = [file for file in sorted(root.rglob("*")) if file.suffix.lower() in endings and file.is_file()]
        images: Sequence[bytes] = [file.read_bytes() for file in files]
    else:
        hashes = {q.reference.known_sha256 for q in plan.exam.questions if q.reference is not None}
        images = [store.blobs.get(sha256) for sha256 in sorted(filter(None, hashes))]
    by_hash = {hashlib.sha256(image).hexdigest(): image for image in images}
    if len(by_hash) < 2:
        where = folder or f"the questions of {plan.exam.name}"
        raise UsageError(f"{where}: a distance needs two reference images; name a folder with ?reference=FOLDER")
    return by_hash


def _moments(metric: LocalMetric, images: Iterable[bytes]) -> Moments:
    import base64

    moments = Moments()
    for image in images:
        try:
            features = run_to_end(metric.compute(image))
        except Fault as fault:
            raise UsageError(f"{metric.kind.name}: {fault.detail}") from fault
        moments.add(np.frombuffer(base64.b64decode(features["value"]), dtype="<f4").astype(np.float64))
    return moments
