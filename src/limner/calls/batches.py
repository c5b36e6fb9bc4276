"""Batches in the store: what was handed to a service, and what each call of it came to.

A batch is `forming` while its calls are gathered and nothing is sent, `submitting` from just before it is handed in
until the service has said its number, and `submitted` from then on. Its calls are `submitted` from the first: no death
of a process makes them anybody's to take over, only what becomes of the batch does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.faults import Fault
from ..core.redaction import without_secrets
from ..core.settings import Provider
from ..store import Store, now
from ..store.schema import attempts, batches, calls, reservations
from ..store.schema import calls as table
from .budget import Reservation
from .claims import LOOK, Busy, Claim, Claimed, Owner, Settled, Short, Submitted, claim, known_claim
from .journal import DETAIL, Attempt, BatchLane, BatchRow, Calls, Outcome, Perform, Result, WaitsForBatch
from .keys import Request, current, purpose
from .usage import current_account

UNSENT, DOUBTED, RUNNING = "forming", "submitting", "submitted"
OPEN = (UNSENT, DOUBTED, RUNNING)
LEASE_S = 1800.0
"""How long the process that hands a batch in may be silent before another host looks after it."""


@dataclass(frozen=True)
class BatchState:
    """A batch as the store has it.

    Attributes:
        remote: What the service calls it.
        file: What the service calls the file it was handed in with.
        waiting: How many of its calls are not settled.
        bound: The most these can cost; None where nobody knows.
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
        """What its calls have in common."""
        return BatchLane(self.service, self.endpoint, self.model)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)


@dataclass(frozen=True)
class RowEnd:
    """What one call of a batch came to.

    Attributes:
        status: What the call is from now on: ``done``, ``failed``, or ``open`` for one that is asked again.
        payload: The result, of one that is done.
    """

    key: str
    status: str
    payload: dict[str, Any] | None = None
    cost: float | None = 0.0
    doubt: str | None = None
    fault: Fault | None = None


def begin(store: Store, batch: str, lane: BatchLane, owner: Owner) -> None:
    """Write down that a batch is gathered."""
    at = now()
    who = {"host": owner.host, "pid": owner.pid, "process_start": owner.start, "lease_until": at + LEASE_S}
    row = {"id": batch, **asdict(lane), "status": UNSENT, "calls": 0, "created": at, "updated": at, **who}
    store.write(lambda connection: store.insert_new(connection, batches, row))


def change(store: Store, batch: str, was: Sequence[str], **changes: Any) -> bool:
    """Change a batch that still is what it was; False where it no longer is."""
    at = now()
    mine = batches.update().where(batches.c.id == batch, batches.c.status.in_(was))
    values = {"updated": at, "lease_until": at + LEASE_S, **changes}
    return bool(store.write(lambda connection: connection.execute(mine.values(**values)).rowcount))


def release(store: Store, batch: str, why: str, was: str) -> bool:
    """Nothing of a batch was taken by the service: its calls are free, and nothing of the money is spent.

    False where it no longer is what it `was`: then another process knows more of it.
    """

    def operation(connection: sa.Connection) -> bool:
        found = sa.select(batches.c.status).where(batches.c.id == batch).with_for_update()
        if connection.scalar(found) != was:
            return False
        mine = reservations.c.token == batch, reservations.c.counted.is_(None)
        for row in connection.execute(sa.select(reservations).where(*mine)).all():
            Reservation(row.purse, row.bound).release(connection, row.call, batch)
        connection.execute(
            calls.update()
            .where(calls.c.batch == batch, calls.c.token == batch, calls.c.status == "submitted")
            .values(status="open", updated=now())
        )
        ended = {"status": "released", "detail": why[:DETAIL], "updated": now()}
        connection.execute(batches.update().where(batches.c.id == batch).values(**ended))
        return True

    return store.write(operation)


