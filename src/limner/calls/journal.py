"""The call journal: every paid or slow thing happens here, once, and is remembered."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import sqlalchemy as sa

from ..core.errors import LimnerError, StoreError
from ..core.faults import PASSING, Fault, unexpected
from ..core.redaction import without_secrets
from ..store import Store, now
from ..store.schema import attempts, calls
from ..store.trouble import changed
from .budget import Budget
from .claims import LEASE_S, Claim, Claimed, Settled, Short, Submitted, claim, entry, this_process
from .keys import Request
from .purse import wait_or_stop
from .queued import BatchRow, in_batch
from .rate_limit import Limits, RateLimit
from .reservations import Reservation
from .tally import BUDGET, RETRY, Tally, Waits, current_account
from .usage import doubt_of

DETAIL = 2000
"""Of a fault's words so many characters are kept."""
TRIES = 5
"""Tries at one call within one run, passing faults only."""

# Made once: they are executed for every call.
OURS = calls.update().where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))
THERE = sa.select(calls.c.key).where(calls.c.key == sa.bindparam("key_"))
MINE = sa.select(calls.c.tries).where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))


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

    def __init__(self, calls: Calls, key: str, token: str, progress: dict[str, Any] | None) -> None:
        self._calls, self._key, self._token, self.progress = calls, key, token, progress

    async def save(self, progress: dict[str, Any]) -> None:
        """Remember something to go on from after a crash, such as a service's job id."""
        self.progress = progress = without_secrets(progress)
        await self._calls._change(self._key, self._token, progress=progress)


Perform = Callable[[Attempt], Awaitable[Result]]


