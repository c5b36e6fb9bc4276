"""The budget: an upper bound is reserved before each attempt and settled by what it really cost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import LimnerError, UsageError
from ..store import Store
from ..store.schema import purses, reservations

EXACT = 1e-9
"""Sums of fractions drift: by so many dollars a limit may seem to be passed."""


class BudgetReached(LimnerError):
    """Nothing more fits into the budget, and nothing is in flight that could free some of it."""

    exit_code = 4


class Budget:
    """Dollars one command may spend; without a limit it only counts.

    What an attempt cost is not always known (a dropped connection, a process that died): then its whole bound counts
    as spent, so that the limit holds whatever the service charged.

    Attributes:
        purse: The purse in the store that has the limit in this one's place; see `limner.calls.budget`.
    """

    def __init__(self, limit: float | None = None, purse: str | None = None) -> None:
        # Not "limit <= 0": every comparison with "nan" is false, and such a limit would never be reached.
        if limit is not None and not limit > 0:
            raise UsageError(f"--budget takes dollars above 0, not {limit:g}")
        self.limit = limit if purse is None else None
        self.purse = purse
        self.spent = 0.0
        self.reserved = 0.0
        self._flying = 0
        self._freed = asyncio.Event()

    async def reserve(self, bound: float | None, target: str) -> float:
        """Wait until `bound` fits, and set it aside; whoever gets it must `settle` it.

        Raises:
            BudgetReached: It does not fit, and nothing in flight can free enough.
            UsageError: There is a limit, and nobody knows what this call can cost.
        """
        if bound is None and (self.limit is not None or self.purse is not None):
            raise UsageError(f"--budget needs to know what a call to {target} can cost; {HELP}")
        if self.limit is None or bound is None:
            return bound or 0.0
        while self.spent + self.reserved + bound > self.limit + EXACT:
            if not self._flying:
                left = max(0.0, self.limit - self.spent)
                raise BudgetReached(
                    f"budget reached: ${self.spent:.4f} of ${self.limit:g} spent, and a call to {target} "
                    f"may cost ${bound:.4f} where ${left:.4f} is left; run again with a higher --budget to go on"
                )
            await self._freed.wait()
        self.reserved += bound
        self._flying += 1
        return bound

    def fits(self, bound: float | None) -> bool:
        """Whether it could be set aside at once."""
        return self.limit is None or bound is None or self.spent + self.reserved + bound <= self.limit + EXACT

    def hold(self, bound: float | None) -> float:
        """Set aside what an earlier process has handed in, whether it fits or not; whoever gets it must `settle` it."""
        if self.limit is not None:
            self.reserved += bound or 0.0
            self._flying += 1
        return bound or 0.0

    def settle(self, bound: float, cost: float | None) -> None:
        """Give the reservation back and count the cost; an unknown one counts as its bound.

        This never waits, so that nobody can be stopped halfway through it and leave a reservation behind.
        """
        if self.limit is None:
            self.spent += cost or 0.0
            return
        self._flying -= 1
        # Sums of fractions drift: with nothing in flight, nothing is reserved.
        self.reserved = self.reserved - bound if self._flying else 0.0
        self.spent += counted(bound, cost)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()


def counted(bound: float, cost: float | None) -> float:
    """Return what an attempt counts: its cost, or its bound where nobody knows that."""
    return bound if cost is None else cost


HELP = "add its prices to limner.toml, and for chat models a token limit (--judge-arg max_completion_tokens=N)"
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
