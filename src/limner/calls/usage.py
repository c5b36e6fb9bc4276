"""Usage as a service tells it, checked before it is money."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

MOST_TOKENS = 10**9
"""No reply has more, whatever its service says."""
FAR, SPARE = 10.0, 1.0
"""A reply that costs so many times its bound, and so many dollars more, did not cost that."""


@dataclass(frozen=True)
class Bill:
    """What a reply cost.

    Attributes:
        cost: Dollars; None where that is not known.
        doubt: Why the service's word on it is not credible: then the journal counts the call's bound.
    """

    cost: float | None
    doubt: str | None = None


class Incredible(ValueError):
    """A count or an amount that cannot be."""


def bill(price: Callable[[], float | None], bound: float | None) -> Bill:
    """Return what a reply cost by a price that is made with `told_tokens` and `told_dollars`.

    Args:
        price: Reads what the service told; None where it tells too little.
        bound: The most one attempt can cost, where that is known.
    """
    try:
        cost = price()
        if cost is not None and bound is not None and cost > FAR * bound + SPARE:
            raise Incredible(f"${cost:.6g} for a call that costs ${bound:.6g} at most")
    except Incredible as error:
        return Bill(None, f"usage not credible: {error}"[:200])
    return Bill(cost)


def doubt_of(cost: float | None) -> str | None:
    """Why an amount of whatever origin cannot be counted; None where it can."""
    return None if cost is None or 0 <= cost < math.inf else f"usage not credible: the cost is {_short(cost)}"


def told_usage(reply: Mapping[str, Any], name: str = "usage") -> Mapping[str, Any]:
    """Return the part of a reply that tells usage; empty where there is none.

    Raises:
        Incredible: It is something else.
    """
    usage = reply.get(name) or {}
    if not isinstance(usage, Mapping):
        raise Incredible(f"{name} is {_short(usage)}")
    return usage


def told_tokens(usage: Mapping[str, Any], name: str) -> int | None:
    """Return a number of tokens as a service tells it; None where it does not.

    Raises:
        Incredible: It is no whole number, below nought or beyond all measure.
    """
    found = _number(usage.get(name), name)
    if found is None:
        return None
    if found != int(found):
        raise Incredible(f"{name} is {found!r}")
    if found > MOST_TOKENS:
        raise Incredible(f"{name} is {found:.6g}")
    return int(found)


def told_dollars(usage: Mapping[str, Any], name: str) -> float | None:
    """Return an amount as a service tells it; None where it does not.

    Raises:
        Incredible: It is no number, or below nought.
    """
    found = _number(usage.get(name), name)
    return None if found is None else float(found)


def billed_cost(usage: Mapping[str, Any]) -> float | None:
    """Dollars where the service itself tells them, as OpenRouter does; None where it does not.

    Raises:
        Incredible: An amount is none.
    """
    told = [told_dollars(usage, "cost")]
    if told[0] is not None and usage.get("is_byok"):
        # What the user's own key is charged elsewhere comes on top.
        told.append(told_dollars(told_usage(usage, "cost_details"), "upstream_inference_cost"))
    return None if None in told else sum(amount for amount in told if amount is not None)


def _number(value: Any, name: str) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Incredible(f"{name} is {_short(value)}")
    if value < 0 or value > 1e18 or not math.isfinite(value):
        raise Incredible(f"{name} is {_short(value)}")
    return value


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 40 else f"{said[:40]}…"


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
