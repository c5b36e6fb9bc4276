"""What a process has done so far: calls, money, and what calls wait for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

BUDGET, RETRY = "the budget", "another try"
"""What calls wait for, beside services."""


@dataclass
class Tally:
    """Calls and their cost."""

    made: int = 0
    stored: int = 0
    spent: float = 0.0
    unpriced: int = 0
    doubted: int = 0

    def count(self, cost: float | None, doubted: bool) -> None:
        """Count one attempt; nobody knows what it cost where that is None."""
        self.made += 1
        self.doubted += doubted
        if cost is None:
            self.unpriced += 1
        else:
            self.spent += cost


_account: ContextVar[Tally | None] = ContextVar("account", default=None)


@contextmanager
def charged_to(account: Tally) -> Iterator[None]:
    """Calls made inside, in this task and those it starts, are counted here too."""
    token = _account.set(account)
    try:
        yield
    finally:
        _account.reset(token)


def current_account() -> Tally | None:
    """On whose account calls are being made."""
    return _account.get()


class Waits:
    """How many calls wait, and for what: `BUDGET`, `RETRY`, or a service's turn."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def waiting(self, reason: str) -> Iterator[None]:
        """Inside, one call more waits for this."""
        self._counts[reason] += 1
        try:
            yield
        finally:
            self._counts[reason] -= 1

    def count(self, reason: str, calls: int) -> None:
        """So many calls wait for this now."""
        self._counts[reason] = calls

    @property
    def now(self) -> dict[str, int]:
        """What calls wait for at this moment, and how many of them."""
        return {reason: count for reason, count in self._counts.items() if count}
