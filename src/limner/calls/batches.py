"""Batches in the store: which calls were submitted to a service, and how each of them ended.

A batch is `forming` while its calls are collected and nothing is sent, `submitting` from just before it is sent until
the service has returned its id, and `submitted` from then on. Its calls are `submitted` from the start: no process
takes them over, even if the submitting process dies; only the end of the batch settles them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.faults import Fault
from ..core.settings import Provider
from ..store import Store
from ..store.schema import attempts, batches, calls, reservations
from ..store.schema import calls as table
from .budget import Reservation
from .claims import LOOK, Busy, Claim, Claimed, Settled, Short, Submitted, claim, entry, known_claim
from .journal import (
    MAX_DETAIL,
    Attempt,
    BatchLane,
    BatchRow,
    Calls,
    Outcome,
    PlannedCall,
    Result,
    WaitsForBatch,
    attempt_row,
)
from .keys import Owner, Request, current, purpose
from .usage import current_account

UNSENT, DOUBTED, RUNNING = "forming", "submitting", "submitted"
OPEN = (UNSENT, DOUBTED, RUNNING)
LEASE_S = 1800.0
"""How long the process that submits a batch may be silent before another host takes over."""


@dataclass(frozen=True)
class BatchState:
    """A batch as recorded in the store.

    Attributes:
        remote: Its id at the service.
        file: The id at the service of the file it was submitted with.
        waiting: How many of its calls are not settled.
        bound: The most that these can cost; None if unknown.
    """

    id: str
    service: str
    endpoint: str
    model: str
    status: str
    remote: str | None
    file: str | None
    calls: int
    waiting: int
    bound: float | None
    detail: str | None
    created: float
    updated: float
    orphaned: bool

    @property
    def lane(self) -> BatchLane:
        """The properties that its calls share."""
        return BatchLane(self.service, self.endpoint, self.model)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class RowEnd:
    """The end of one call of a batch.

    Attributes:
        status: The call's new status: ``done``, ``failed``, or ``open`` for one that is asked again.
        payload: The result, if it is done.
    """

    key: str
    status: str
    payload: dict[str, Any] | None = None
    cost: float | None = 0.0
    doubt: str | None = None
    fault: Fault | None = None


def begin(store: Store, batch: str, lane: BatchLane, owner: Owner) -> None:
    """Record a batch whose calls are being collected."""
    at = store.now()
    row = {"id": batch, **asdict(lane), "status": UNSENT, "calls": 0, "created": at, "updated": at, **owner.columns}
    row["lease_until"] = at + LEASE_S
    store.write(lambda connection: store.insert_new(connection, batches, row))


def change(store: Store, batch: str, was: Sequence[str], **changes: Any) -> bool:
    """Update a batch if it still has one of these statuses; return whether it had."""
    at = store.now()
    mine = batches.update().where(batches.c.id == batch, batches.c.status.in_(was))
    values = {"updated": at, "lease_until": at + LEASE_S, **changes}
    return bool(store.write(lambda connection: connection.execute(mine.values(**values)).rowcount))


def release(store: Store, batch: str, why: str, was: str) -> bool:
    """Free the calls of a batch that the service did not accept, and return the reserved money.

    Returns False if its status is no longer `was`: then another process has changed it.
    """

    def operation(connection: sa.Connection) -> bool:
        status = sa.select(batches.c.status).where(batches.c.id == batch).with_for_update()
        if connection.scalar(status) != was:
            return False
        mine = reservations.c.token == batch, reservations.c.counted.is_(None)
        for row in connection.execute(sa.select(reservations).where(*mine)).all():
            Reservation(row.purse, row.bound).release(connection, row.call, batch)
        connection.execute(
            calls.update()
            .where(calls.c.batch == batch, calls.c.token == batch, calls.c.status == "submitted")
            .values(status="open", updated=store.now())
        )
        ended = {"status": "released", "detail": why[:MAX_DETAIL], "updated": store.now()}
        connection.execute(batches.update().where(batches.c.id == batch).values(**ended))
        return True

    return store.write(operation)


def waiting_calls(store: Store, batch: str) -> dict[str, Any]:
    """Return the unsettled calls of a batch by key, with their number of tries and saved progress."""
    columns = calls.c.key, calls.c.tries, calls.c.progress
    query = sa.select(*columns).where(calls.c.batch == batch, calls.c.status == "submitted", calls.c.token == batch)
    with store.reading() as connection:
        return {row.key: row for row in connection.execute(query)}


def settle(store: Store, batch: str, ended: Iterable[RowEnd], purse: str | None, owner: Owner) -> list[RowEnd]:
    """Store how calls of a batch ended; return those that were not settled before.

    The cost of a call with a reservation is counted in the purse of the reservation, that of any other call in `purse`.
    """
    held = calls.c.token == batch, calls.c.status == "submitted"
    columns = calls.c.tries, calls.c.created, calls.c.updated

    def settle_one(connection: sa.Connection, end: RowEnd) -> bool:
        at = store.now()
        aside = connection.execute(
            sa.select(reservations).where(reservations.c.call == end.key, reservations.c.token == batch)
        ).first()
        if aside is not None and aside.counted is None:
            # A purse's row is locked before a call's; see `limner.calls.budget`.
            Reservation(aside.purse, aside.bound).settle(connection, end.key, batch, end.cost)
        row = connection.execute(sa.select(*columns).where(calls.c.key == end.key, *held).with_for_update()).first()
        if row is None:
            return False
        n = row.tries + 1
        tried = attempt_row(end.key, n, row.updated, max(0.0, at - row.updated), end.fault)
        tried |= {"cost": end.cost, "doubt": end.doubt}
        changes = {"status": end.status, "tries": n, "updated": at, "progress": None, **owner.columns}
        changes |= {"fault": tried["fault"], "detail": tried["detail"]}
        if end.fault is None:
            changes["accepted"], tried["result"] = n, end.payload
        connection.execute(calls.update().where(calls.c.key == end.key).values(**changes))
        store.insert_new(connection, attempts, tried)
        if aside is None and purse is not None and end.cost:
            Reservation(purse, 0.0).charge(connection, store, entry(end.key, n, batch, owner, at), end.cost)
        return True

    ends = list(ended)
    return store.write(lambda connection: [end for end in ends if settle_one(connection, end)])


def finish(store: Store, batch: str, status: str, detail: str | None = None) -> bool:
    """Record how a batch ended once all its calls are settled; return False while some are not."""
    left = sa.select(calls.c.key).where(calls.c.batch == batch, calls.c.token == batch, calls.c.status == "submitted")

    def operation(connection: sa.Connection) -> bool:
        if connection.execute(left.limit(1)).first() is not None:
            return False
        ended = {"status": status, "detail": detail and detail[:MAX_DETAIL], "updated": store.now()}
        connection.execute(batches.update().where(batches.c.id == batch).values(**ended))
        return True

    return store.write(operation)


def read_batches(store: Store, ids: Iterable[str] | None = None, *, only_open: bool = False) -> list[BatchState]:
    """Return the batches of a store, the oldest first."""
    query = sa.select(batches).order_by(batches.c.created, batches.c.id)
    if only_open:
        query = query.where(batches.c.status.in_(OPEN))
    if ids is not None:
        query = query.where(batches.c.id.in_(list(ids)))
    mine = (calls.c.batch == batches.c.id) & (calls.c.token == batches.c.id) & (calls.c.status == "submitted")
    counts = sa.select(batches.c.id, sa.func.count()).select_from(batches.join(calls, mine)).group_by(batches.c.id)
    with store.reading() as connection:
        waiting = {row[0]: int(row[1]) for row in connection.execute(counts)}
        rows = connection.execute(query).all()
    at, states = store.now(), list[BatchState]()
    for row in rows:
        owner = Owner.of(row)
        orphaned = owner.is_dead_here() or (row.lease_until or 0.0) < at
        values = {name: getattr(row, name) for name in BatchState.__dataclass_fields__ if name in row._fields}
        states.append(BatchState(**values, waiting=waiting.get(row.id, 0), orphaned=orphaned))
    return states


def find_batch(store: Store, word: str) -> BatchState:
    """Return the batch whose id begins with `word`, or whose name at the service is `word`.

    Raises:
        UsageError: No batch matches, or several do.
    """
    matches = [batch for batch in read_batches(store) if batch.id.startswith(word) or batch.remote == word]
    if len(matches) != 1 or not word:
        problem = "several batches have an id that begins" if matches else "no batch has an id that begins"
        raise UsageError(f"{problem} with {word!r}; run `limner batches` to list them")
    return matches[0]


@dataclass(frozen=True)
class QueuedCall:
    """A call that waits to be submitted; `purpose` is the exam and the painter it is for."""

    request: Request
    row: BatchRow
    purpose: tuple[str | None, str | None]

    @property
    def key(self) -> str:
        """The call's key."""
        return self.request.key


