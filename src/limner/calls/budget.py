"""The budget: an upper bound is reserved before each attempt and settled by what it really cost."""

from __future__ import annotations

import asyncio

from ..errors import LimnerError, UsageError


class BudgetReached(LimnerError):
    """Nothing more fits into the budget, and nothing is in flight that could free some of it."""

    exit_code = 4


class Budget:
    """Dollars one command may spend; without a limit it only counts.

    What an attempt cost is not always known (a dropped connection, a process that died): then its whole bound counts
    as spent, so that the limit holds whatever the service charged.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and limit <= 0:
            raise UsageError(f"--budget takes dollars above 0, not {limit:g}")
        self.limit = limit
        self.spent = 0.0
        self.reserved = 0.0
        self._flying = 0
        self._changed = asyncio.Condition()

    async def reserve(self, bound: float | None, target: str) -> float:
        """Wait until `bound` fits, and set it aside.

        Raises:
            BudgetReached: It does not fit, and nothing in flight can free enough.
            UsageError: There is a limit, and nobody knows what this call can cost.
        """
        if self.limit is None:
            return bound or 0.0
        if bound is None:
            raise UsageError(f"--budget needs to know what a call to {target} can cost; {HELP}")
        async with self._changed:
            while self.spent + self.reserved + bound > self.limit + 1e-9:
                if not self._flying:
                    left = self.limit - self.spent
                    raise BudgetReached(
                        f"budget reached: ${self.spent:.4f} of ${self.limit:g} spent, and a call to {target} "
                        f"may cost ${bound:.4f} where ${left:.4f} is left; run again with a higher --budget to go on"
                    )
                await self._changed.wait()
            self.reserved += bound
            self._flying += 1
        return bound

    async def settle(self, bound: float, cost: float | None) -> None:
        """Give the reservation back and count the cost; an unknown one counts as its bound."""
        if self.limit is None:
            self.spent += cost or 0.0
            return
        async with self._changed:
            self.reserved -= bound
            self._flying -= 1
            self.spent += bound if cost is None else cost
            self._changed.notify_all()


HELP = "add its prices to limner.toml, and for chat models a token limit (--judge-arg max_completion_tokens=N)"
