"""The steps of a run that end in a record: a drawing or a marking, made or failed."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from ..calls import STOPPING, Calls, Fault
from ..core.errors import LimnerError, LostImage, StopRun
from ..core.evaluator import CONTROL_PREFIX
from ..core.exam import Question
from ..core.faults import FIX_AND_RERUN, fault_of_lost_image, unexpected_fault
from ..judges import Judge, JudgeResult, Subject
from ..painters import Painting, PaintRequest
from ..painters.base import store_painting
from ..store import Blobs, now
from ..store.markings import Marking
from ..store.records import Drawing
from .plan import Arm

NO_IMAGE = "the drawing was imported without its image; import it again with --images"
T = TypeVar("T")
ALIKE = 5
"""The number of equal unexpected exceptions in a row that stops a run."""


async def draw(
    blank: Drawing, arm: Arm, request: PaintRequest, blobs: Blobs, calls: Calls, rounds: int = 0, least_side: int = 0
) -> Drawing:
    """Make the drawing described by `blank`; a fault is an outcome too. See `limner.strategies.Strategy.draw`.

    A drawing that is narrower or lower than `least_side` pixels is a fault, except that of a control.

    Raises:
        StopRun: Every further call would fail in the same way.
        StoreError: The image cannot be written.
    """

    async def drawn() -> Drawing:
        painting = await arm.strategy.draw(request, arm.painter, calls, blobs, blank.exam, rounds)
        drawing = await _keep(blank, painting, blobs)
        side = min(drawing.width or 0, drawing.height or 0)
        if side < least_side and not blank.spec.startswith(CONTROL_PREFIX):
            size = f"{drawing.width} x {drawing.height} pixels; the least size is {least_side} x {least_side}"
            raise Fault("image", f"the drawing has {size}", calls=painting.calls, cost=painting.cost)
        return drawing

    drawing, fault = await outcome(drawn())
    if drawing is not None:
        return replace(drawing, notes={**(drawing.notes or {}), **_counted(rounds)})
    assert fault is not None
    status = "not_applicable" if fault.kind == "not_applicable" else "failed"
    made = replace(blank, status=status, fault=fault.kind, detail=fault.detail, notes=_counted(rounds) or None)
    return replace(made, calls=list(fault.calls), cost=fault.cost)


async def outcome(work: Awaitable[T]) -> tuple[T | None, Fault | None]:
    """Return the result of a step, or its fault; an unexpected exception is a fault of this step only.

    Raises:
        StopRun: Every further call would fail in the same way.
        LimnerError: The error affects more than this step.
    """
    try:
        return await answer_or_fault(work)
    except LimnerError:
        raise
    except Exception as error:
        return None, unexpected_fault(error)


async def answer_or_fault(work: Awaitable[T]) -> tuple[T | None, Fault | None]:
    """Return the result of a request, or its fault; an unexpected exception ends the run.

    Raises:
        StopRun: Every further call would fail in the same way.
    """
    try:
        return await work, None
    except (Fault, LostImage) as error:
        fault = fault_of_lost_image(error)
        raise_if_fatal(fault)
        return None, fault


def _counted(rounds: int) -> dict[str, int]:
    """Return the note that stores a drawing's rounds; see `limner.store.records.Drawing.rounds`."""
    return {"rounds": rounds} if rounds else {}


async def _keep(blank: Drawing, painting: Painting, blobs: Blobs) -> Drawing:
    sha256, info = await store_painting(painting, blobs)
    notes = {**painting.notes, **({"image": list(info.notes)} if info.notes else {})}
    return replace(
        blank, status="done", image=sha256, width=info.width, height=info.height, cost=painting.cost,
        prompt_sent=painting.prompt_sent, notes=notes, calls=list(painting.calls), created=now(),
    )  # fmt: skip


async def mark(blank: Marking, question: Question[Any], drawing: Drawing, judge: Judge, calls: Calls) -> Marking:
    """Make the marking described by `blank`; a fault is an outcome too.

    Raises:
        StopRun: Every further call would fail in the same way.
    """
    clock = time.perf_counter()

    async def marked_once() -> JudgeResult:
        if drawing.image is None:
            raise Fault("missing", NO_IMAGE)
        subject = Subject(drawing.exam, question, drawing.painter, drawing.image, blank.repeat, blank.rounds)
        return await judge.mark(subject, calls)

    marked, fault = await outcome(marked_once())
    if marked is None:
        assert fault is not None
        replies = [["", key] for key in fault.calls]
        made = replace(blank, fault=fault.kind, detail=fault.detail, cost=fault.cost, replies=replies)
    else:
        marks = [each.to_json() for each in marked.marks] if marked.marks is not None else None
        replies = [list(pair) for pair in marked.replies]
        made = replace(blank, status="done", replies=replies, marks=marks, cost=marked.cost)
    return replace(made, seconds=time.perf_counter() - clock)


class RepeatedErrors:
    """The counter of equal unexpected exceptions in a row, which show that the cause is not a single item."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}

    def count(self, step: str, fault: str | None, detail: str | None) -> None:
        """Count how a step of this kind ended.

        Raises:
            StopRun: The same exception occurred `ALIKE` times in a row.
        """
        kind = (detail or "").partition(":")[0] + (detail or "").rpartition("(")[2] if fault == "internal" else ""
        last, times = self._last.get(step, ("", 0))
        self._last[step] = kind, times + 1 if kind == last else 1
        if kind and self._last[step][1] >= ALIKE:
            raise StopRun(
                f"{detail}: the same unexpected error {ALIKE} times in a row. Stopped. Each failure is stored. "
                "Fix this, then run the same command with --retry-failed."
            )


def raise_if_fatal(fault: Fault) -> None:
    """Stop the run if every further call would fail in the same way.

    Raises:
        StopRun: The fault is of such a kind.
    """
    if fault.kind in STOPPING:
        raise StopRun(f"{fault.detail} ({fault.kind}). Stopped. {FIX_AND_RERUN}")
