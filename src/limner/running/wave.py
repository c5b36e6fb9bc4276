"""One wave of batches: queued calls are submitted, and batches are polled and settled, whichever process started them.

The store knows a batch's tag before it is submitted, and its id at the service afterwards. A process that dies in
between leaves the batch in doubt. It is then looked up by its tag; if the service's list does not have it after a
while, it was not accepted. Its file is deleted first, so that a request still on its way cannot create the batch.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any, TypeVar

from ..calls import TRANSIENT, BudgetReached, Fault
from ..calls import batches as stored
from ..calls.batch_services import REFUSED, BatchService, RemoteBatch, most_result_bytes, open_batches
from ..calls.batches import DOUBTED, RUNNING, UNSENT, BatchCalls, BatchState, QueuedCall, RowEnd
from ..calls.budget import Reservation, wait_or_stop
from ..calls.claims import Claimed, Short
from ..calls.journal import TRIES, BatchLane, BatchReply, BatchRow, back_off
from ..calls.usage import doubt_of
from ..core.errors import StopRun, StoreError
from ..core.faults import unexpected_fault
from ..core.redaction import without_secrets

SLOWEST = 12.0
"""The longest pause between two polls, as a multiple of the first."""
LOOK_S = 600.0
"""Seconds that a look at one batch may take, with its results, even if the run is to wait for less."""


AT_ONCE = 32
"""The number of calls claimed in one transaction."""
T = TypeVar("T")


class BatchDraft:
    """The lines of one batch while they are collected."""

    def __init__(self, tag: str, lane: BatchLane) -> None:
        self.tag, self.lane = tag, lane
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.keys: list[str] = []
        self.planned = self.planned_size = self.size = 0
        self.bound: float | None = 0.0

    def has_room(self, calls: int, most: int, size: int) -> bool:
        """Return whether one more line of this size fits."""
        return self.planned < calls and self.planned_size + size <= most

    def add(self, key: str, line: bytes, bound: float | None) -> None:
        """Write a call's line."""
        self.file.write(line)
        self.keys.append(key)
        self.size += len(line)
        self.bound = None if self.bound is None or bound is None else self.bound + bound