class BatchCalls(Calls):
    """A journal that queues calls for batches; calls that cannot be batched are made at once.

    Attributes:
        queued: Calls to submit, by key.
        waiting: How to read the replies of submitted calls, by key.
        batches: The ids of the batches that these calls are in.
        providers: The services of all calls so far that can be batched.
        busy: The number of calls that other processes are making.
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
        self._unchecked: list[tuple[BatchRow, RowEnd]] = []

    async def _do(self, planned: PlannedCall) -> Outcome:
        request, row = planned.request, planned.row
        if row is None:
            return await super()._do(planned)
        self.providers[row.lane.service] = row.provider
        claim = await asyncio.to_thread(self._look, request)
        if isinstance(claim, Settled):
            self.released([request.key])  # Another process has settled the call that this one waited for.
            return self._stored_outcome(request, claim)
        if isinstance(claim, Submitted):
            self._adopt(request.key, row, claim.batch)
        elif isinstance(claim, Busy):
            self.busy += 1
        else:
            self.queued[request.key] = QueuedCall(request, row, current())
        raise WaitsForBatch(f"call {request.key[:12]} waits for a batch")

    def _look(self, request: Request) -> Claim | None:
        with self.store.reading() as connection:
            row = connection.execute(LOOK, {"key_": request.key}).one_or_none()
            if row is None:
                return None
            return known_claim(connection, row, None, self.store.now(), self._retries)

    def _adopt(self, key: str, row: BatchRow, batch: str) -> None:
        """Wait for a call that was already submitted, by this process or an earlier one."""
        self.waiting[key], self._batch_of[key] = row, batch
        self.batches.add(batch)
        if key not in self._set_aside:
            self._set_aside[key] = self.budget.hold(row.bound)

    def waiting_in(self, batch: str) -> list[str]:
        """Return the keys of the calls that this run waits for in a batch."""
        return [key for key in self.waiting if self._batch_of.get(key) == batch]

    def _stored_outcome(self, request: Request, settled: Settled) -> Outcome:
        # The caller is charged when it receives the result; nobody was charged when the result arrived.
        paid, account = self._paid_now.pop(request.key, None), current_account()
        if paid is not None and account is not None:
            account.count(paid.cost, paid.doubt is not None)
        return super()._stored_outcome(request, settled)

    async def take(self, call: QueuedCall, batch: str, kept: dict[str, Any]) -> Claim:
        """Claim a call for the batch and reserve its bound; return `Short` if the budget has no room for it."""
        if not self.budget.fits(call.row.bound):
            return Short()
        bound, purse = call.row.bound, self.budget.purse
        reservation = Reservation(purse, bound) if purse is not None and bound else None
        set_aside = await self.budget.reserve(bound, call.request.target)
        with purpose(*call.purpose):
            at = self.store.now()
            how: dict[str, Any] = {"reservation": reservation, "batch": batch}
            claiming = claim(self.store, call.request, self.owner, batch, at, self._retries, **how)

        def operation(connection: sa.Connection) -> Claim:
            claimed = claiming(connection)
            if isinstance(claimed, Claimed):
                mine = table.update().where(table.c.key == call.key, table.c.token == batch)
                connection.execute(mine.values(progress=kept))
            return claimed

        claimed_call = await self.store.awrite(operation)
        if isinstance(claimed_call, Claimed):
            self._set_aside[call.key] = set_aside
            self.waiting[call.key], self._batch_of[call.key] = call.row, batch
            self.batches.add(batch)
        else:
            self.budget.settle(set_aside, 0.0)
        return claimed_call

    async def fail(self, call: QueuedCall, fault: Fault) -> None:
        """Store the fault of a call that cannot be written into a batch."""

        async def perform(_attempt: Attempt) -> Result:
            raise fault

        try:
            with purpose(*call.purpose):
                await super()._do(PlannedCall(call.request, perform))
        except Fault:
            pass

    def ended(self, ends: list[RowEnd], new: list[RowEnd]) -> None:
        """Count how calls ended; the `new` ones among `ends` were not settled before."""
        for end in ends:
            if (row := self.waiting.pop(end.key, None)) is not None:
                self._unchecked.append((row, end))
            if (set_aside := self._set_aside.pop(end.key, None)) is not None:
                self.budget.settle(set_aside, end.cost)
            if end.status == "failed":
                self._tried.add(end.key)
            if end.fault is not None:
                self._failed[end.key] = self._failed.get(end.key, 0) + 1
        for end in new:
            self.tally.count(end.cost, end.doubt is not None)
            self._paid_now[end.key] = end

    def check_costs(self) -> None:
        """Check that no call that ended cost more than was reserved for it; see `Budget.check_cost`."""
        ended, self._unchecked = self._unchecked, []
        for row, end in ended:
            self.budget.check_cost(row.bound, end.cost, end.doubt, f"{row.lane.service}/{row.lane.model}")

    def released(self, keys: list[str]) -> None:
        """Stop waiting for calls on which this process spent nothing."""
        for key in keys:
            self.waiting.pop(key, None)
            if (set_aside := self._set_aside.pop(key, None)) is not None:
                self.budget.settle(set_aside, 0.0)

    def is_last_try(self, key: str) -> bool:
        """Return whether the call has no try left after the current one."""
        return self._failed.get(key, 0) + 1 >= self.tries
