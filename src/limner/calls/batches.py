"""Batches in the store: what was handed to a service, and what each call of it came to.

A batch is `forming` while its calls are gathered and nothing is sent, `submitting` from just before it is handed in
until the service has said its number, and `submitted` from then on. Its calls are `submitted` from the first: no death
of a process makes them anybody's to take over, only what becomes of the batch does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import UsageError
from ..core.faults import Fault
from ..core.redaction import without_secrets
from ..store import Store, now
from ..store.schema import attempts, batches, calls, reservations
from .claimed import DETAIL
from .claims import Owner
from .queued import BatchLane
from .reservations import Reservation

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
            # A purse's row is changed before a call's; see `limner.calls.reservations`.
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
    """The batches of a store, the oldest first."""
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
    """The batch whose id begins so, or which the service calls so.

    Raises:
        UsageError: There is none, or more than one.
    """
    found = [one for one in read_batches(store) if one.id.startswith(word) or one.remote == word]
    if len(found) != 1 or not word:
        there = "several batches begin" if found else "no batch begins"
        raise UsageError(f"{there} with {word!r}; `limner batches` lists them")
    return found[0]
