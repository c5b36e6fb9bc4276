"""Calls that go with a batch: what they are made of, and how work is put off until the batch is answered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..core.errors import LimnerError
from ..core.faults import Fault
from ..core.settings import Provider
from .attempts import Result

T = TypeVar("T")


class WaitsForBatch(LimnerError):
    """A call waits for a batch: whoever needs its result is run again when that is answered."""


@dataclass(frozen=True)
class BatchLane:
    """What all calls of one batch have in common.

    Attributes:
        service: The provider's name.
        endpoint: What the service does with them, as it writes that.
        model: The model's name at the service.
    """

    service: str
    endpoint: str
    model: str


@dataclass(frozen=True)
class BatchRow:
    """How one call goes with a batch.

    Attributes:
        provider: The service, by its settings.
        line: Makes the request's body as a batch has it, and what is kept beside the call to read its reply by.
        read: What a reply says, by what was kept. Raises a `Fault` where it says nothing of use.
        fault: The fault behind an error's status and body.
        bound: The most it can cost in a batch; None when nobody knows.
    """

    lane: BatchLane
    provider: Provider
    line: Callable[[], Awaitable[tuple[dict[str, Any], dict[str, Any]]]]
    read: Callable[[dict[str, Any], dict[str, Any]], Awaitable[Result]]
    fault: Callable[[int, dict[str, Any]], Fault]
    bound: float | None


@dataclass(frozen=True)
class BatchReply:
    """What became of one call of a batch: a status as HTTP has it, and the body."""

    key: str
    status: int
    body: dict[str, Any]


async def in_turn(steps: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """What each step gives, one after the other; one that waits for a batch does not keep the others from theirs.

    Raises:
        WaitsForBatch: A step waits for a batch.
    """
    found: list[T] = []
    waits: WaitsForBatch | None = None
    for step in steps:
        try:
            found.append(await step())
        except WaitsForBatch as queued:
            waits = queued
    if waits is not None:
        raise waits
    return found


def in_batch(batch: str) -> str:
    """What a run without batches says of a call that one has."""
    return f"it stands in batch {batch[:8]}: run with --batch to fetch its result, or see `limner batches`"
