"""One wave of batches: what is queued is handed in, asked after, and settled, whichever process began it.

Before a batch is handed in, the store knows its tag, and afterwards its number at the service. A process that dies in
between leaves a batch in doubt: it is looked up by its tag; one that the service's list does not have, though it must
by now, was not taken. Its file is taken away first, so that nothing can come of a request that is still on its way.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import IO, Any, TypeVar

from ..calls import PASSING, BudgetReached, Fault
from ..calls import batches as stored
from ..calls.batch_services import REFUSED, BatchService, RemoteBatch, open_batches
from ..calls.batches import DOUBTED, RUNNING, UNSENT, BatchCalls, BatchState, QueuedCall, RowEnd
from ..calls.budget import Reservation
from ..calls.claims import Claimed, Short
from ..calls.journal import TRIES, BatchLane, BatchReply, BatchRow, back_off
from ..calls.purse import wait_or_stop
from ..calls.usage import doubt_of
from ..core.errors import StopRun, StoreError
from ..core.faults import unexpected
from ..core.redaction import without_secrets
from ..store import now

SLOWEST = 12.0
"""A batch is never asked after less often than after so many times its first wait."""


class Wave:
    """See the module. `stopping` says whether nothing new is to be begun."""

    def __init__(self, calls: BatchCalls, stopping: Callable[[], bool]) -> None:
        self.calls, self.store = calls, calls.store
        self._desk = WaveDesk(calls, stopping)
        self._hand_in = HandIn(self._desk)
        self._untaken = 0

    async def settle(self, until: float | None = None) -> bool:
        """Hand in what is queued and wait for all of it, until then at most; False where something still waits.

        Raises:
            BudgetReached: Nothing of it fits into the budget, and nothing is on its way that could free some.
            StopRun: The service takes no batches, for a reason that does not pass.
        """
        short = await self._hand_in.everything()
        if not self.calls.batches:
            if short:
                await self._stop_short(short[0])
            if self.calls.busy:
                await self._desk.pause(1.0)
            return not self._desk.stopping()
        return await self._wait(until)

    async def _wait(self, until: float | None) -> bool:
        """Ask after all batches until none is left; False where that was given up."""
        n = 0
        while self.calls.batches:
            self.calls.waits.count("batches", len(self.calls.waiting))
            found = await asyncio.to_thread(stored.read_batches, self.store, set(self.calls.batches))
            if lost := self.calls.batches - {batch.id for batch in found}:
                raise StoreError(
                    f"calls of the store {self.store.url} stand in batch {min(lost)}, which it does not have"
                )
            for batch in found:
                if self._desk.stopping():
                    return False
                await self._look_after(batch)
            if not self.calls.batches:
                break
            first = min(self._desk.service(batch.service).facts.poll_s for batch in found)
            pause = first * min(SLOWEST, 1.5**n)
            n += 1
            if until is not None:
                pause = min(pause, until - time.monotonic())
            if pause <= 0:
                return False
            await self._desk.pause(pause)
            if self._desk.stopping():
                return False
        self.calls.waits.count("batches", 0)
        return not self._desk.stopping()

    async def _look_after(self, batch: BatchState) -> None:
        if batch.status == UNSENT and (batch.orphaned or batch.id in self._desk.mine):
            await self._desk.release(batch.id, "its process ended before anything was sent", UNSENT)
        elif batch.status == DOUBTED and (batch.orphaned or batch.id in self._desk.mine):
            await self._look_up(batch)
        elif batch.status == RUNNING:
            await self._fetch(batch)
        elif batch.status not in stored.OPEN:
            # Another process has settled it.
            self.calls.batches.discard(batch.id)
            self.calls.released(self.calls.waiting_in(batch.id))

    async def _look_up(self, batch: BatchState) -> None:
        """Find out whether the service has a batch that is in doubt."""
        service = self._desk.service(batch.service)
        try:
            remote = await service.find(batch.id, batch.created)
            if remote is None and now() >= batch.updated + service.facts.doubt_s:
                if batch.file is not None:
                    await self._forget(service, batch.file)
                    remote = await service.find(batch.id, batch.created)
                if remote is None:
                    await self._not_taken(batch)
                    return
        except Fault as fault:
            if fault.kind in ("auth", "credits"):
                raise self._desk.stopped(batch.service, fault) from fault
            # It cannot be looked up now, perhaps never: past its time nothing comes of it.
            if now() > batch.created + service.facts.window_s:
                await self._desk.release(batch.id, f"in doubt until it expired: {fault.detail}", DOUBTED)
            return
        if remote is not None:
            await self._desk.change(batch.id, (DOUBTED,), status=RUNNING, remote=remote)

    async def _not_taken(self, batch: BatchState) -> None:
        await self._desk.release(batch.id, "the service does not have it", DOUBTED)
        self._untaken += 1
        if self._untaken >= TRIES:
            raise StopRun(f"{batch.service} has taken none of {TRIES} batches; nothing was spent on them, try later")

    async def _fetch(self, batch: BatchState) -> None:
        """Settle a batch that has ended."""
        service = self._desk.service(batch.service)
        try:
            remote = await service.look(str(batch.remote))
            if not remote.ended:
                return
            whole = await settle_results(self.calls, service, batch, remote)
        except Fault as fault:
            if fault.kind in PASSING:
                return
            raise self._desk.stopped(batch.service, fault, f"batch {batch.id[:8]} ({batch.remote})") from fault
        self.calls.batches.discard(batch.id)
        self.calls.released(self.calls.waiting_in(batch.id))
        if whole and batch.file is not None:
            with suppress(Fault):
                await service.forget(batch.file)

    async def _forget(self, service: BatchService, file: str) -> None:
        try:
            await service.forget(file)
        except Fault as fault:
            if fault.kind not in ("bad_request", "setup"):  # Gone already.
                raise

    async def _stop_short(self, call: QueuedCall) -> None:
        """Nothing fits: say so."""
        target, purse, bound = call.request.target, self.calls.budget.purse, call.row.bound
        if purse is not None and bound:
            await asyncio.to_thread(wait_or_stop, self.store, Reservation(purse, bound), target)
            await self._desk.pause(1.0)
            return
        self.calls.budget.settle(await self.calls.budget.reserve(bound, target), 0.0)
        raise BudgetReached(f"the budget has no room for a call to {target}")


class WaveDesk:
    """See the module. `stopping` says whether nothing new is to be begun; `mine` are the batches begun here."""

    def __init__(self, calls: BatchCalls, stopping: Callable[[], bool]) -> None:
        self.calls, self.store, self.stopping = calls, calls.store, stopping
        self.mine: set[str] = set()
        self._services: dict[str, BatchService] = {}

    def service(self, name: str) -> BatchService:
        """Return the batches of a provider."""
        if name not in self._services:
            self._services[name] = open_batches(name, self.calls.providers[name])
        return self._services[name]

    async def release(self, tag: str, why: str, was: str) -> None:
        """Set the calls of a batch free that the service has not taken; see `limner.calls.batches.release`."""
        if await asyncio.to_thread(stored.release, self.store, tag, why, was):
            self.calls.released(self.calls.waiting_in(tag))
            self.calls.batches.discard(tag)

    async def change(self, tag: str, was: tuple[str, ...], **changes: Any) -> bool:
        """See `limner.calls.batches.change`."""
        return await asyncio.to_thread(stored.change, self.store, tag, was, **changes)

    async def pause(self, seconds: float) -> None:
        """Wait, unless nothing is to be waited for any longer."""
        over = time.monotonic() + seconds
        while (left := over - time.monotonic()) > 0 and not self.stopping():
            await asyncio.sleep(min(0.1, left))

    def stopped(self, service: str, fault: Fault, what: str = "the batch") -> StopRun:
        """Return what ends a run when a service does not go along."""
        told = f"{service}, {what}: {fault.detail} ({fault.kind})"
        return StopRun(f"{told}; the run stops here, and the same command goes on once this is mended")


AT_ONCE = 32
"""So many calls are written down at a time."""
T = TypeVar("T")


class Parcel:
    """The lines of one batch while they are gathered."""

    def __init__(self, tag: str, lane: BatchLane) -> None:
        self.tag, self.lane = tag, lane
        self.file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.keys: list[str] = []
        self.planned = self.size = 0
        self.planned_size = 0
        self.bound: float | None = 0.0

    def has_room(self, calls: int, most: int, size: int) -> bool:
        """Whether one more line of this size fits."""
        return self.planned < calls and self.planned_size + size <= most

    def add(self, key: str, line: bytes, bound: float | None) -> None:
        """Write a call's line."""
        self.file.write(line)
        self.keys.append(key)
        self.size += len(line)
        self.bound = None if self.bound is None or bound is None else self.bound + bound


