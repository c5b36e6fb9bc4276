"""The call journal: every paid or slow thing happens here, once, and is remembered."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, TypeVar

import sqlalchemy as sa

from ..core.errors import LimnerError, StoreError
from ..core.faults import PASSING, RETRIED_NEXT_RUN, Fault, unexpected
from ..core.redaction import without_secrets
from ..core.settings import Provider
from ..store import Store, now
from ..store.schema import attempts, calls
from ..store.trouble import changed
from .budget import Budget, Reservation
from .claims import LEASE_S, Claim, Claimed, Owner, Settled, Short, Submitted, claim, entry, settled, this_process
from .keys import Request
from .purse import wait_or_stop
from .rate_limit import Limits, RateLimit
from .usage import BUDGET, RETRY, Tally, Waits, current_account, doubt_of

TRIES = 5
"""Tries at one call within one run, passing faults only."""


class Calls:
    """Makes each call at most once per store, whoever asks for it, in however many processes.

    Use as an async context manager: it shows other hosts that its claims are alive. `concurrency` is how many calls it
    makes at a time, whoever asks for them.
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
    ) -> None:
        self.store, self.retry_failed, self.tries = store, retry_failed, tries
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
        self._beat = asyncio.create_task(renew(self.store, self._held))
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
        """Return the stored outcome where there is one; otherwise claim, try, store and return it.

        Args:
            request: What identifies the call.
            perform: Makes one attempt.
            bound: The most one attempt can cost, in dollars; None when nobody knows.
            tokens: About how many tokens it takes, for services that limit them.
            row: How it goes with a batch, where it can; see `limner.calls.batches`.

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
                        call = self._claimed(request, held.token, reservation)
                        outcome = await self._attempts(request, perform, held, call, bound, tokens)
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
        how["reservation"] = reservation
        try:
            return await self.store.awrite(claim(self.store, request, self.owner, token, now(), **how))
        except asyncio.CancelledError:
            # It is written all the same: give it back, for nobody is going to make the call.
            await asyncio.shield(self.store.awrite(self._claimed(request, token, reservation).give_back()))
            raise

    def _claimed(self, request: Request, token: str, reservation: Reservation | None) -> ClaimedCall:
        return ClaimedCall(self.store, self.owner, request.key, token, reservation, self.budget.purse)

    def _known(self, request: Request, settled: Settled) -> Outcome:
        if settled.fault is not None:
            raise Fault(settled.fault, settled.detail or "", calls=(request.key,))  # type: ignore[arg-type]
        self.tally.stored += 1
        return Outcome(request.key, settled.result or {}, settled.cost, stored=True)

    async def _attempts(
        self, request: Request, perform: Perform, held: Claimed, call: ClaimedCall, bound: float | None, tokens: int
    ) -> Outcome | None:
        """Try until there is an outcome; None when the claim was lost on the way."""
        attempt, reservation = Attempt(call, held.progress), call.reservation
        limit, began = self._rate_limit(request.target), time.monotonic()
        for n in range(held.tries + 1, held.tries + self.tries + 1):
            reserved: float | None = None
            try:
                if n > held.tries + 1:
                    with self.waits.waiting(RETRY):
                        await asyncio.sleep(self._wait(n - held.tries - 1))
                    if reservation is not None and not await self._reserve(call, n, reservation, request.target):
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
                await asyncio.shield(self.store.awrite(call.give_back()))
                raise
            started, clock = now(), time.perf_counter()
            cost: float | None = None
            try:
                async with asyncio.timeout(limit.limits.attempt_s):
                    result = await perform(attempt)
                doubt = result.doubt or doubt_of(result.cost)
                cost = bound if doubt else result.cost
            except (Fault, TimeoutError) as error:
                fault = error if isinstance(error, Fault) else too_slow(limit.limits.attempt_s)
                fault.doubt = fault.doubt or doubt_of(fault.cost)
                cost = fault.cost = bound if fault.doubt else fault.cost
                later = time.monotonic() + (fault.retry_after or 0.0)
                last = n == held.tries + self.tries or later - began > limit.limits.call_s
                again = fault.kind in PASSING and not last
                if fault.retry_after is not None:
                    limit.hold(fault.retry_after)
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, fault)
                if not await self._settle(call, row, "claimed" if again else "failed", fault):
                    return None
                if not again:
                    raise Fault(fault.kind, fault.detail, calls=(request.key,), cost=fault.cost) from fault
            except BaseException as error:
                # Cancelled or broken in flight: what the service charged is not known.
                slip = isinstance(error, Exception) and not isinstance(error, LimnerError)
                broken = unexpected(error, (request.key,)) if slip else Fault("interrupted", repr(error), cost=None)  # type: ignore[arg-type]
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, broken)
                await asyncio.shield(self._settle(call, row, "failed", broken))
                if slip:
                    raise broken from error
                raise
            else:
                payload: dict[str, Any] = without_secrets(result.payload)
                told = {"result": payload, "cost": cost, "doubt": doubt}
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, None) | told
                if not await self._settle(call, row, "done", None):
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

    async def _reserve(self, call: ClaimedCall, n: int, reservation: Reservation, target: str) -> bool:
        """Set the bound of a further attempt aside, once it fits; False when the claim is no longer ours."""
        while (held := await self.store.awrite(call.reserve(n, reservation))) is None:
            with self.waits.waiting(BUDGET):
                await asyncio.to_thread(wait_or_stop, self.store, reservation, target)
                await asyncio.sleep(1.0)
        return held

    async def _settle(self, call: ClaimedCall, row: dict[str, Any], status: str, fault: Fault | None) -> bool:
        """Count an attempt, and see `ClaimedCall.settle`."""
        for tally in filter(None, (self.tally, current_account())):
            tally.count(row["cost"], row["doubt"] is not None)
        if status == "failed":
            self._tried.add(call.key)
        return await self.store.awrite(call.settle(row, status, fault))


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
    """Return the fault of an attempt that brought nothing in the time it may take."""
    return Fault("timeout", f"no result within {seconds:g} s", cost=None)


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
    """Return what a run without batches says of a call that one has."""
    return f"it stands in batch {batch[:8]}: run with --batch to fetch its result, or see `limner batches`"


DETAIL = 2000
"""Of a fault's words so many characters are kept."""
# Made once: they are executed for every call.
OURS = calls.update().where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))
THERE = sa.select(calls.c.key).where(calls.c.key == sa.bindparam("key_"))
MINE = sa.select(calls.c.tries).where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """The operations on a call that is ours to make, as `limner.calls.claims.claim` is the one that claims it.

    Attributes:
        token: Tells this claim from every other.
        reservation: What each attempt sets aside, where it can cost something.
        purse: What is charged for an attempt that should have been free.
    """

    store: Store
    owner: Owner
    key: str
    token: str
    reservation: Reservation | None
    purse: str | None

    def reserve(self, n: int, reservation: Reservation) -> Callable[[sa.Connection], bool | None]:
        """Set the bound of a further attempt aside; None when it does not fit, False when the claim is not ours."""

        def operation(connection: sa.Connection) -> bool | None:
            fits = reservation.take(connection)
            held = connection.execute(MINE, {"key_": self.key, "token_": self.token}).first() is not None
            if fits and held:
                reservation.enter(connection, self.store, entry(self.key, n, self.token, self.owner, now()))
            elif fits:
                reservation.put_back(connection)
            return None if held and not fits else held

        return operation

    def settle(self, row: dict[str, Any], status: str, fault: Fault | None) -> Callable[[sa.Connection], bool]:
        """Store an attempt and what it makes of the call; False when the claim is no longer ours.

        Raises:
            StoreError: The call is not in the store at all any longer.
        """
        at, cost = now(), row["cost"]
        changes: dict[str, Any] = {"status": status, "tries": row["n"], "updated": at, "lease_until": at + LEASE_S}
        if status == "done":
            changes |= {"accepted": row["n"], "fault": None, "detail": None, "progress": None}
        elif fault is not None:
            changes |= {"fault": fault.kind, "detail": fault.detail[:DETAIL]}

        def operation(connection: sa.Connection) -> bool:
            if self.reservation is not None:
                self.reservation.settle(connection, self.key, self.token, cost)
            held = bool(connection.execute(OURS, {"key_": self.key, "token_": self.token, **changes}).rowcount)
            if held:
                self.store.insert_new(connection, attempts, row)
                if self.reservation is None and self.purse is not None and cost:
                    by = entry(self.key, row["n"], self.token, self.owner, at)
                    Reservation(self.purse, 0.0).charge(connection, self.store, by, cost)
            elif connection.scalar(THERE, {"key_": self.key}) is None:
                raise StoreError(changed(self.store.url, "replaced or emptied"))
            return held

        return operation

    def give_back(self) -> Callable[[sa.Connection], None]:
        """Nothing was sent: the call is free for whoever comes next, and so is the money."""

        def operation(connection: sa.Connection) -> None:
            if self.reservation is not None:
                self.reservation.release(connection, self.key, self.token)
            connection.execute(OURS, {"key_": self.key, "token_": self.token, "status": "open", "updated": now()})

        return operation

    def keep(self, progress: dict[str, Any]) -> Callable[[sa.Connection], Any]:
        """Write down how far an attempt has come."""
        changes = {"key_": self.key, "token_": self.token, "progress": progress, "updated": now()}
        return lambda connection: connection.execute(OURS, changes)


