"""The budget: an upper bound is reserved before each attempt and settled by what it really cost."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from ..core.errors import LimnerError, UsageError
from ..store import Store
from ..store.schema import purses, reservations
from .usage import TOO_DEAR

EXACT = 1e-9
"""Tolerance in dollars for rounding errors in sums."""


class BudgetReached(LimnerError):
    """The error raised when nothing more fits into the budget and no call in flight can free any of it."""

    exit_code = 4


class Budget:
    """The dollars that one command may spend; without a limit it only counts.

    The cost of an attempt is sometimes unknown (a dropped connection, a dead process). Its whole bound then counts as
    spent, so that the limit holds whatever the service charged.

    Attributes:
        purse: The purse in the store that holds the limit instead; see `limner.calls.purse`.
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
        """Wait until `bound` fits and reserve it; the caller must `settle` it.

        Raises:
            BudgetReached: It does not fit, and no call in flight can free enough.
            UsageError: There is a limit, and the cost of this call has no known bound.
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
        """Return whether the bound could be reserved at once."""
        return self.limit is None or bound is None or self.spent + self.reserved + bound <= self.limit + EXACT

    def hold(self, bound: float | None) -> float:
        """Reserve the bound of a call that an earlier process submitted, even over the limit."""
        if self.limit is not None:
            self.reserved += bound or 0.0
            self._flying += 1
        return bound or 0.0

    def is_beyond(self, bound: float | None, cost: float | None, doubt: str | None) -> bool:
        """Return whether an attempt cost more than was reserved for it; without a limit, nothing is reserved."""
        limited = self.limit is not None or self.purse is not None
        return limited and ((doubt or "").startswith(TOO_DEAR) or (cost or 0.0) > (bound or 0.0) + EXACT)

    def check_cost(self, bound: float | None, cost: float | None, doubt: str | None, target: str) -> None:
        """Check that a stored attempt cost no more than was reserved for it.

        Raises:
            BudgetReached: It cost more, so the bounds of further calls to this service cannot be relied on.
        """
        if not self.is_beyond(bound, cost, doubt):
            return
        reported = f"${cost:.4f}" if doubt is None else doubt.removeprefix(TOO_DEAR)
        raise BudgetReached(
            f"{target} reports {reported} for a call that can cost ${bound or 0.0:.4f} at most by the price list. "
            "Stopped. The call is counted and its result is stored. Check the service's bill, and correct its prices "
            "in limner.toml before you run the same command again"
        )

    def settle(self, bound: float, cost: float | None) -> None:
        """Release the reservation and count the cost; an unknown cost counts as the bound.

        This never waits, so that a cancelled task cannot leave a reservation behind.
        """
        if self.limit is None:
            self.spent += cost or 0.0
            return
        self._flying -= 1
        # Sums of fractions drift: with no call in flight, nothing is reserved.
        self.reserved = self.reserved - bound if self._flying else 0.0
        self.spent += counted(bound, cost)
        freed, self._freed = self._freed, asyncio.Event()
        freed.set()


def counted(bound: float, cost: float | None) -> float:
    """Return the amount an attempt counts for: its cost, or its bound if the cost is unknown."""
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
        """Reserve the bound if it fits; the caller must then `enter` it or `put_back` it."""
        return bool(connection.execute(TAKE, {"purse_": self.purse, "bound_": self.bound}).rowcount)

    def put_back(self, connection: sa.Connection) -> None:
        """Return the reserved bound to the purse unused."""
        self._move(connection, 0.0, -self.bound)

    def enter(self, connection: sa.Connection, store: Store, attempt: dict[str, Any]) -> None:
        """Record which attempt the bound is reserved for: call, n, token, host, pid, process_start, created."""
        if not store.is_new(connection, reservations, {**attempt, "purse": self.purse, "bound": self.bound}):
            self.put_back(connection)  # Entered before, by the same claim.

    def settle(self, connection: sa.Connection, call: str, token: str, cost: float | None) -> None:
        """Count the cost of the attempt; an unknown cost counts as the bound."""
        amount = counted(self.bound, cost)
        self._move(connection, amount, -self.bound)
        if not connection.execute(COUNT, {"call_": call, "token_": token, "counted_": amount}).rowcount:
            # Counted before, or taken over from us and counted as lost.
            self._move(connection, -amount, self.bound)

    def charge(self, connection: sa.Connection, store: Store, attempt: dict[str, Any], cost: float) -> None:
        """Count the cost of an attempt that was expected to be free and had nothing reserved."""
        row = {**attempt, "purse": self.purse, "bound": 0.0, "counted": cost}
        self._move(connection, cost, 0.0)
        if not store.is_new(connection, reservations, row):
            self._move(connection, -cost, 0.0)

    def release(self, connection: sa.Connection, call: str, token: str) -> None:
        """Return the bound of an attempt for which nothing was sent."""
        self.put_back(connection)
        if not connection.execute(REMOVE, {"call_": call, "token_": token}).rowcount:
            self._move(connection, 0.0, self.bound)

    def _move(self, connection: sa.Connection, spent: float, reserved: float) -> None:
        connection.execute(MOVE, {"purse_": self.purse, "spent_": spent, "reserved_": reserved})


def count_lost(connection: sa.Connection, call: str) -> None:
    """Count the bounds reserved by a dead process for this call as spent."""
    for row in connection.execute(LOST, {"call_": call}).all():
        Reservation(row.purse, row.bound).settle(connection, call, row.token, None)