class Wave:
    """One wave of batches; `stopping` says whether nothing new may be started."""

    def __init__(self, calls: BatchCalls, stopping: Callable[[], bool]) -> None:
        self.calls, self.store, self._stopping = calls, calls.store, stopping
        self._services: dict[str, BatchService] = {}
        self._own: set[str] = set()
        self._untaken = 0

    async def settle(self, until: float | None = None) -> bool:
        """Submit the queued calls and wait for all batches until the deadline; False if some still wait.

        Raises:
            BudgetReached: None of it fits into the budget, and no call in flight can free any.
            StopRun: The service permanently refuses batches.
        """
        short = await self._submit_all()
        if not self.calls.batches:
            if short:
                await self._stop_short(short[0])
            if self.calls.busy:
                await self._pause(1.0)
            return not self._stopping()
        return await self._wait(until)

    async def _wait(self, until: float | None) -> bool:
        """Poll all batches until none is left; return False on giving up."""
        n = 0
        while self.calls.batches:
            self.calls.waits.count("batches", len(self.calls.waiting))
            batches = await asyncio.to_thread(stored.read_batches, self.store, set(self.calls.batches))
            if lost := self.calls.batches - {batch.id for batch in batches}:
                raise StoreError(
                    f"calls of the store {self.store.url} are in batch {min(lost)}, which the store does not have"
                )
            for batch in batches:
                if self._stopping():
                    return False
                left = None if until is None else max(LOOK_S, until - time.monotonic())
                try:
                    async with asyncio.timeout(left):
                        await self._look_after(batch)
                except TimeoutError:
                    return False
            if not self.calls.batches:
                break
            first = min(self._service(batch.service).facts.poll_s for batch in batches)
            pause = first * min(SLOWEST, 1.5**n)
            n += 1
            if until is not None:
                pause = min(pause, until - time.monotonic())
            if pause <= 0:
                return False
            await self._pause(pause)
            if self._stopping():
                return False
        self.calls.waits.count("batches", 0)
        return not self._stopping()

    async def _look_after(self, batch: BatchState) -> None:
        if batch.status == UNSENT and (batch.orphaned or batch.id in self._own):
            await self._release(batch.id, "its process ended before anything was sent", UNSENT)
        elif batch.status == DOUBTED and (batch.orphaned or batch.id in self._own):
            await self._look_up(batch)
        elif batch.status == RUNNING:
            await self._fetch(batch)
        elif batch.status not in stored.OPEN:
            # Another process has settled it.
            self.calls.batches.discard(batch.id)
            self.calls.released(self.calls.waiting_in(batch.id))

    async def _look_up(self, batch: BatchState) -> None:
        """Find out whether the service has a batch that is in doubt."""
        service = self._service(batch.service)
        try:
            remote = await service.find(batch.id, batch.created, batch.calls)
            if remote is None and self.store.now() >= batch.updated + service.facts.doubt_s:
                if batch.file is not None:
                    await self._forget(service, batch.file)
                    remote = await service.find(batch.id, batch.created, batch.calls)
                if remote is None:
                    await self._not_taken(batch)
                    return
        except Fault as fault:
            if fault.kind in ("auth", "credits"):
                raise self._stopped(batch.service, fault) from fault
            # It cannot be looked up now, perhaps never; after its time window it can no longer run.
            if self.store.now() > batch.created + service.facts.window_s:
                await self._release(batch.id, f"in doubt until it expired: {fault.detail}", DOUBTED)
            return
        if remote is not None:
            await self._change(batch.id, (DOUBTED,), status=RUNNING, remote=remote)

    async def _not_taken(self, batch: BatchState) -> None:
        await self._release(batch.id, "the service does not have it", DOUBTED)
        self._untaken += 1
        if self._untaken >= TRIES:
            raise StopRun(
                f"{batch.service} accepted none of {TRIES} batches; nothing was spent on them; try again later"
            )

    async def _fetch(self, batch: BatchState) -> None:
        """Settle a batch that has ended."""
        service = self._service(batch.service)
        try:
            remote = await service.look(str(batch.remote))
            if not remote.ended:
                return
            whole = await settle_results(self.calls, service, batch, remote)
        except Fault as fault:
            if fault.kind in TRANSIENT:
                return
            raise self._stopped(batch.service, fault, f"batch {batch.id[:8]} ({batch.remote})") from fault
        self.calls.batches.discard(batch.id)
        self.calls.released(self.calls.waiting_in(batch.id))
        if whole and batch.file is not None:
            with suppress(Fault):
                await service.forget(batch.file)
        self.calls.check_costs()

    async def _forget(self, service: BatchService, file: str) -> None:
        try:
            await service.forget(file)
        except Fault as fault:
            if fault.kind not in ("bad_request", "setup"):  # Gone already.
                raise

    async def _stop_short(self, call: QueuedCall) -> None:
        """Raise an error because nothing fits into the budget."""
        target, purse, bound = call.request.target, self.calls.budget.purse, call.row.bound
        if purse is not None and bound:
            await asyncio.to_thread(wait_or_stop, self.store, Reservation(purse, bound), target)
            await self._pause(1.0)
            return
        self.calls.budget.settle(await self.calls.budget.reserve(bound, target), 0.0)
        raise BudgetReached(f"the budget has no room for a call to {target}")

    async def _submit_all(self) -> list[QueuedCall]:
        """Submit everything; return the calls that the budget has no room for now."""
        queue, self.calls.queued = self.calls.queued, {}
        lanes: dict[BatchLane, list[QueuedCall]] = {}
        for call in queue.values():
            lanes.setdefault(call.row.lane, []).append(call)
        short: list[QueuedCall] = []
        for lane, calls in lanes.items():
            if not self._stopping():
                short += await self._lane(lane, calls)
        return short

    async def _lane(self, lane: BatchLane, calls: list[QueuedCall]) -> list[QueuedCall]:
        """Submit the calls of one lane, in as many batches as needed."""
        facts = self._service(lane.service).facts
        parcel: BatchDraft | None = None
        short: list[QueuedCall] = []
        for start in range(0, len(calls), AT_ONCE):
            if self._stopping():
                break
            written = await asyncio.gather(*(self._line(call) for call in calls[start : start + AT_ONCE]))
            chosen: list[tuple[QueuedCall, bytes, dict[str, Any]]] = []
            for call, line, kept in filter(None, written):
                if len(line) > facts.bytes:
                    wrong = (
                        f"the request has {len(line):,} bytes; a batch of {lane.service} takes at most {facts.bytes:,}"
                    )
                    await self.calls.fail(call, Fault("bad_request", wrong))
                    continue
                if parcel is not None and not parcel.has_room(facts.calls, facts.bytes, len(line)):
                    short += await self._take(parcel, chosen)
                    chosen = []
                    await self._submit(parcel)
                    parcel = None
                if parcel is None:
                    parcel = await self._begin(lane)
                parcel.planned, parcel.planned_size = parcel.planned + 1, parcel.planned_size + len(line)
                chosen.append((call, line, kept))
            if parcel is not None:
                short += await self._take(parcel, chosen)
        if parcel is not None:
            await self._submit(parcel)
        return short

    async def _line(self, call: QueuedCall) -> tuple[QueuedCall, bytes, dict[str, Any]] | None:
        """Return a call as it is submitted, and the notes kept with it; None if it failed already."""
        try:
            body, kept = await call.row.line()
        except Fault as fault:
            await self.calls.fail(call, fault)
            return None
        return call, self._service(call.row.lane.service).line(call.key, call.row.lane, body), kept

    async def _begin(self, lane: BatchLane) -> BatchDraft:
        parcel = BatchDraft(secrets.token_hex(16), lane)
        self._own.add(parcel.tag)
        await asyncio.to_thread(stored.begin, self.store, parcel.tag, lane, self.calls.owner)
        return parcel

    async def _take(
        self, parcel: BatchDraft, chosen: list[tuple[QueuedCall, bytes, dict[str, Any]]]
    ) -> list[QueuedCall]:
        """Claim calls for the draft; return those that the budget has no room for now."""
        taken = await asyncio.gather(*(self.calls.take(call, parcel.tag, kept) for call, _, kept in chosen))
        for (call, line, _), claimed_call in zip(chosen, taken, strict=True):
            if isinstance(claimed_call, Claimed):
                parcel.add(call.key, line, call.row.bound)
        return [
            call for (call, _, _), claimed_call in zip(chosen, taken, strict=True) if isinstance(claimed_call, Short)
        ]

    async def _submit(self, parcel: BatchDraft) -> None:
        """Submit one batch."""
        service, tag = self._service(parcel.lane.service), parcel.tag
        with parcel.file:
            if not parcel.keys or self._stopping():
                await self._release(tag, "nothing was sent", UNSENT)
                return
            try:
                file = await self._patiently(lambda: service.upload(tag, parcel.file, parcel.size))
            except Fault as fault:
                await self._release(tag, f"its file was not accepted: {fault.detail}", UNSENT)
                raise self._stopped(parcel.lane.service, fault) from fault
            count = {"calls": len(parcel.keys), "bound": parcel.bound}
            # From here on it may have been submitted: a process that finds it in this state looks it up.
            if not await self._change(tag, (UNSENT,), status=DOUBTED, file=file, **count):
                self.calls.released(parcel.keys)
                return
            try:
                remote = await self._create(service, parcel, file)
            except Fault as fault:
                if fault.kind in REFUSED:
                    await self._release(tag, f"it was not accepted: {fault.detail}", DOUBTED)
                    raise self._stopped(parcel.lane.service, fault) from fault
                return  # It may have been accepted: it is looked up while the others are polled.
            if remote is None:
                await self._release(tag, "it was not taken", DOUBTED)
                self.calls.released(parcel.keys)
                return
            await self._change(tag, (DOUBTED,), status=RUNNING, remote=remote)

    async def _create(self, service: BatchService, parcel: BatchDraft, file: str | None) -> str | None:
        """Return its id at the service; None if it may no longer be submitted and was not accepted before."""
        for n in range(1, TRIES + 1):
            try:
                return await service.create(parcel.tag, parcel.lane, file, parcel.file)
            except Fault as fault:
                if fault.kind != "rate_limit" or n == TRIES:
                    raise
                await self._pause(fault.retry_after or back_off(n))
                # After a long wait another process may have taken over its calls.
                if self._stopping() or not await self._change(parcel.tag, (DOUBTED,)):
                    return None
        raise AssertionError("the last try either returns or raises")

    async def _patiently(self, make: Callable[[], Awaitable[T]]) -> T:
        """Return the result of free work, retried after transient faults."""
        for n in range(1, TRIES + 1):
            try:
                return await make()
            except Fault as fault:
                if fault.kind not in TRANSIENT or n == TRIES:
                    raise
                await asyncio.sleep(fault.retry_after or back_off(n))
        raise AssertionError("the last try either returns or raises")

    def _service(self, name: str) -> BatchService:
        """Return the batches of a provider."""
        if name not in self._services:
            self._services[name] = open_batches(name, self.calls.providers[name])
        return self._services[name]

    async def _release(self, tag: str, why: str, was: str) -> None:
        """Free the calls of a batch that the service did not accept; see `limner.calls.batches.release`."""
        if await asyncio.to_thread(stored.release, self.store, tag, why, was):
            self.calls.released(self.calls.waiting_in(tag))
            self.calls.batches.discard(tag)

    async def _change(self, tag: str, was: tuple[str, ...], **changes: Any) -> bool:
        """Change a batch's row; see `limner.calls.batches.change`."""
        return await asyncio.to_thread(stored.change, self.store, tag, was, **changes)

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the run is stopping."""
        over = time.monotonic() + seconds
        while (left := over - time.monotonic()) > 0 and not self._stopping():
            await asyncio.sleep(min(0.1, left))

    def _stopped(self, service: str, fault: Fault, what: str = "the batch") -> StopRun:
        """Return the error that stops the run when a service fails."""
        problem = f"{service}, {what}: {fault.detail} ({fault.kind})"
        return StopRun(f"{problem}. Stopped. Fix this, then run the same command again.")


SETTLED_AT_ONCE = 16
"""The number of replies read at a time; each may hold an image."""
CANCELLED = 499
"""The status of a call that was not made because its batch was cancelled."""


async def settle_results(calls: BatchCalls, service: BatchService, batch: BatchState, remote: RemoteBatch) -> bool:
    """Store every result, and the ends of calls without one.

    Results of calls that this run does not ask for are left for the run that does.

    Returns:
        Whether nothing of the batch is left.

    Raises:
        Fault: The results cannot be fetched now; what was stored stays.
    """
    rows = await asyncio.to_thread(stored.waiting_calls, calls.store, batch.id)
    seen: set[str] = set()
    replies: list[BatchReply] = []

    async def flush() -> None:
        ends = await asyncio.gather(*(_ended(calls, reply, rows[reply.key].progress) for reply in replies))
        replies.clear()
        await asyncio.shield(_store(calls, batch.id, list(ends)))

    if remote.fault is None:
        async for reply in service.replies(remote, most_result_bytes(batch.lane, batch.calls)):
            if reply.key not in rows or reply.key in seen:
                continue
            seen.add(reply.key)
            if reply.key in calls.waiting:
                replies.append(reply)
            if len(replies) >= SETTLED_AT_ONCE:
                await flush()
        await flush()
    missing = [key for key in rows if key not in seen]
    for start in range(0, len(missing), 500):
        ends = [_unanswered(calls, key, remote) for key in missing[start : start + 500]]
        await _store(calls, batch.id, ends)
    detail = None if remote.fault is None else remote.fault.detail
    return await asyncio.to_thread(stored.finish, calls.store, batch.id, remote.status, detail)


async def _store(calls: BatchCalls, batch: str, ends: list[RowEnd]) -> None:
    if ends:
        new = await asyncio.to_thread(stored.settle, calls.store, batch, ends, calls.budget.purse, calls.owner)
        calls.ended(ends, new)


async def _ended(calls: BatchCalls, reply: BatchReply, kept: dict[str, Any] | None) -> RowEnd:
    """Return the end of one call by its reply."""
    row: BatchRow = calls.waiting[reply.key]
    try:
        if reply.status == CANCELLED:
            raise Fault("interrupted", "the batch was cancelled before this call was made")
        if reply.status >= 400:
            raise row.fault(reply.status, reply.body)
        result = await row.read(reply.body, kept or {})
    except Fault as fault:
        return _failed(calls, reply.key, fault, row.bound)
    except Exception as error:
        return _failed(calls, reply.key, unexpected_fault(error, (reply.key,)), row.bound)
    doubt = result.doubt or doubt_of(result.cost)
    return RowEnd(reply.key, "done", without_secrets(result.payload), row.bound if doubt else result.cost, doubt)


def _unanswered(calls: BatchCalls, key: str, remote: RemoteBatch) -> RowEnd:
    """Return the end of a call without a result; it counts as paid only if the service may have made it."""
    if remote.fault is not None:
        fault = Fault(remote.fault.kind, remote.fault.detail)
    elif remote.status == "cancelled":
        fault = Fault("interrupted", "the batch was cancelled before this call was made")
    elif remote.status == "expired":
        fault = Fault("timeout", "the batch expired before this call was made")
    else:
        fault = Fault("server", f"batch {remote.id} ended without a reply to this call", cost=None)
    return _failed(calls, key, fault, None)


def _failed(calls: BatchCalls, key: str, fault: Fault, bound: float | None) -> RowEnd:
    doubt = fault.doubt or doubt_of(fault.cost)
    # After a transient fault the call goes into the next batch.
    again = fault.kind in TRANSIENT and not calls.is_last_try(key)
    return RowEnd(key, "open" if again else "failed", None, bound if doubt else fault.cost, doubt, fault)
