"""The call journal: every paid or slow request is made here, once, and its outcome is stored."""

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
from ..core.faults import RETRIED_NEXT_RUN, TRANSIENT, Fault, unexpected_fault
from ..core.redaction import without_secrets
from ..core.settings import Provider
from ..store import Store
from ..store.schema import attempts, calls
from ..store.trouble import changed_message
from .budget import Budget, Reservation, wait_or_stop
from .claims import LEASE_S, Claim, Claimed, Retries, Settled, Short, Submitted, claim, entry, settled
from .keys import Owner, Request, idempotent, this_process
from .turns import FirstCalls, Limits, RateLimit, Unusable
from .usage import BUDGET, RETRY, Tally, Waits, current_account, doubt_of

TRIES = 5
"""The most attempts at one call in one run; only transient faults are retried."""


class Calls:
    """The call journal of a store: each call is made at most once, however many processes share the store.

    Use it as an async context manager: it then renews its claims, so that other hosts do not take them over.
    `concurrency` limits how many calls it makes at a time.
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
        self.since = store.now()
        self._room: AbstractAsyncContextManager[None] = (
            nullcontext() if concurrency is None else asyncio.Semaphore(concurrency)
        )
        self._limits = limits or {}
        self._rate_limits: dict[str, RateLimit] = {}
        self.owner = this_process()
        self._in_flight: dict[str, asyncio.Task[Outcome]] = {}
        self._held: dict[str, str] = {}
        self._tried: set[str] = set()
        self._reopened: set[str] = set()
        self._first_calls = FirstCalls()
        self._wait: Callable[[int], float] = back_off
        self._renewal: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Calls:
        await asyncio.to_thread(self.store.check_clock)
        self._renewal = asyncio.create_task(renew(self.store, self._held))
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._renewal is not None:
            self._renewal.cancel()

    async def do(
        self,
        request: Request,
        perform: Perform,
        *,
        bound: float | None = 0.0,
        tokens: int = 0,
        row: BatchRow | None = None,
        provider: Provider | None = None,
    ) -> Outcome:
        """Return the stored outcome if there is one; otherwise claim the call, make it and store its outcome.

        Args:
            request: The call to make.
            perform: The function that makes one attempt.
            bound: The most that one attempt can cost, in dollars; None if unknown.
            tokens: The approximate number of tokens, for services that limit them.
            row: How to put the call into a batch, if that is possible; see `limner.calls.batches`.
            provider: The service's settings, for the message if the first call shows that it cannot be used.

        Raises:
            Fault: The call failed, now or in an earlier run that is not to be retried.
            StopRun: The first call to this target showed that the service cannot be used.
        """
        task = self._in_flight.get(request.key)
        if task is None:
            task = asyncio.create_task(self._do(PlannedCall(request, perform, bound, tokens, row, provider)))
            self._in_flight[request.key] = task
            task.add_done_callback(lambda _: self._in_flight.pop(request.key, None))
        return await asyncio.shield(task)

    async def _do(self, planned: PlannedCall) -> Outcome:
        pause, purse, request = 0.05, self.budget.purse, planned.request
        reservation = Reservation(purse, planned.bound) if purse is not None and planned.bound else None
        while True:
            # Wait for a free slot before claiming, so that no call is claimed long before it is made.
            async with self._room:
                state = await self._claim(request, reservation)
                if isinstance(state, Settled):
                    return self._stored_outcome(request, state)
                if isinstance(state, Submitted):
                    raise Fault("interrupted", in_batch(state.batch), calls=(request.key,))
                if isinstance(state, Claimed):
                    self._held[request.key] = state.token
                    call = self._claimed(request, state.token, reservation)
                    try:
                        # The first call to a target goes out alone. If it cannot be used, nothing is stored.
                        async with self._first_calls.turn(request.target, request.key, planned.provider):
                            outcome = await self._attempts(planned, state, call)
                    except Unusable:
                        await asyncio.shield(self.store.awrite(call.give_back()))
                        raise
                    finally:
                        self._held.pop(request.key, None)
                    if outcome is not None:
                        return outcome
            if isinstance(state, Short) and reservation is not None:
                with self.waits.waiting(BUDGET):
                    await asyncio.to_thread(wait_or_stop, self.store, reservation, request.target)
            # Another process is making the call, or took it over from us: look for its outcome again soon.
            await asyncio.sleep(pause)
            pause = min(1.0, pause * 1.5)

    async def _claim(self, request: Request, reservation: Reservation | None) -> Claim:
        token, at = secrets.token_hex(16), self.store.now()
        claiming = claim(self.store, request, self.owner, token, at, self._retries, reservation=reservation)
        try:
            return await self.store.awrite(claiming)
        except asyncio.CancelledError:
            # The claim is committed all the same: give it back, because nobody will make the call.
            await asyncio.shield(self.store.awrite(self._claimed(request, token, reservation).give_back()))
            raise

    @property
    def _retries(self) -> Retries:
        return Retries(self.retry_failed, self.since, self._tried)

    def _claimed(self, request: Request, token: str, reservation: Reservation | None) -> ClaimedCall:
        return ClaimedCall(self.store, self.owner, request.key, token, reservation, self.budget.purse)

    def _stored_outcome(self, request: Request, settled: Settled) -> Outcome:
        if settled.fault is not None:
            raise Fault(settled.fault, settled.detail or "", calls=(request.key,))  # type: ignore[arg-type]
        self.tally.stored += 1
        return Outcome(request.key, settled.result or {}, settled.cost, stored=True)

    async def _attempts(self, planned: PlannedCall, held: Claimed, call: ClaimedCall) -> Outcome | None:
        """Make attempts until one settles the call; return None if the claim was lost meanwhile."""
        attempt, reservation = Attempt(call, held.progress), call.reservation
        request, bound = planned.request, planned.bound
        limit, began = self._rate_limit(request.target), time.monotonic()
        header = limit.limits.idempotency_header
        answered = await asyncio.to_thread(count_answered, self.store, request.key) if header and held.tries else 0
        for n in range(held.tries + 1, held.tries + self.tries + 1):
            reserved: float | None = None
            try:
                if n > held.tries + 1:
                    with self.waits.waiting(RETRY):
                        await asyncio.sleep(self._wait(n - held.tries - 1))
                    if reservation is not None and not await self._reserve(call, n, reservation, request.target):
                        return None
                # The rate limit comes last: a call that passes it is sent at once.
                with self.waits.waiting(BUDGET):
                    reserved = await self.budget.reserve(bound, request.target)
                with self.waits.waiting(request.target.partition("/")[0]):
                    await limit.enter(planned.tokens)
            except BaseException:
                # Nothing was sent: leave the call to the next process.
                if reserved is not None:
                    self.budget.settle(reserved, 0.0)
                await asyncio.shield(self.store.awrite(call.give_back()))
                raise
            started, clock = self.store.now(), time.perf_counter()
            cost: float | None = None
            try:
                # An attempt whose outcome is unknown is repeated under the same key; an answered one is not.
                with idempotent(header, f"{request.key}-{answered}"):
                    async with asyncio.timeout(limit.limits.attempt_s):
                        result = await planned.perform(attempt)
                self._first_calls.answer(request.target, request.key, None)
                doubt = result.doubt or doubt_of(result.cost)
                cost = bound if doubt else result.cost
            except (Fault, TimeoutError) as error:
                fault = error if isinstance(error, Fault) else too_slow(limit.limits.attempt_s)
                fault.doubt = fault.doubt or doubt_of(fault.cost)
                answered += fault.cost is not None
                cost = fault.cost = bound if fault.doubt else fault.cost
                self._first_calls.answer(request.target, request.key, fault)
                later = time.monotonic() + (fault.retry_after or 0.0)
                last = n == held.tries + self.tries or later - began > limit.limits.call_s
                again = fault.kind in TRANSIENT and not last and not self.budget.is_beyond(bound, cost, fault.doubt)
                if fault.retry_after is not None:
                    limit.hold(fault.retry_after)
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, fault)
                if not await self._settle(call, row, "claimed" if again else "failed", fault):
                    return None
                self.budget.check_cost(bound, cost, fault.doubt, request.target)
                if not again:
                    raise Fault(fault.kind, fault.detail, calls=(request.key,), cost=fault.cost) from fault
            except BaseException as error:
                # Cancelled or failed in flight: what the service charges is unknown.
                unexpected = isinstance(error, Exception) and not isinstance(error, LimnerError)
                broken = Fault("interrupted", repr(error), cost=None)
                if unexpected:
                    broken = unexpected_fault(error, (request.key,))  # type: ignore[arg-type]
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, broken)
                await asyncio.shield(self._settle(call, row, "failed", broken))
                if unexpected:
                    raise broken from error
                raise
            else:
                payload: dict[str, Any] = without_secrets(result.payload)
                outcome_columns = {"result": payload, "cost": cost, "doubt": doubt}
                row = attempt_row(request.key, n, started, time.perf_counter() - clock, None) | outcome_columns
                if not await self._settle(call, row, "done", None):
                    return None
                self.budget.check_cost(bound, cost, doubt, request.target)
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
        """Let a call whose stored outcome is unusable be made again, at most once per run."""
        if key in self._reopened:
            return
        self._reopened.add(key)
        done = calls.update().where(calls.c.key == key, calls.c.status == "done")
        await self.store.awrite(methodcaller("execute", done.values(status="open", updated=self.store.now())))

    async def _reserve(self, call: ClaimedCall, n: int, reservation: Reservation, target: str) -> bool:
        """Wait until a further attempt's bound fits the purse, and reserve it; return False if the claim was lost."""
        while (held := await self.store.awrite(call.reserve(n, reservation))) is None:
            with self.waits.waiting(BUDGET):
                await asyncio.to_thread(wait_or_stop, self.store, reservation, target)
                await asyncio.sleep(1.0)
        return held

    async def _settle(self, call: ClaimedCall, row: dict[str, Any], status: str, fault: Fault | None) -> bool:
        """Count an attempt and store it; see `ClaimedCall.settle`."""
        for tally in filter(None, (self.tally, current_account())):
            tally.count(row["cost"], row["doubt"] is not None)
        if status == "failed":
            self._tried.add(call.key)
        return await self.store.awrite(call.settle(row, status, fault))


