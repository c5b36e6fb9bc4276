"""The budget: an upper bound is reserved before each attempt and settled by what it really cost."""

from __future__ import annotations

import asyncio

from ..core.errors import LimnerError, UsageError

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
        purse: The purse in the store that has the limit in this one's place; see `limner.calls.reservations`.
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
    """What an attempt counts: its cost, or its bound where nobody knows that."""
    return bound if cost is None else cost


HELP = "add its prices to limner.toml, and for chat models a token limit (--judge-arg max_completion_tokens=N)"
