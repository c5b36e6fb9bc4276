"""The call journal: every paid or slow thing happens here, once, and is remembered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from tenacity import wait_random_exponential

from ..store import Store, now
from ..store.schema import attempts, calls
from .claims import LEASE_S, Busy, Claimed, Settled, claim, this_process
from .faults import PASSING, Fault
from .keys import Request

TRIES = 5
"""Tries at one call within one run, passing faults only."""


@dataclass(frozen=True)
class Result:
    """What one attempt brought: plain JSON (images by hash), and what it cost (None: unknown)."""

    payload: dict[str, Any]
    cost: float | None = 0.0


@dataclass(frozen=True)
class Outcome:
    """The accepted result of a call, whether made now or long ago."""

    key: str
    payload: dict[str, Any]
    cost: float | None
    stored: bool


class Attempt:
    """Handed to whoever makes the call: what an earlier, interrupted try left behind."""

    def __init__(self, calls: Calls, key: str, token: str, progress: dict[str, Any] | None) -> None:
        self._calls, self._key, self._token, self.progress = calls, key, token, progress

    async def save(self, progress: dict[str, Any]) -> None:
        """Remember something to go on from after a crash, such as a service's job id."""
        self.progress = progress
        await self._calls._change(self._key, self._token, progress=progress)


Perform = Callable[[Attempt], Awaitable[Result]]


@dataclass
class Tally:
    """What this process has done so far."""

    made: int = 0
    stored: int = 0
    spent: float = 0.0
    unpriced: int = 0


class Calls:
    """Makes each call at most once per store, whoever asks for it, in however many processes.

    Use as an async context manager: it shows other hosts that its claims are alive.
    """

    def __init__(self, store: Store, *, retry_failed: bool = False, tries: int = TRIES) -> None:
        self.store, self.retry_failed, self.tries = store, retry_failed, tries
        self.tally = Tally()
        self.since = now()
        self._owner = this_process()
        self._flying: dict[str, asyncio.Task[Outcome]] = {}
        self._held: dict[str, str] = {}
        self._wait = wait_random_exponential(multiplier=0.5, max=30)
        self._beat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Calls:
        self._beat = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._beat is not None:
            self._beat.cancel()

    async def do(self, request: Request, perform: Perform, *, bound: float | None = 0.0) -> Outcome:
        """The stored outcome where there is one; otherwise claim, try, store and return it.

        Args:
            request: What identifies the call.
            perform: Makes one attempt.
            bound: The most one attempt can cost, in dollars; None when nobody knows.

        Raises:
            Fault: The call failed, now or (unless it is to be tried again) earlier.
        """
        task = self._flying.get(request.key)
        if task is None:
            task = asyncio.create_task(self._do(request, perform))
            self._flying[request.key] = task
            task.add_done_callback(lambda _: self._flying.pop(request.key, None))
        return await asyncio.shield(task)

    async def _do(self, request: Request, perform: Perform) -> Outcome:
        pause = 0.05
        while True:
            held = await self.store.awrite(
                claim(
                    self.store, request, self._owner, now(), retry_failed=self.retry_failed, since=self.since
                )
            )
            if isinstance(held, Busy):
                await asyncio.sleep(pause)
                pause = min(1.0, pause * 1.5)
            elif isinstance(held, Settled):
                return self._known(request, held)
            else:
                break
        self._held[request.key] = held.token
        try:
            return await self._attempts(request, perform, held)
        finally:
            self._held.pop(request.key, None)

    def _known(self, request: Request, settled: Settled) -> Outcome:
        if settled.fault is not None:
            raise Fault(settled.fault, settled.detail or "", calls=(request.key,))  # type: ignore[arg-type]
        self.tally.stored += 1
        return Outcome(request.key, settled.result or {}, settled.cost, stored=True)

    async def _attempts(self, request: Request, perform: Perform, held: Claimed) -> Outcome:
        attempt = Attempt(self, request.key, held.token, held.progress)
        for n in range(held.tries + 1, held.tries + self.tries + 1):
            started, clock = now(), time.perf_counter()
            try:
                result = await perform(attempt)
            except Fault as fault:
                again = fault.kind in PASSING and n < held.tries + self.tries
                row = _row(request.key, n, started, clock, fault)
                await self._settle(row, held.token, "claimed" if again else "failed", fault)
                if not again:
                    raise Fault(fault.kind, fault.detail, calls=(request.key,), cost=fault.cost) from fault
                await asyncio.sleep(fault.retry_after or self._wait(_Turn(n - held.tries)))  # type: ignore[arg-type]
            except BaseException as error:
                # Cancelled or broken in flight: what the service charged is not known.
                broken = Fault("interrupted", repr(error), cost=None)
                row = _row(request.key, n, started, clock, broken)
                await asyncio.shield(self._settle(row, held.token, "failed", broken))
                raise
            else:
                row = _row(request.key, n, started, clock, None) | {
                    "result": result.payload,
                    "cost": result.cost,
                }
                await self._settle(row, held.token, "done", None)
                return Outcome(request.key, result.payload, result.cost, stored=False)
        raise AssertionError("the last try either returns or raises")

    async def _settle(self, row: dict[str, Any], token: str, status: str, fault: Fault | None) -> None:
        self.tally.made += 1
        if row["cost"] is None:
            self.tally.unpriced += 1
        else:
            self.tally.spent += row["cost"]
        at = now()
        changes: dict[str, Any] = {
            "status": status,
            "tries": row["n"],
            "updated": at,
            "lease_until": at + LEASE_S,
        }
        if status == "done":
            changes |= {"accepted": row["n"], "fault": None, "detail": None, "progress": None}
        elif fault is not None:
            changes |= {"fault": fault.kind, "detail": fault.detail[:2000]}

        def operation(connection: sa.Connection) -> None:
            ours = calls.update().where(calls.c.key == row["call"], calls.c.token == token)
            if connection.execute(ours.values(changes)).rowcount:
                connection.execute(attempts.insert().values(row))
            # Otherwise the claim was taken over after its lease ran out; the first outcome stands.

        await self.store.awrite(operation)

    async def _change(self, key: str, token: str, **changes: Any) -> None:
        mine = calls.update().where(calls.c.key == key, calls.c.token == token)
        await self.store.awrite(lambda connection: connection.execute(mine.values(**changes, updated=now())))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 4)
            tokens = list(self._held.values())
            for start in range(0, len(tokens), 500):
                mine = calls.update().where(calls.c.token.in_(tokens[start : start + 500]))
                renewed = mine.values(lease_until=now() + LEASE_S)
                await self.store.awrite(lambda connection, renewed=renewed: connection.execute(renewed))  # type: ignore[misc]


@dataclass(frozen=True)
class _Turn:
    """As much of tenacity's retry state as its waits read."""

    attempt_number: int


def _row(key: str, n: int, started: float, clock: float, fault: Fault | None) -> dict[str, Any]:
    row = {"call": key, "n": n, "started": started, "seconds": time.perf_counter() - clock}
    if fault is None:
        return row | {"fault": None, "detail": None}
    return row | {
        "fault": fault.kind,
        "detail": fault.detail[:2000],
        "cost": fault.cost,
        "result": fault.result,
    }