def count_answered(store: Store, key: str) -> int:
    """Return how many attempts at a call the service is known to have answered."""
    answered = attempts.c.call == key, attempts.c.cost.is_not(None)
    with store.reading() as connection:
        return int(connection.execute(sa.select(sa.func.count()).where(*answered)).scalar_one())


def back_off(tries: int) -> float:
    """Return the seconds to wait after this many failed tries: longer each time, with random jitter."""
    return random.uniform(0.0, min(30.0, 0.5 * 2 ** (tries - 1)))


@dataclass(frozen=True)
class Result:
    """The result of one attempt: plain JSON with images by hash, and the cost in dollars, None if unknown.

    Attributes:
        doubt: Why the reported cost is not credible; the attempt then counts at its bound.
    """

    payload: dict[str, Any]
    cost: float | None = 0.0
    doubt: str | None = None


@dataclass(frozen=True)
class Outcome:
    """The accepted result of a call, made now or earlier."""

    key: str
    payload: dict[str, Any]
    cost: float | None
    stored: bool


class Attempt:
    """One attempt at a call, with the progress that an earlier, interrupted attempt saved."""

    def __init__(self, call: ClaimedCall, progress: dict[str, Any] | None) -> None:
        self._call, self.progress = call, progress

    async def save(self, progress: dict[str, Any]) -> None:
        """Save what a later attempt needs to continue after a crash, such as a service's job id."""
        self.progress = progress = without_secrets(progress)
        await self._call.store.awrite(self._call.save_progress(progress))