class HandIn:
    """See the module."""

    def __init__(self, desk: WaveDesk) -> None:
        self._desk, self.calls, self.store = desk, desk.calls, desk.store

    async def everything(self) -> list[QueuedCall]:
        """Hand everything in; gives what the money does not reach for now."""
        queue, self.calls.queued = self.calls.queued, {}
        lanes: dict[BatchLane, list[QueuedCall]] = {}
        for call in queue.values():
            lanes.setdefault(call.row.lane, []).append(call)
        short: list[QueuedCall] = []
        for lane, calls in lanes.items():
            if not self._desk.stopping():
                short += await self._lane(lane, calls)
        return short

    async def _lane(self, lane: BatchLane, calls: list[QueuedCall]) -> list[QueuedCall]:
        """Hand in the calls of one lane, in as many batches as it takes."""
        facts = self._desk.service(lane.service).facts
        parcel: Parcel | None = None
        short: list[QueuedCall] = []
        for start in range(0, len(calls), AT_ONCE):
            if self._desk.stopping():
                break
            written = await asyncio.gather(*(self._line(call) for call in calls[start : start + AT_ONCE]))
            chosen: list[tuple[QueuedCall, bytes, dict[str, Any]]] = []
            for call, line, kept in filter(None, written):
                if len(line) > facts.bytes:
                    wrong = f"the request has {len(line):,} bytes; a batch of {lane.service} takes {facts.bytes:,}"
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
        """Return a call as it is handed in, and what is kept beside it; None where that is its fault already."""
        try:
            body, kept = await call.row.line()
        except Fault as fault:
            await self.calls.fail(call, fault)
            return None
        return call, self._desk.service(call.row.lane.service).line(call.key, call.row.lane, body), kept

    async def _begin(self, lane: BatchLane) -> Parcel:
        parcel = Parcel(secrets.token_hex(16), lane)
        self._desk.mine.add(parcel.tag)
        await asyncio.to_thread(stored.begin, self.store, parcel.tag, lane, self.calls.owner)
        return parcel

    async def _take(self, parcel: Parcel, chosen: list[tuple[QueuedCall, bytes, dict[str, Any]]]) -> list[QueuedCall]:
        """Make calls the parcel's; gives those for which there is no money now."""
        taken = await asyncio.gather(*(self.calls.take(call, parcel.tag, kept) for call, _, kept in chosen))
        for (call, line, _), found in zip(chosen, taken, strict=True):
            if isinstance(found, Claimed):
                parcel.add(call.key, line, call.row.bound)
        return [call for (call, _, _), found in zip(chosen, taken, strict=True) if isinstance(found, Short)]

    async def _submit(self, parcel: Parcel) -> None:
        """Hand one batch in."""
        service, tag = self._desk.service(parcel.lane.service), parcel.tag
        with parcel.file:
            if not parcel.keys or self._desk.stopping():
                await self._desk.release(tag, "nothing was sent", UNSENT)
                return
            try:
                file = await self._patiently(lambda: service.upload(tag, parcel.file, parcel.size))
            except Fault as fault:
                await self._desk.release(tag, f"its file was not taken: {fault.detail}", UNSENT)
                raise self._desk.stopped(parcel.lane.service, fault) from fault
            count = {"calls": len(parcel.keys), "bound": parcel.bound}
            # From here on it may be handed in: a process that finds it so looks it up.
            if not await self._desk.change(tag, (UNSENT,), status=DOUBTED, file=file, **count):
                self.calls.released(parcel.keys)
                return
            try:
                remote = await self._create(service, parcel, file)
            except Fault as fault:
                if fault.kind in REFUSED:
                    await self._desk.release(tag, f"it was not taken: {fault.detail}", DOUBTED)
                    raise self._desk.stopped(parcel.lane.service, fault) from fault
                return  # Nobody knows: it is looked up while the others are waited for.
            if remote is None:
                await self._desk.release(tag, "it was not taken", DOUBTED)
                self.calls.released(parcel.keys)
                return
            await self._desk.change(tag, (DOUBTED,), status=RUNNING, remote=remote)

    async def _create(self, service: BatchService, parcel: Parcel, file: str | None) -> str | None:
        """Return what the service calls it; None where it is not to be handed in any more, and was not taken before."""
        for n in range(1, TRIES + 1):
            try:
                return await service.create(parcel.tag, parcel.lane, file, parcel.file)
            except Fault as fault:
                if fault.kind != "rate_limit" or n == TRIES:
                    raise
                await self._desk.pause(fault.retry_after or back_off(n))
                # Who waits for long may have been given up: its calls are another's then.
                if self._desk.stopping() or not await self._desk.change(parcel.tag, (DOUBTED,)):
                    return None
        raise AssertionError("the last try either returns or raises")

    async def _patiently(self, make: Callable[[], Awaitable[T]]) -> T:
        """Return what is made, tried again after what passes; only for what costs nothing."""
        for n in range(1, TRIES + 1):
            try:
                return await make()
            except Fault as fault:
                if fault.kind not in PASSING or n == TRIES:
                    raise
                await asyncio.sleep(fault.retry_after or back_off(n))
        raise AssertionError("the last try either returns or raises")


