"""A call that is claimed: what is written about it until it is settled or given back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import methodcaller
from typing import Any

import sqlalchemy as sa

from ..core.errors import StoreError
from ..core.faults import Fault
from ..store import Store, now
from ..store.schema import attempts, calls
from ..store.trouble import changed
from .claims import LEASE_S, Owner, entry
from .reservations import Reservation

DETAIL = 2000
"""Of a fault's words so many characters are kept."""

# Made once: they are executed for every call.
OURS = calls.update().where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))
THERE = sa.select(calls.c.key).where(calls.c.key == sa.bindparam("key_"))
MINE = sa.select(calls.c.tries).where(calls.c.key == sa.bindparam("key_"), calls.c.token == sa.bindparam("token_"))


@dataclass(frozen=True, slots=True)
class ClaimedCall:
    """The operations on a call that is ours to make, as `limner.calls.claims.claim` is the one that claims it.

    Attributes:
        token: Tells this claim from every other.
        reservation: What each attempt sets aside, where it can cost something.
        purse: What is charged for an attempt that should have been free.
    """

    store: Store
    owner: Owner
    key: str
    token: str
    reservation: Reservation | None
    purse: str | None

    def reserve(self, n: int, reservation: Reservation) -> Callable[[sa.Connection], bool | None]:
        """Set the bound of a further attempt aside; None when it does not fit, False when the claim is not ours."""

        def operation(connection: sa.Connection) -> bool | None:
            fits = reservation.take(connection)
            held = connection.execute(MINE, {"key_": self.key, "token_": self.token}).first() is not None
            if fits and held:
                reservation.enter(connection, self.store, entry(self.key, n, self.token, self.owner, now()))
            elif fits:
                reservation.put_back(connection)
            return None if held and not fits else held

        return operation

    def settle(self, row: dict[str, Any], status: str, fault: Fault | None) -> Callable[[sa.Connection], bool]:
        """Store an attempt and what it makes of the call; False when the claim is no longer ours.

        Raises:
            StoreError: The call is not in the store at all any longer.
        """
        at, cost = now(), row["cost"]
        changes: dict[str, Any] = {"status": status, "tries": row["n"], "updated": at, "lease_until": at + LEASE_S}
        if status == "done":
            changes |= {"accepted": row["n"], "fault": None, "detail": None, "progress": None}
        elif fault is not None:
            changes |= {"fault": fault.kind, "detail": fault.detail[:DETAIL]}

        def operation(connection: sa.Connection) -> bool:
            if self.reservation is not None:
                self.reservation.settle(connection, self.key, self.token, cost)
            held = bool(connection.execute(OURS, {"key_": self.key, "token_": self.token, **changes}).rowcount)
            if held:
                self.store.insert_new(connection, attempts, row)
                if self.reservation is None and self.purse is not None and cost:
                    by = entry(self.key, row["n"], self.token, self.owner, at)
                    Reservation(self.purse, 0.0).charge(connection, self.store, by, cost)
            elif connection.scalar(THERE, {"key_": self.key}) is None:
                raise StoreError(changed(self.store.url, "replaced or emptied"))
            return held

        return operation

    def give_back(self) -> Callable[[sa.Connection], None]:
        """Nothing was sent: the call is free for whoever comes next, and so is the money."""

        def operation(connection: sa.Connection) -> None:
            if self.reservation is not None:
                self.reservation.release(connection, self.key, self.token)
            connection.execute(OURS, {"key_": self.key, "token_": self.token, "status": "open", "updated": now()})

        return operation

    def keep(self, progress: dict[str, Any]) -> Callable[[sa.Connection], Any]:
        """Write down how far an attempt has come."""
        changes = {"key_": self.key, "token_": self.token, "progress": progress, "updated": now()}
        return lambda connection: connection.execute(OURS, changes)


async def renew(store: Store, held: Mapping[str, str]) -> None:
    """Show other hosts that the claims of these tokens, by key, are alive, for as long as this runs."""
    while True:
        await asyncio.sleep(LEASE_S / 4)
        tokens = list(held.values())
        for start in range(0, len(tokens), 500):
            mine = calls.update().where(calls.c.token.in_(tokens[start : start + 500]))
            renewed = mine.values(lease_until=now() + LEASE_S)
            # A lease outlasts several beats: what hinders one must not end them all.
            with suppress(StoreError):
                await store.awrite(methodcaller("execute", renewed))