def waiting_calls(store: Store, batch: str) -> dict[str, Any]:
    """The calls of a batch that are not settled, by key: how often they were tried, and what was kept beside them."""
    columns = calls.c.key, calls.c.tries, calls.c.progress
    query = sa.select(*columns).where(calls.c.batch == batch, calls.c.status == "submitted", calls.c.token == batch)
    with store.reading() as connection:
        return {row.key: row for row in connection.execute(query)}


def settle(store: Store, batch: str, ended: Iterable[RowEnd], purse: str | None, owner: Owner) -> list[RowEnd]:
    """Store what calls of a batch came to; gives those that were not settled before.

    What one has set aside in a purse is counted there, whoever had set it aside; what had nothing set aside is charged
    to `purse`.
    """
    held = calls.c.token == batch, calls.c.status == "submitted"
    columns = calls.c.tries, calls.c.created, calls.c.updated

    def one(connection: sa.Connection, end: RowEnd) -> bool:
        at = now()
        aside = connection.execute(
            sa.select(reservations).where(reservations.c.call == end.key, reservations.c.token == batch)
        ).first()
        if aside is not None and aside.counted is None:
            # A purse's row is changed before a call's; see `limner.calls.budget`.
            Reservation(aside.purse, aside.bound).settle(connection, end.key, batch, end.cost)
        row = connection.execute(sa.select(*columns).where(calls.c.key == end.key, *held).with_for_update()).first()
        if row is None:
            return False
        n = row.tries + 1
        changes: dict[str, Any] = {"status": end.status, "tries": n, "updated": at}
        changes |= {"host": owner.host, "pid": owner.pid, "process_start": owner.start, "progress": None}
        told: dict[str, Any] = {"fault": None, "detail": None}
        if end.fault is None:
            changes |= {"accepted": n, **told}
            told["result"] = end.payload
        else:
            told = {"fault": end.fault.kind, "detail": end.fault.detail[:DETAIL]}
            changes |= told
            told["result"] = without_secrets(end.fault.result)
        connection.execute(calls.update().where(calls.c.key == end.key).values(**changes))
        tried = {"call": end.key, "n": n, "started": row.updated, "seconds": max(0.0, at - row.updated)}
        store.insert_new(connection, attempts, tried | told | {"cost": end.cost, "doubt": end.doubt})
        if aside is None and purse is not None and end.cost:
            who = {"host": owner.host, "pid": owner.pid, "process_start": owner.start, "created": at}
            Reservation(purse, 0.0).charge(
                connection, store, {"call": end.key, "n": n, "token": batch, **who}, end.cost
            )
        return True

    found = list(ended)
    return store.write(lambda connection: [end for end in found if one(connection, end)])


def finish(store: Store, batch: str, status: str, detail: str | None = None) -> bool:
    """Write down how a batch ended, once none of its calls waits; False while one does."""
    left = sa.select(calls.c.key).where(calls.c.batch == batch, calls.c.token == batch, calls.c.status == "submitted")

    def operation(connection: sa.Connection) -> bool:
        if connection.execute(left.limit(1)).first() is not None:
            return False
        ended = {"status": status, "detail": detail and detail[:DETAIL], "updated": now()}
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
    at, found = now(), list[BatchState]()
    for row in rows:
        owner = Owner(row.host, row.pid, row.process_start)
        orphaned = owner.is_dead_here() or (row.lease_until or 0.0) < at
        told = {name: getattr(row, name) for name in BatchState.__dataclass_fields__ if name in row._fields}
        found.append(BatchState(**told, waiting=waiting.get(row.id, 0), orphaned=orphaned))
    return found


def find_batch(store: Store, word: str) -> BatchState:
    """Return the batch whose id begins so, or which the service calls so.

    Raises:
        UsageError: There is none, or more than one.
    """
    found = [one for one in read_batches(store) if one.id.startswith(word) or one.remote == word]
    if len(found) != 1 or not word:
        there = "several batches begin" if found else "no batch begins"
        raise UsageError(f"{there} with {word!r}; `limner batches` lists them")
    return found[0]


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
        """Return the keys of the calls that this run waits for in a batch."""
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
