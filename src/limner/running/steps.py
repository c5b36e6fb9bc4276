"""The steps of a run that end in a record: a drawing or a marking, made or failed."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, TypeVar

from ..calls import STOPPING, Calls, Fault
from ..core.errors import LimnerError, LostImage, StopRun
from ..core.exam import Question
from ..core.faults import ASK_AGAIN, lost, unexpected
from ..judges import Judge, JudgeResult, Subject
from ..painters import Painting, PaintRequest
from ..painters.base import keep_painting
from ..store import Blobs, now
from ..store.markings import Marking
from ..store.records import Drawing
from .plan import Arm

NO_IMAGE = "the drawing came without its image; import it again with --images"
T = TypeVar("T")
ALIKE = 5
"""So many unexpected exceptions of one sort and place in a row end a run."""


async def draw(blank: Drawing, arm: Arm, request: PaintRequest, blobs: Blobs, calls: Calls, rounds: int = 0) -> Drawing:
    """Draw what `blank` says; a fault is its outcome too. `rounds` goes to `limner.strategies.Strategy.draw`.

    Raises:
        StopRun: Every further call would fail alike.
        StoreError: The image cannot be written.
    """

    async def drawn() -> Drawing:
        painting = await arm.strategy.draw(request, arm.painter, calls, blobs, blank.exam, rounds)
        return await _keep(blank, painting, blobs)

    drawing, fault = await outcome(drawn())
    if drawing is not None:
        return replace(drawing, notes={**(drawing.notes or {}), **_counted(rounds)})
    assert fault is not None
    status = "not_applicable" if fault.kind == "not_applicable" else "failed"
    made = replace(blank, status=status, fault=fault.kind, detail=fault.detail, notes=_counted(rounds) or None)
    return replace(made, calls=list(fault.calls), cost=fault.cost)


async def outcome(work: Awaitable[T]) -> tuple[T | None, Fault | None]:
    """Return what a step gives, or the fault that it ends with; an unexpected exception is a fault of this step alone.

    Raises:
        StopRun: Every further call would fail alike.
        LimnerError: It concerns more than this step.
    """
    try:
        return await answer_or_fault(work)
    except LimnerError:
        raise
    except Exception as error:
        return None, unexpected(error)


async def answer_or_fault(work: Awaitable[T]) -> tuple[T | None, Fault | None]:
    """Return what an ask gives, or the fault that it ends with; an unexpected exception ends the run.

    Raises:
        StopRun: Every further call would fail alike.
    """
    try:
        return await work, None
    except (Fault, LostImage) as error:
        fault = lost(error)
        stop_if_pointless(fault)
        return None, fault


def _counted(rounds: int) -> dict[str, int]:
    """How a drawing remembers the rounds of asking it took, see `limner.store.records.Drawing.rounds`."""
    return {"rounds": rounds} if rounds else {}


async def _keep(blank: Drawing, painting: Painting, blobs: Blobs) -> Drawing:
    sha256, info = await keep_painting(painting, blobs)
    notes = {**painting.notes, **({"image": list(info.notes)} if info.notes else {})}
    return replace(
        blank, status="done", image=sha256, width=info.width, height=info.height, cost=painting.cost,
        prompt_sent=painting.prompt_sent, notes=notes, calls=list(painting.calls), created=now(),
    )  # fmt: skip


async def mark(blank: Marking, question: Question[Any], drawing: Drawing, judge: Judge, calls: Calls) -> Marking:
    """Mark what `blank` says; a fault is its outcome too.

    Raises:
        StopRun: Every further call would fail alike.
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
        marks = [one.to_json() for one in marked.marks] if marked.marks is not None else None
        replies = [list(pair) for pair in marked.replies]
        made = replace(blank, status="done", replies=replies, marks=marks, cost=marked.cost)
    return replace(made, seconds=time.perf_counter() - clock)


class Slips:
    """Counts unexpected exceptions that are alike and come in a row: what always happens is no item's fault."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[str, int]] = {}

    def count(self, step: str, fault: str | None, detail: str | None) -> None:
        """Count how a step of this sort ended that was made now.

        Raises:
            StopRun: The same exception has come `ALIKE` times in a row.
        """
        kind = (detail or "").partition(":")[0] + (detail or "").rpartition("(")[2] if fault == "internal" else ""
        last, times = self._last.get(step, ("", 0))
        self._last[step] = kind, times + 1 if kind == last else 1
        if kind and self._last[step][1] >= ALIKE:
            raise StopRun(
                f"{detail}: the same unexpected error {ALIKE} times in a row; the run stops here. It is stored as a "
                "fault of each of them; once it is mended, --retry-failed tries them again"
            )


def stop_if_pointless(fault: Fault) -> None:
    """End the run where every further call would fail alike.

    Raises:
        StopRun: It is so.
    """
    if fault.kind in STOPPING:
        raise StopRun(f"{fault.detail} ({fault.kind}); the run stops here. {ASK_AGAIN}")
