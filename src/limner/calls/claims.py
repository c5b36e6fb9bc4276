"""Claims: which process is making a call. Committed before the call, taken over when the process is dead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..core.faults import MACHINE_SPECIFIC, RETRIED_NEXT_RUN
from ..core.redaction import without_secrets
from ..store import Store
from ..store.schema import attempts, calls
from .budget import Reservation, count_lost
from .keys import Owner, Request, current

LEASE_S = 120.0
"""How long a claim of another host is valid without being renewed."""


@dataclass(frozen=True)
class Claimed:
    """A call that this process may make."""

    token: str
    tries: int
    progress: dict[str, Any] | None


@dataclass(frozen=True)
class Settled:
    """A call that was made before, with its result or its fault."""

    result: dict[str, Any] | None
    cost: float | None
    fault: str | None
    detail: str | None


@dataclass(frozen=True)
class Busy:
    """A call that another live process is making."""


@dataclass(frozen=True)
class Submitted:
    """A call that a service already has in a batch; its result is awaited, and it is not made again."""

    batch: str


@dataclass(frozen=True)
class Short:
    """A call whose bound does not fit into the purse now."""


Claim = Claimed | Settled | Busy | Submitted | Short
LOOK = sa.select(calls).where(calls.c.key == sa.bindparam("key_"))
SELECT = LOOK.with_for_update()


@dataclass(frozen=True)
class Retries:
    """Which failed calls are made again.

    Attributes:
        failed: Whether permanent faults are retried.
        since: Faults settled before this time belong to an earlier run.
        tried: Keys of calls that failed in this run.
    """

    failed: bool
    since: float
    tried: Collection[str] = ()


def claim(
    store: Store,
    request: Request,
    owner: Owner,
    token: str,
    at: float,
    retries: Retries,
    *,
    reservation: Reservation | None = None,
    batch: str | None = None,
) -> Callable[[sa.Connection], Claim]:
    """Return the operation that claims a call, or says why it need not or cannot be made.

    Args:
        store: Where the call is journalled.
        request: The call.
        owner: The process that wants to make it.
        token: Identifies this claim.
        at: The time.
        retries: Which failed calls are made again.
        reservation: The bound reserved for the first attempt, in the same transaction.
        batch: The batch it is submitted with; the call then belongs to the batch, and no process takes it over.
    """

    exam, painter = current()

    def known(connection: sa.Connection, row: Any) -> Claim | None:
        return known_claim(connection, row, token, at, retries, owner)

    def take(connection: sa.Connection) -> tuple[Claim, bool]:
        """Return the claim, and whether it is made now."""
        ours = {"status": "claimed", "token": token, "lease_until": at + LEASE_S, "tries": 0, "updated": at}
        ours |= owner.columns
        if batch is not None:
            ours |= {"status": "submitted", "lease_until": None, "batch": batch}
        fresh = {
            "key": request.key, "kind": request.kind, "target": request.target,
            "request": without_secrets({"body": request.body, "repeat": request.repeat, "round": request.round}),
            "created": at, "exam": exam, "painter": painter,
        }  # fmt: skip
        if store.is_new(connection, calls, fresh | ours):
            return Claimed(token, 0, None), True
        row = connection.execute(SELECT, {"key_": request.key}).one()
        if (existing := known(connection, row)) is not None:
            return existing, False
        tries = row.tries
        if row.status == "claimed":
            # The dead process may have been charged: its try is counted, at an unknown cost.
            lost = lost_attempt(dict(row._mapping), at)
            tries = lost["n"]
            connection.execute(attempts.insert().values(lost))
            count_lost(connection, request.key)
        connection.execute(calls.update().where(calls.c.key == request.key).values(ours | {"tries": tries}))
        return Claimed(token, tries, row.progress), True

    def operation(connection: sa.Connection) -> Claim:
        if reservation is None:
            return take(connection)[0]
        if not reservation.take(connection):
            row = connection.execute(LOOK, {"key_": request.key}).one_or_none()
            return (known(connection, row) if row is not None else None) or Short()
        claimed, made = take(connection)
        if made and isinstance(claimed, Claimed):
            reservation.enter(connection, store, entry(request.key, claimed.tries + 1, token, owner, at))
        else:
            reservation.put_back(connection)
        return claimed

    return operation


def lost_attempt(call: Mapping[str, Any], at: float) -> dict[str, Any]:
    """Return the journal row for the attempt of a dead process; `at` is when its death was noticed."""
    lost = {"call": call["key"], "n": call["tries"] + 1, "started": call["updated"]}
    why = {"fault": "interrupted", "detail": f"process {call['pid']} on {call['host']} ended during the call"}
    return lost | {"seconds": max(0.0, at - call["updated"])} | why


def known_claim(
    connection: sa.Connection,
    row: Any,
    token: str | None,
    at: float,
    retries: Retries,
    owner: Owner | None = None,
) -> Claim | None:
    """Return the state of a journalled call, or None if it is to be made; see `claim`."""
    if row.status == "done":
        return settled(connection, row)
    if row.status == "failed":
        again = retries.failed or row.fault in RETRIED_NEXT_RUN
        elsewhere = row.fault in MACHINE_SPECIFIC and owner is not None and Owner.of(row) != owner
        if not again or row.key in retries.tried or not (elsewhere or _is_earlier(row, retries.since, at)):
            return settled(connection, row)
    if row.status in ("claimed", "submitted") and row.token == token:
        # Committed before, but the connection was lost before the confirmation.
        return Claimed(row.token, row.tries, row.progress)
    if row.status == "submitted":
        return Submitted(str(row.batch))
    alive = row.status == "claimed" and row.lease_until > at
    return Busy() if alive and not Owner.of(row).is_dead_here() else None


def _is_earlier(row: Any, since: float, at: float) -> bool:
    """Return whether an earlier run settled a fault, even if the clock was set back since."""
    if row.updated < since or row.updated > at + LEASE_S:
        return True
    return Owner.of(row).is_dead_here()


def entry(call: str, n: int, token: str, owner: Owner, at: float) -> dict[str, Any]:
    """Return the owner and attempt recorded beside a reservation."""
    return {"call": call, "n": n, "token": token, "created": at, **owner.columns}


def settled(connection: sa.Connection, row: Any) -> Settled:
    """Return the outcome of a call that is done or has failed for good."""
    if row.status == "failed":
        return Settled(None, None, row.fault, row.detail)
    query = sa.select(attempts.c.result, attempts.c.cost)
    accepted = connection.execute(query.where(attempts.c.call == row.key, attempts.c.n == row.accepted)).one()
    return Settled(accepted.result, accepted.cost, None, None)
