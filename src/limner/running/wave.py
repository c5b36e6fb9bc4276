"""One wave of batches: what is queued is handed in, asked after, and settled, whichever process began it.

Before a batch is handed in, the store knows its tag, and afterwards its number at the service. A process that dies in
between leaves a batch in doubt: it is looked up by its tag; one that the service's list does not have, though it must
by now, was not taken. Its file is taken away first, so that nothing can come of a request that is still on its way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

from ..calls import PASSING, BudgetReached, Fault
from ..calls import batches as stored
from ..calls.batch_services import BatchService
from ..calls.batches import DOUBTED, RUNNING, UNSENT, BatchCalls, BatchState, QueuedCall
from ..calls.budget import Reservation
from ..calls.journal import TRIES
from ..calls.purse import wait_or_stop
from ..core.errors import StopRun, StoreError
from ..store import now
from .hand_in import HandIn
from .wave_desk import WaveDesk
from .wave_results import settle_results

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
