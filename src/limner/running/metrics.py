"""Runs a metric over stored drawings: numbers of drawings become ratings, numbers of painters stand by themselves."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..calls import Calls, Fault, digest, setup_id
from ..core.errors import UsageError
from ..core.evaluator import row_name
from ..core.images import SUFFIXES
from ..core.loops import run_to_end
from ..evidence.metrics import LocalMetric, Moments, frechet_distance
from ..store import Store
from ..store.ratings import PainterMetric, Rating, load_painter_metrics, save_painter_metrics, save_ratings
from ..store.records import Drawing, save_setup
from .backlog import Backlog
from .evaluating import METRIC, NO_IMAGE, EvaluatingRunner
from .plan import Plan, Slot


class MetricRunner(EvaluatingRunner):
    """Measures every finished drawing with one metric. Run it again to resume.

    Attributes:
        cut: Drawings whose prompt is longer than the metric's model reads.
    """

    def __init__(self, plan: Plan, store: Store, metric: LocalMetric) -> None:
        super().__init__(plan, store, metric, metric.kind.name)
        self.metric, self.cut = metric, 0

    @property
    def setup(self) -> dict[str, Any]:
        """Everything that shapes its numbers."""
        return self.metric.setup

    def _slots(self) -> tuple[int, Iterable[Slot]]:
        found = [slot for slot in self.backlog.slots() if slot.drawn is not None]
        return len(found), found

    async def _fill(self, slot: Slot, calls: Calls) -> None:
        drawing = slot.drawn
        assert drawing is not None
        found, reason = await self._outcome(slot.question.id, self._measured(drawing, slot.question.prompt, calls))
        value = None if found is None else float(found["value"])
        row = Rating(drawing.id, self.setup_id, self.metric.kind.name, value, reason=reason)
        await asyncio.wrap_future(save_ratings(self.store, [row]))
        self.cut += found is not None and found.get("read", 0) < found.get("tokens", 0)

    async def _measured(self, drawing: Drawing, prompt: str, calls: Calls) -> Mapping[str, Any]:
        if drawing.image is None:
            raise Fault("missing", NO_IMAGE)
        data = await asyncio.to_thread(self.store.blobs.get, drawing.image)
        return await self.metric.measure(data, prompt, calls)


@dataclass(frozen=True)
class SetDistance:
    """One painter's distance to the reference set.

    Attributes:
        n: Drawings it rests on.
        least: The least number of images on either side for which the covariance can have its full rank.
        stored: Whether it was known already, for the same images.
    """

    painter: str
    value: float
    n: int
    reference_n: int
    least: int
    stored: bool

    @property
    def words(self) -> str:
        """The number with what it rests on."""
        told = f"{self.painter}: {self.value:.3f} (n = {self.n:,} drawings, {self.reference_n:,} reference images)"
        few = min(self.n, self.reference_n) < self.least
        return told + (f"; too few: below {self.least:,} images the distance comes out too large" if few else "")


def set_distances(plan: Plan, store: Store, metric: LocalMetric) -> list[SetDistance]:
    """Every painter's Fréchet distance to the reference set; what is known for the same images is not computed again.

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
    known = {(row.painter, row.strategy): row for row in load_painter_metrics(store, plan.exam.name) if row.setup == id}
    found, theirs = [], None
    for (painter, strategy), drawings in sorted(rows.items()):
        images = sorted(str(drawing.image) for drawing in drawings.values())
        before, name = known.get((painter, strategy)), row_name(painter, strategy)
        if len(images) < 2:
            continue
        if before is not None and before.body.get("images") == digest(images):
            found.append(SetDistance(name, before.value, len(images), len(reference), before.body["least_n"], True))
            continue
        theirs = theirs or _moments(metric, reference.values())
        own = _moments(metric, (store.blobs.get(image) for image in images))
        value, least = frechet_distance(own, theirs), theirs.dims + 1
        body = {"images": digest(images), "reference_n": len(reference), "dims": theirs.dims, "least_n": least}
        made = PainterMetric(plan.exam.name, painter, id, value, strategy, n=len(images), body=body)
        save_painter_metrics(store, [made]).result()
        found.append(SetDistance(name, value, len(images), len(reference), least, False))
    return found


def _reference(plan: Plan, store: Store, folder: str | None) -> Mapping[str, bytes]:
    """The reference set by hash: a folder's images, or the questions' own reference images."""
    if folder is not None:
        endings = {f".{suffix}" for suffix in (*SUFFIXES.values(), "jpeg")}
        there = Path(folder).expanduser()
        files = [file for file in sorted(there.rglob("*")) if file.suffix.lower() in endings and file.is_file()]
        images: Sequence[bytes] = [file.read_bytes() for file in files]
    else:
        hashes = {q.reference.known_sha256 for q in plan.exam.questions if q.reference is not None}
        images = [store.blobs.get(sha256) for sha256 in sorted(filter(None, hashes))]
    found = {hashlib.sha256(image).hexdigest(): image for image in images}
    if len(found) < 2:
        where = folder or f"the questions of {plan.exam.name}"
        raise UsageError(f"{where}: a distance needs two reference images; name a folder with ?reference=FOLDER")
    return found


def _moments(metric: LocalMetric, images: Iterable[bytes]) -> Moments:
    import base64

    found = Moments()
    for image in images:
        try:
            told = run_to_end(metric.compute(image))
        except Fault as fault:
            raise UsageError(f"{metric.kind.name}: {fault.detail}") from fault
        found.add(np.frombuffer(base64.b64decode(told["value"]), dtype="<f4").astype(np.float64))
    return found