class Calls:
    """Makes each call at most once per store, whoever asks for it, in however many processes.

    Use as an async context manager: it shows other hosts that its claims are alive. `concurrency` is how many calls it
    makes at a time, whoever asks for them. Where several processes share one run, `asked` is when it was asked for:
    what failed for good is then tried again once by all of them together.
    """

    def __init__(
        self,
        store: Store,
        *,
        retry_failed: bool = False,
        tries: int = TRIES,
        budget: Budget | None = None,
        limits: Mapping[str, Limits] | None = None,
        concurrency: int | None = None,
        asked: float | None = None,
    ) -> None:
        self.store, self.retry_failed, self.tries, self.asked = store, retry_failed, tries, asked
        self.budget = budget or Budget()
        self.tally, self.waits = Tally(), Waits()
        self.since = now()
        self._room: AbstractAsyncContextManager[None] = (
            nullcontext() if concurrency is None else asyncio.Semaphore(concurrency)
        )
        self._limits = limits or {}
        self._rate_limits: dict[str, RateLimit] = {}
        self.owner = this_process()
        self._flying: dict[str, asyncio.Task[Outcome]] = {}
        self._held: dict[str, str] = {}
        self._tried: set[str] = set()
        self._reopened: set[str] = set()
        self._wait: Callable[[int], float] = back_off
        self._beat: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Calls:
        self._beat = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._beat is not None:
            self._beat.cancel()

    async def do(
        self,
        request: Request,
        perform: Perform,
        *,
        bound: float | None = 0.0,
        tokens: int = 0,
        row: BatchRow | None = None,
    ) -> Outcome:
        """The stored outcome where there is one; otherwise claim, try, store and return it.

        Args:
            request: What identifies the call.
            perform: Makes one attempt.
            bound: The most one attempt can cost, in dollars; None when nobody knows.
            tokens: About how many tokens it takes, for services that limit them.
            row: How it goes with a batch, where it can; see `limner.calls.batch_calls`.

        Raises:
            Fault: The call failed, now or (unless it is to be tried again) earlier.
        """
        task = self._flying.get(request.key)
        if task is None:
            task = asyncio.create_task(self._do(request, perform, bound, tokens, row))
            self._flying[request.key] = task
            task.add_done_callback(lambda _: self._flying.pop(request.key, None))
        return await asyncio.shield(task)

    async def _do(
        self, request: Request, perform: Perform, bound: float | None, tokens: int, row: BatchRow | None = None
    ) -> Outcome:
        pause, purse = 0.05, self.budget.purse
        reservation = Reservation(purse, bound) if purse is not None and bound else None
        while True:
            # The wait for room stands before the claim, so that nothing is claimed long before it is made.
            async with self._room:
                held = await self._claim(request, reservation)
                if isinstance(held, Settled):
                    return self._known(request, held)
                if isinstance(held, Submitted):
                    raise Fault("interrupted", in_batch(held.batch), calls=(request.key,))
                if isinstance(held, Claimed):
                    self._held[request.key] = held.token
                    try:
                        outcome = await self._attempts(request, perform, held, bound, tokens, reservation)
                    finally:
                        self._held.pop(request.key, None)
                    if outcome is not None:
                        return outcome
            if isinstance(held, Short) and reservation is not None:
                with self.waits.waiting(BUDGET):
                    await asyncio.to_thread(wait_or_stop, self.store, reservation, request.target)
            # Another process is making it, or has taken it over from us: its outcome is the one that stands.
            await asyncio.sleep(pause)
            pause = min(1.0, pause * 1.5)

    async def _claim(self, request: Request, reservation: Reservation | None) -> Claim:
        token = secrets.token_hex(16)
        how: dict[str, Any] = {"retry_failed": self.retry_failed, "since": self.since, "tried": self._tried}
        how |= {"reservation": reservation, "asked": self.asked}
        try:
            return await self.store.awrite(claim(self.store, request, self.owner, token, now(), **how))
        except asyncio.CancelledError:
            # It is written all the same: give it back, for nobody is going to make the call.
            await asyncio.shield(self._give_back(request.key, token, reservation))
            raise

    def _known(self, request: Request, settled: Settled) -> Outcome:
        if settled.fault is not None:
            raise Fault(settled.fault, settled.detail or "", calls=(request.key,))  # type: ignore[arg-type]
        self.tally.stored += 1
        return Outcome(request.key, settled.result or {}, settled.cost, stored=True)

    async def _attempts(
        self,
        request: Request,
        perform: Perform,
        held: Claimed,
        bound: float | None,
        tokens: int,
        reservation: Reservation | None,
    ) -> Outcome | None:
        """Try until there is an outcome; None when the claim was lost on the way."""
        attempt = Attempt(self, request.key, held.token, held.progress)
        limit, began = self._rate_limit(request.target), time.monotonic()
        for n in range(held.tries + 1, held.tries + self.tries + 1):
            reserved: float | None = None
            try:
                if n > held.tries + 1:
                    with self.waits.waiting(RETRY):
                        await asyncio.sleep(self._wait(n - held.tries - 1))
                    if reservation is not None and not await self._reserve(request, n, held.token, reservation):
                        return None
                # The rate limit comes last: whoever has been let through it sends at once.
                with self.waits.waiting(BUDGET):
                    reserved = await self.budget.reserve(bound, request.target)
                with self.waits.waiting(request.target.partition("/")[0]):
                    await limit.enter(tokens)
            except BaseException:
                # Nothing was sent: the call is free for whoever comes next.
                if reserved is not None:
                    self.budget.settle(reserved, 0.0)
                await asyncio.shield(self._give_back(request.key, held.token, reservation))
                raise
            started, clock = now(), time.perf_counter()
            cost: float | None = None
            try:
                async with asyncio.timeout(limit.limits.attempt_s):
                    result = await perform(attempt)
                doubt = result.doubt or doubt_of(result.cost)
                cost = bound if doubt else result.cost
            except (Fault, TimeoutError) as error:
                fault = error if isinstance(error, Fault) else _too_slow(limit)
                fault.doubt = fault.doubt or doubt_of(fault.cost)
                cost = fault.cost = bound if fault.doubt else fault.cost
                later = time.monotonic() + (fault.retry_after or 0.0)
                last = n == held.tries + self.tries or later - began > limit.limits.call_s
                again = fault.kind in PASSING and not last
                if fault.retry_after is not None:
                    limit.hold(fault.retry_after)
                row = _row(request.key, n, started, clock, fault)
                if not await self._settle(row, held.token, "claimed" if again else "failed", fault, reservation):
                    return None
                if not again:
                    raise Fault(fault.kind, fault.detail, calls=(request.key,), cost=fault.cost) from fault
            except BaseException as error:
                # Cancelled or broken in flight: what the service charged is not known.
                slip = isinstance(error, Exception) and not isinstance(error, LimnerError)
                broken = unexpected(error, (request.key,)) if slip else Fault("interrupted", repr(error), cost=None)  # type: ignore[arg-type]
                row = _row(request.key, n, started, clock, broken)
                await asyncio.shield(self._settle(row, held.token, "failed", broken, reservation))
                if slip:
                    raise broken from error
                raise
            else:
                payload: dict[str, Any] = without_secrets(result.payload)
                told = {"result": payload, "cost": cost, "doubt": doubt}
                row = _row(request.key, n, started, clock, None) | told
                if not await self._settle(row, held.token, "done", None, reservation):
                    return None
                return Outcome(request.key, payload, cost, stored=False)
            finally:
                self.budget.settle(reserved, cost)
        raise AssertionError("the last try either returns or raises")

    def _rate_limit(self, target: str) -> RateLimit:
        service = target.partition("/")[0]
        if service not in self._rate_limits:
            self._rate_limits[service] = RateLimit(self._limits.get(service, Limits()))
        return self._rate_limits[service]

    async def reopen(self, key: str) -> None:
        """Let a call be made once more though it has an outcome, because that is of no use; once in a run."""
        if key in self._reopened:
            return
        self._reopened.add(key)
        done = calls.update().where(calls.c.key == key, calls.c.status == "done")
        await self.store.awrite(methodcaller("execute", done.values(status="open", updated=now())))

    async def _reserve(self, request: Request, n: int, token: str, reservation: Reservation) -> bool:
        """Set the bound of a further attempt aside; False when the claim is no longer ours."""

        def operation(connection: sa.Connection) -> bool | None:
            fits = reservation.take(connection)
            held = connection.execute(MINE, {"key_": request.key, "token_": token}).first() is not None
            if fits and held:
                reservation.enter(connection, self.store, entry(request.key, n, token, self.owner, now()))
            elif fits:
                reservation.put_back(connection)
            return None if held and not fits else held

        while (held := await self.store.awrite(operation)) is None:
            with self.waits.waiting(BUDGET):
                await asyncio.to_thread(wait_or_stop, self.store, reservation, request.target)
                await asyncio.sleep(1.0)
        return held

    async def _settle(
        self, row: dict[str, Any], token: str, status: str, fault: Fault | None, reservation: Reservation | None
    ) -> bool:
        """Store an attempt and what it makes of the call; False when the claim is no longer ours.

        Raises:
            StoreError: The call is not in the store at all any longer.
        """
        for tally in filter(None, (self.tally, current_account())):
            tally.count(row["cost"], row["doubt"] is not None)
        at = now()
        changes: dict[str, Any] = {"status": status, "tries": row["n"], "updated": at, "lease_until": at + LEASE_S}
        if status == "done":
            changes |= {"accepted": row["n"], "fault": None, "detail": None, "progress": None}
        elif fault is not None:
            changes |= {"fault": fault.kind, "detail": fault.detail[:DETAIL]}
            if status == "failed":
                self._tried.add(row["call"])

        purse, cost = self.budget.purse, row["cost"]

        def operation(connection: sa.Connection) -> bool:
            if reservation is not None:
                reservation.settle(connection, row["call"], token, cost)
            held = bool(connection.execute(OURS, {"key_": row["call"], "token_": token, **changes}).rowcount)
            if held:
                self.store.insert_new(connection, attempts, row)
                if reservation is None and purse is not None and cost:
                    by = entry(row["call"], row["n"], token, self.owner, at)
                    Reservation(purse, 0.0).charge(connection, self.store, by, cost)
            elif connection.scalar(THERE, {"key_": row["call"]}) is None:
                raise StoreError(changed(self.store.url, "replaced or emptied"))
            return held

        return await self.store.awrite(operation)

    async def _give_back(self, key: str, token: str, reservation: Reservation | None) -> None:
        """Nothing was sent: the call is free for whoever comes next, and so is the money."""

        def operation(connection: sa.Connection) -> None:
            if reservation is not None:
                reservation.release(connection, key, token)
            connection.execute(OURS, {"key_": key, "token_": token, "status": "open", "updated": now()})

        await self.store.awrite(operation)

    async def _change(self, key: str, token: str, **changes: Any) -> None:
        mine = calls.update().where(calls.c.key == key, calls.c.token == token)
        await self.store.awrite(methodcaller("execute", mine.values(**changes, updated=now())))

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(LEASE_S / 4)
            tokens = list(self._held.values())
            for start in range(0, len(tokens), 500):
                mine = calls.update().where(calls.c.token.in_(tokens[start : start + 500]))
                renewed = mine.values(lease_until=now() + LEASE_S)
                # A lease outlasts several beats: what hinders one must not end them all.
                with suppress(StoreError):
                    await self.store.awrite(methodcaller("execute", renewed))


def _too_slow(limit: RateLimit) -> Fault:
    return Fault("timeout", f"no result within {limit.limits.attempt_s:g} s", cost=None)


def _row(key: str, n: int, started: float, clock: float, fault: Fault | None) -> dict[str, Any]:
    row = {"call": key, "n": n, "started": started, "seconds": time.perf_counter() - clock}
    if fault is None:
        return row | {"fault": None, "detail": None}
    told = {"cost": fault.cost, "result": without_secrets(fault.result), "doubt": fault.doubt}
    return row | {"fault": fault.kind, "detail": fault.detail[:DETAIL], **told}
