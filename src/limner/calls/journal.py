"""The call journal: every paid or slow thing happens here, once, and is remembered."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from operator import methodcaller
from typing import Any

from ..core.errors import LimnerError
from ..core.faults import PASSING, Fault, unexpected
from ..core.redaction import without_secrets
from ..store import Store, now
from ..store.schema import calls
from .attempts import TRIES, Attempt, Outcome, Perform, attempt_row, back_off, too_slow
from .budget import Budget
from .claimed import ClaimedCall, renew
from .claims import Claim, Claimed, Settled, Short, Submitted, claim, this_process
from .keys import Request
from .purse import wait_or_stop
from .queued import BatchRow, in_batch
from .rate_limit import Limits, RateLimit
from .reservations import Reservation
from .tally import BUDGET, RETRY, Tally, Waits, current_account
from .usage import doubt_of


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