SETTLED_AT_ONCE = 16
"""So many replies are read at a time; each may hold an image."""
CANCELLED = 499
"""The status of a call that was not made because its batch was cancelled."""


async def settle_results(calls: BatchCalls, service: BatchService, batch: BatchState, remote: RemoteBatch) -> bool:
    """Store every result there is, and what became of the calls without one.

    Results of calls that this run does not ask for stay where they are, for the run that does.

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
        await _store(calls, batch.id, list(ends))

    if remote.fault is None:
        async for reply in service.replies(remote):
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
    """Return what one call came to, by its reply."""
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
        return _failed(calls, reply.key, unexpected(error, (reply.key,)), row.bound)
    doubt = result.doubt or doubt_of(result.cost)
    return RowEnd(reply.key, "done", without_secrets(result.payload), row.bound if doubt else result.cost, doubt)


def _unanswered(calls: BatchCalls, key: str, remote: RemoteBatch) -> RowEnd:
    """What a call came to that has no result: only one that the service may have made can have cost something."""
    if remote.fault is not None:
        whole = remote.fault
        return _failed(calls, key, Fault(whole.kind, whole.detail), None)
    if remote.status == "cancelled":
        return _failed(calls, key, Fault("interrupted", "the batch was cancelled before this call was made"), None)
    if remote.status == "expired":
        return _failed(calls, key, Fault("timeout", "the batch expired before this call was made"), None)
    return _failed(calls, key, Fault("server", f"batch {remote.id} ended without a word on this call", cost=None), None)


def _failed(calls: BatchCalls, key: str, fault: Fault, bound: float | None) -> RowEnd:
    doubt = fault.doubt or doubt_of(fault.cost)
    # What passes is asked again with the next batch.
    again = fault.kind in PASSING and not calls.is_last_try(key)
    return RowEnd(key, "open" if again else "failed", None, bound if doubt else fault.cost, doubt, fault)
