"""Attempts at a call: how often and how soon, what one brings, and how it stands in the journal."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..core.faults import Fault
from ..core.redaction import without_secrets
from .claimed import DETAIL, ClaimedCall

TRIES = 5
"""Tries at one call within one run, passing faults only."""


def back_off(tries: int) -> float:
    """Seconds to wait after so many tries in vain: longer each time, and never the same for all."""
    return random.uniform(0.0, min(30.0, 0.5 * 2 ** (tries - 1)))


@dataclass(frozen=True)
class Result:
    """What one attempt brought: plain JSON (images by hash), and what it cost (None: unknown).

    Attributes:
        doubt: Why the service's word on the cost is not credible: then the attempt counts at its bound.
    """

    payload: dict[str, Any]
    cost: float | None = 0.0
    doubt: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The accepted result of a call, whether made now or long ago."""

    key: str
    payload: dict[str, Any]
    cost: float | None
    stored: bool


class Attempt:
    """Handed to whoever makes the call: what an earlier, interrupted try left behind."""

    def __init__(self, call: ClaimedCall, progress: dict[str, Any] | None) -> None:
        self._call, self.progress = call, progress

    async def save(self, progress: dict[str, Any]) -> None:
        """Remember something to go on from after a crash, such as a service's job id."""
        self.progress = progress = without_secrets(progress)
        await self._call.store.awrite(self._call.keep(progress))


Perform = Callable[[Attempt], Awaitable[Result]]


def attempt_row(key: str, n: int, started: float, seconds: float, fault: Fault | None) -> dict[str, Any]:
    """One attempt as the journal has it; of one without a fault, result, cost and doubt are still to come."""
    row = {"call": key, "n": n, "started": started, "seconds": seconds}
    if fault is None:
        return row | {"fault": None, "detail": None}
    told = {"cost": fault.cost, "result": without_secrets(fault.result), "doubt": fault.doubt}
    return row | {"fault": fault.kind, "detail": fault.detail[:DETAIL], **told}


def too_slow(seconds: float) -> Fault:
    """The fault of an attempt that brought nothing in the time it may take."""
    return Fault("timeout", f"no result within {seconds:g} s", cost=None)
