"""Reservations: what attempts set aside in a purse, in the very transactions that claim and settle their calls.

Whatever is done twice, because a connection was lost while it was committed, counts once. A purse's row is changed
before a call's: processes that share both then never wait for each other in a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..store import Store
from ..store.schema import purses, reservations
from .budget import EXACT, counted

# Made once: they are executed for every call.
PURSE = purses.update().where(purses.c.name == sa.bindparam("purse_"))
FULLER = purses.c.reserved + sa.bindparam("bound_")
TAKE = PURSE.where(purses.c.spent + FULLER <= purses.c.budget + EXACT).values(reserved=FULLER)
MOVE = PURSE.values(
    spent=purses.c.spent + sa.bindparam("spent_"), reserved=purses.c.reserved + sa.bindparam("reserved_")
)
FLYING = (
    reservations.c.call == sa.bindparam("call_"),
    reservations.c.token == sa.bindparam("token_"),
    reservations.c.counted.is_(None),
)
COUNT = reservations.update().where(*FLYING).values(counted=sa.bindparam("counted_"))
REMOVE = reservations.delete().where(*FLYING)
LOST = sa.select(reservations).where(reservations.c.call == sa.bindparam("call_"), reservations.c.counted.is_(None))


@dataclass(frozen=True)
class Reservation:
    """The bound of one call's attempts, and the purse it is set aside in."""

    purse: str
    bound: float

    def take(self, connection: sa.Connection) -> bool:
        """Set the bound aside if it fits; whoever gets it must `enter` it or `put_back`."""
        return bool(connection.execute(TAKE, {"purse_": self.purse, "bound_": self.bound}).rowcount)

    def put_back(self, connection: sa.Connection) -> None:
        """What was taken is not needed."""
        self._move(connection, 0.0, -self.bound)

    def enter(self, connection: sa.Connection, store: Store, attempt: dict[str, Any]) -> None:
        """Write down who took it for which attempt: call, n, token, host, pid, process_start, created."""
        if not store.is_new(connection, reservations, {**attempt, "purse": self.purse, "bound": self.bound}):
            self.put_back(connection)  # Entered before, by the same claim.

    def settle(self, connection: sa.Connection, call: str, token: str, cost: float | None) -> None:
        """Count what the attempt cost; what nobody knows counts as its bound."""
        amount = counted(self.bound, cost)
        self._move(connection, amount, -self.bound)
        if not connection.execute(COUNT, {"call_": call, "token_": token, "counted_": amount}).rowcount:
            # Counted before, or taken over from us and counted as lost.
            self._move(connection, -amount, self.bound)

    def charge(self, connection: sa.Connection, store: Store, attempt: dict[str, Any], cost: float) -> None:
        """Count what a service billed for an attempt that should have been free, and had nothing set aside."""
        row = {**attempt, "purse": self.purse, "bound": 0.0, "counted": cost}
        self._move(connection, cost, 0.0)
        if not store.is_new(connection, reservations, row):
            self._move(connection, -cost, 0.0)

    def release(self, connection: sa.Connection, call: str, token: str) -> None:
        """Nothing was sent: nothing counts."""
        self.put_back(connection)
        if not connection.execute(REMOVE, {"call_": call, "token_": token}).rowcount:
            self._move(connection, 0.0, self.bound)

    def _move(self, connection: sa.Connection, spent: float, reserved: float) -> None:
        connection.execute(MOVE, {"purse_": self.purse, "spent_": spent, "reserved_": reserved})


def count_lost(connection: sa.Connection, call: str) -> None:
    """A call is taken over from a process that is gone: what that one set aside counts as spent, at its bound."""
    for row in connection.execute(LOST, {"call_": call}).all():
        Reservation(row.purse, row.bound).settle(connection, call, row.token, None)