Perform = Callable[[Attempt], Awaitable[Result]]


@dataclass(frozen=True)
class PlannedCall:
    """A call to make; see `Calls.do`."""

    request: Request
    perform: Perform
    bound: float | None = 0.0
    tokens: int = 0
    row: BatchRow | None = None
    provider: Provider | None = None


def attempt_row(key: str, n: int, started: float, seconds: float, fault: Fault | None) -> dict[str, Any]:
    """Return the journal row of an attempt; for a successful one, the caller adds result, cost and doubt."""
    row = {"call": key, "n": n, "started": started, "seconds": seconds}
    if fault is None:
        return row | {"fault": None, "detail": None}
    fault_columns = {"cost": fault.cost, "result": without_secrets(fault.result), "doubt": fault.doubt}
    return row | {"fault": fault.kind, "detail": fault.detail[:MAX_DETAIL], **fault_columns}


def too_slow(seconds: float) -> Fault:
    """Return the fault of an attempt that exceeded its time limit."""
    return Fault("timeout", f"no result within {seconds:g} s", cost=None)


T = TypeVar("T")


class WaitsForBatch(LimnerError):
    """The signal that a call waits for a batch; the caller is run again once the batch has its replies."""


@dataclass(frozen=True)
class BatchLane:
    """The properties that all calls of one batch share.

    Attributes:
        service: The provider's name.
        endpoint: The endpoint's name at the service.
        model: The model's name at the service.
    """

    service: str
    endpoint: str
    model: str