async def renew(store: Store, held: Mapping[str, str]) -> None:
    """Show other hosts that the claims of these tokens, by key, are alive, for as long as this runs."""
    while True:
        await asyncio.sleep(LEASE_S / 4)
        tokens = list(held.values())
        for start in range(0, len(tokens), 500):
            mine = calls.update().where(calls.c.token.in_(tokens[start : start + 500]))
            renewed = mine.values(lease_until=now() + LEASE_S)
            # A lease outlasts several beats: what hinders one must not end them all.
            with suppress(StoreError):
                await store.awrite(methodcaller("execute", renewed))


class NotAsked(Exception):
    """The journal has no outcome of the call: a run would make it."""


class StoredCalls(Calls):
    """For estimates: gives stored outcomes and makes no call."""

    async def do(
        self,
        request: Request,
        perform: Perform,
        *,
        bound: float | None = 0.0,
        tokens: int = 0,
        row: BatchRow | None = None,
    ) -> Outcome:
        """Return the stored outcome.

        Raises:
            NotAsked: There is none, or a run would try again.
            Fault: The call failed for good.
        """
        with self.store.reading() as connection:
            found = connection.execute(sa.select(calls).where(calls.c.key == request.key)).one_or_none()
            if found is None or found.status not in ("done", "failed"):
                raise NotAsked
            if found.status == "failed" and (self.retry_failed or found.fault in RETRIED_NEXT_RUN):
                raise NotAsked
            return self._known(request, settled(connection, found))
