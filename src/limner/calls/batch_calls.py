"""The journal in batch mode: a call that can go with a batch is queued, and its result found when that is answered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..core.faults import Fault
from ..core.settings import Provider
from ..store import now
from ..store.schema import calls as table
from .attempts import Attempt, Outcome, Perform, Result
from .batches import RowEnd
from .claims import LOOK, Busy, Claim, Claimed, Settled, Short, Submitted, claim, known_claim
from .journal import Calls
from .keys import Request, current, purpose
from .queued import BatchRow, WaitsForBatch
from .reservations import Reservation
from .tally import current_account


@dataclass(frozen=True)
class QueuedCall:
    """A call that waits to be handed in; `purpose` is the exam and the painter it is for."""

    request: Request
    row: BatchRow
    purpose: tuple[str | None, str | None]

    @property
    def key(self) -> str:
        """The call's key."""
        return self.request.key


class BatchCalls(Calls):
    """See the module. Calls that can go with no batch are made as ever.

    Attributes:
        queued: What is to be handed in, by key.
        waiting: How to read the replies to calls that a service has, by key.
        batches: The ids of the batches these stand in.
        providers: The services of all calls so far that can go with a batch.
        busy: How many calls other processes are making.
    """

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.queued: dict[str, QueuedCall] = {}
        self.waiting: dict[str, BatchRow] = {}
        self.batches: set[str] = set()
        self._batch_of: dict[str, str] = {}
        self.providers: dict[str, Provider] = {}
        self.busy = 0
        self._set_aside: dict[str, float] = {}
        self._paid_now: dict[str, RowEnd] = {}
        self._failed: dict[str, int] = {}

    async def _do(
        self, request: Request, perform: Perform, bound: float | None, tokens: int, row: BatchRow | None = None
    ) -> Outcome:
        if row is None:
            return await super()._do(request, perform, bound, tokens, None)
        self.providers[row.lane.service] = row.provider
        found = await asyncio.to_thread(self._look, request)
        if isinstance(found, Settled):
            self.released([request.key])  # Where another process has settled what this one waited for.
            return self._known(request, found)
        if isinstance(found, Submitted):
            self._adopt(request.key, row, found.batch)
        elif isinstance(found, Busy):
            self.busy += 1
        else:
            self.queued[request.key] = QueuedCall(request, row, current())
        raise WaitsForBatch(f"call {request.key[:12]} waits for a batch")

    def _look(self, request: Request) -> Claim | None:
        with self.store.reading() as connection:
            row = connection.execute(LOOK, {"key_": request.key}).one_or_none()
            if row is None:
                return None
            how: dict[str, Any] = {"retry_failed": self.retry_failed, "since": self.since, "tried": self._tried}
            return known_claim(connection, row, None, now(), **how)

    def _adopt(self, key: str, row: BatchRow, batch: str) -> None:
        """Wait for a call that an earlier process, or this one, has handed in."""
        self.waiting[key], self._batch_of[key] = row, batch
        self.batches.add(batch)
        if key not in self._set_aside:
            self._set_aside[key] = self.budget.hold(row.bound)

    def waiting_in(self, batch: str) -> list[str]:
        """The keys of the calls that this run waits for in a batch."""
        return [key for key in self.waiting if self._batch_of.get(key) == batch]

    def _known(self, request: Request, settled: Settled) -> Outcome:
        # Who asked is charged when it hears of the result, for nobody was charged when that came.
        paid, account = self._paid_now.pop(request.key, None), current_account()
        if paid is not None and account is not None:
            account.count(paid.cost, paid.doubt is not None)
        return super()._known(request, settled)

    def _room_for(self, call: QueuedCall) -> bool:
        """Whether the command's own budget has room for a call now."""
        return self.budget.fits(call.row.bound)

    async def take(self, call: QueuedCall, batch: str, kept: dict[str, Any]) -> Claim:
        """Make a call the batch's, with what its money sets aside, where it is free and fits; `Short` where not."""
        if not self._room_for(call):
            return Short()
        bound, purse = call.row.bound, self.budget.purse
        reservation = Reservation(purse, bound) if purse is not None and bound else None
        set_aside = await self.budget.reserve(bound, call.request.target)
        how: dict[str, Any] = {"retry_failed": self.retry_failed, "since": self.since, "tried": self._tried}
        with purpose(*call.purpose):
            claiming = claim(
                self.store, call.request, self.owner, batch, now(), reservation=reservation, batch=batch, **how
            )

        def operation(connection: sa.Connection) -> Claim:
            found = claiming(connection)
            if isinstance(found, Claimed):
                mine = table.update().where(table.c.key == call.key, table.c.token == batch)
                connection.execute(mine.values(progress=kept))
            return found

        found = await self.store.awrite(operation)
        if isinstance(found, Claimed):
            self._set_aside[call.key] = set_aside
            self.waiting[call.key], self._batch_of[call.key] = call.row, batch
            self.batches.add(batch)
        else:
            self.budget.settle(set_aside, 0.0)
        return found

    async def fail(self, call: QueuedCall, fault: Fault) -> None:
        """Store the fault of a call that cannot even be written down for a batch."""

        async def perform(_attempt: Attempt) -> Result:
            raise fault

        try:
            with purpose(*call.purpose):
                await super()._do(call.request, perform, 0.0, 0, None)
        except Fault:
            pass

    def ended(self, ends: list[RowEnd], new: list[RowEnd]) -> None:
        """Count what calls came to; of `ends`, those that are `new` were not settled before."""
        for end in ends:
            self.waiting.pop(end.key, None)
            if (set_aside := self._set_aside.pop(end.key, None)) is not None:
                self.budget.settle(set_aside, end.cost)
            if end.status == "failed":
                self._tried.add(end.key)
            if end.fault is not None:
                self._failed[end.key] = self._failed.get(end.key, 0) + 1
        for end in new:
            self.tally.count(end.cost, end.doubt is not None)
            self._paid_now[end.key] = end

    def released(self, keys: list[str]) -> None:
        """Calls are no longer waited for: nothing was spent on them, or nothing by this process."""
        for key in keys:
            self.waiting.pop(key, None)
            if (set_aside := self._set_aside.pop(key, None)) is not None:
                self.budget.settle(set_aside, 0.0)

    def is_last_try(self, key: str) -> bool:
        """Whether a call that fails once more in this run has failed."""
        return self._failed.get(key, 0) + 1 >= self.tries