@dataclass(frozen=True)
class BatchRow:
    """The functions that write one call into a batch and read its reply.

    Attributes:
        provider: The service's settings.
        line: Makes the request body for a batch, and the notes kept beside the call for reading its reply.
        read: Reads a reply with the help of those notes. Raises a `Fault` if the reply is unusable.
        fault: Turns the status and body of an error into a fault.
        bound: The most that the call can cost in a batch; None if unknown.
    """

    lane: BatchLane
    provider: Provider
    line: Callable[[], Awaitable[tuple[dict[str, Any], dict[str, Any]]]]
    read: Callable[[dict[str, Any], dict[str, Any]], Awaitable[Result]]
    fault: Callable[[int, dict[str, Any]], Fault]
    bound: float | None


@dataclass(frozen=True)
class BatchReply:
    """The reply to one call of a batch: an HTTP-like status and the body."""

    key: str
    status: int
    body: dict[str, Any]


async def in_turn(steps: Iterable[Callable[[], Awaitable[T]]]) -> list[T]:
    """Run the steps one after another; if one waits for a batch, the others still run.

    Raises:
        WaitsForBatch: A step waits for a batch.
    """
    results: list[T] = []
    waits: WaitsForBatch | None = None
    for step in steps:
        try:
            results.append(await step())
        except WaitsForBatch as queued:
            waits = queued
    if waits is not None:
        raise waits
    return results


def in_batch(batch: str) -> str:
    """Return the message for a call that is in a batch, for runs that do not use batches."""
    return f"this call is in batch {batch[:8]}: run with --batch to fetch its result, or see `limner batches`"


