"""Hands in what is queued: one batch or several for each lane, within the service's limits and the budget.

Before a batch is handed in, the store knows its tag, and afterwards its number at the service.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from typing import IO, Any, TypeVar

from ..calls import PASSING, Fault
from ..calls import batches as stored
from ..calls.batch_services import REFUSED, BatchService
from ..calls.batches import DOUBTED, RUNNING, UNSENT, QueuedCall
from ..calls.claims import Claimed, Short
from ..calls.journal import TRIES, BatchLane, back_off
from .wave_desk import WaveDesk

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
        """A call as it is handed in, and what is kept beside it; None where that is its fault already."""
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
        """What the service calls it; None where it is not to be handed in any more, and was not taken before."""
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
        """What is made, tried again after what passes; only for what costs nothing."""
        for n in range(1, TRIES + 1):
            try:
                return await make()
            except Fault as fault:
                if fault.kind not in PASSING or n == TRIES:
                    raise
                await asyncio.sleep(fault.retry_after or back_off(n))
        raise AssertionError("the last try either returns or raises")