MAX_DETAIL = 2000
"""The most characters stored of a fault's detail."""
# Built once, because they are executed for every call.
OWN = calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_")
UPDATE_OWN = calls.update().where(*OWN)
SELECT_OWN = sa.select(calls.c.tries).where(*OWN)
SELECT_CALL = sa.select(calls.c.key).where(calls.c.key == sa.bindparam("key_"))


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """A call that this process has claimed with `limner.calls.claims.claim`.

    Its methods return operations to pass to `Store.write`.

    Attributes:
        token: Identifies this claim.
        reservation: The bound reserved for each attempt, if attempts can cost something.
        purse: The purse charged for an attempt that was expected to be free.
    """

    store: Store
    owner: Owner
    key: str
    token: str
    reservation: Reservation | None
    purse: str | None

    def reserve(self, n: int, reservation: Reservation) -> Callable[[sa.Connection], bool | None]:
        """Reserve the bound of a further attempt; None if it does not fit, False if the claim was lost."""

        def operation(connection: sa.Connection) -> bool | None:
            fits = reservation.take(connection)
            held = connection.execute(SELECT_OWN, {"key_": self.key, "token_": self.token}).first() is not None
            if fits and held:
                reservation.enter(connection, self.store, entry(self.key, n, self.token, self.owner, self.store.now()))
            elif fits:
                reservation.put_back(connection)
            return None if held and not fits else held

        return operation

    def settle(self, row: dict[str, Any], status: str, fault: Fault | None) -> Callable[[sa.Connection], bool]:
        """Store an attempt and update the call; return False if the claim was lost.

        Raises:
            StoreError: The call is no longer in the store.
        """
        at, cost = self.store.now(), row["cost"]
        changes: dict[str, Any] = {"status": status, "tries": row["n"], "updated": at, "lease_until": at + LEASE_S}
        if status == "done":
            changes |= {"accepted": row["n"], "fault": None, "detail": None, "progress": None}
        elif fault is not None:
            changes |= {"fault": fault.kind, "detail": fault.detail[:MAX_DETAIL]}

        def operation(connection: sa.Connection) -> bool:
            if self.reservation is not None:
                self.reservation.settle(connection, self.key, self.token, cost)
            held = bool(connection.execute(UPDATE_OWN, {"key_": self.key, "token_": self.token, **changes}).rowcount)
            if held:
                self.store.insert_new(connection, attempts, row)
                if self.reservation is None and self.purse is not None and cost:
                    by = entry(self.key, row["n"], self.token, self.owner, at)
                    Reservation(self.purse, 0.0).charge(connection, self.store, by, cost)
            elif connection.scalar(SELECT_CALL, {"key_": self.key}) is None:
                raise StoreError(changed_message(self.store.url, "replaced or emptied"))
            return held

        return operation

    def give_back(self) -> Callable[[sa.Connection], None]:
        """Release a call for which nothing was sent, together with its reserved money."""

        def operation(connection: sa.Connection) -> None:
            if self.reservation is not None:
                self.reservation.release(connection, self.key, self.token)
            changes = {"status": "open", "updated": self.store.now()}
            connection.execute(UPDATE_OWN, {"key_": self.key, "token_": self.token, **changes})

        return operation

    def save_progress(self, progress: dict[str, Any]) -> Callable[[sa.Connection], Any]:
        """Save the progress of an attempt."""
        changes = {"key_": self.key, "token_": self.token, "progress": progress, "updated": self.store.now()}
        return lambda connection: connection.execute(UPDATE_OWN, changes)


async def renew(store: Store, held: Mapping[str, str]) -> None:
    """Renew the leases of held claims (tokens by key) until cancelled."""
    while True:
        await asyncio.sleep(LEASE_S / 4)
        with suppress(StoreError):
            await asyncio.to_thread(store.set_clock)
        tokens = list(held.values())
        for start in range(0, len(tokens), 500):
            mine = calls.update().where(calls.c.token.in_(tokens[start : start + 500]))
            renewed = mine.values(lease_until=store.now() + LEASE_S)
            # A lease spans several renewals, so one failure must not end the loop.
            with suppress(StoreError):
                await store.awrite(methodcaller("execute", renewed))


class NotAsked(Exception):
    """The error for a call that has no stored outcome yet and that a run would make."""


class StoredCalls(Calls):
    """A journal for estimates that returns stored outcomes and makes no calls."""

    async def _do(self, planned: PlannedCall) -> Outcome:
        """Return the stored outcome.

        Raises:
            NotAsked: There is none, or a run would retry the failed call.
            Fault: The call failed for good.
        """
        with self.store.reading() as connection:
            stored = connection.execute(sa.select(calls).where(calls.c.key == planned.request.key)).one_or_none()
            if stored is None or stored.status not in ("done", "failed"):
                raise NotAsked
            if stored.status == "failed" and (self.retry_failed or stored.fault in RETRIED_NEXT_RUN):
                raise NotAsked
            return self._stored_outcome(planned.request, settled(connection, stored))
