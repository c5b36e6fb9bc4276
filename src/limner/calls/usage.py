"""Usage reported by services, checked before it counts as money."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

MOST_TOKENS = 10**9
"""More tokens than any reply has; a larger report is not credible."""
FAR, SPARE = 10.0, 1.0
"""A cost above `FAR` times the bound plus `SPARE` dollars is not credible."""
TOO_DEAR = "usage not credible: far above the price list: "
"""The beginning of the doubt about such a cost, after which a run with a budget stops."""
CHEAPEST = 0.1
"""A reported amount below this share of the list price is not credible; discounts for cached prompts reach it."""
CHARS_PER_TOKEN = 8
"""More characters than a token has on average in any language, apart from spaces and repeated characters."""
PICTURE_TOKENS, IMAGE_TOKENS = 16, 64
"""Fewer tokens than any service counts for a picture that it reads, and for one that it draws."""
_COMPRESSIBLE = re.compile(r"\s+|(.)(?=\1)")
"""Spaces and repeated characters, of which one token may hold many."""


@dataclass(frozen=True)
class Bill:
    """The cost of a reply.

    Attributes:
        cost: Dollars; None if unknown.
        doubt: Why the reported cost is not credible; the journal then counts the call's bound.
    """

    cost: float | None
    doubt: str | None = None


class Incredible(ValueError):
    """The exception for a reported count or amount that cannot be true."""


def bill(price: Callable[[], float | None], bound: float | None) -> Bill:
    """Return the cost of a reply by a price function that uses `reported_tokens` and `reported_dollars`.

    Args:
        price: Computes the cost from the reported usage; None if too little is reported.
        bound: The most that one attempt can cost, if known.
    """
    try:
        cost = price()
        if cost is not None and bound is not None and cost > FAR * bound + SPARE:
            return Bill(None, f"{TOO_DEAR}${cost:.6g}")
    except Incredible as error:
        return Bill(None, f"usage not credible: {error}"[:200])
    return Bill(cost)


def doubt_of(cost: float | None) -> str | None:
    """Return why an amount cannot be counted; None if it can."""
    return None if cost is None or 0 <= cost < math.inf else f"usage not credible: the cost is {_short(cost)}"


def reported_usage(reply: Mapping[str, Any], name: str = "usage") -> Mapping[str, Any]:
    """Return the part of a reply that reports usage; empty if there is none.

    Raises:
        Incredible: It is not an object.
    """
    usage = reply.get(name) or {}
    if not isinstance(usage, Mapping):
        raise Incredible(f"{name} is {_short(usage)}")
    return usage


def fewest_tokens(text: str) -> int:
    """Return a number of tokens that no tokenizer stays below for a text of usual words.

    >>> fewest_tokens("Draw a water molecule and label its atoms."), fewest_tokens("-" * 400)
    (4, 0)
    """
    return len(_COMPRESSIBLE.sub("", text)) // CHARS_PER_TOKEN


def reported_tokens(usage: Mapping[str, Any], name: str, fewest: int = 0) -> int | None:
    """Return a number of tokens as a service reports it; None if it does not.

    Args:
        usage: What the service reports.
        name: The field.
        fewest: The tokens that were sent or received at least; see `fewest_tokens`.

    Raises:
        Incredible: It is not a whole number, is negative, is impossibly large or is below `fewest`.
    """
    tokens = _number(usage.get(name), name)
    if tokens is None:
        return None
    if tokens != int(tokens):
        raise Incredible(f"{name} is {tokens!r}")
    if tokens > MOST_TOKENS:
        raise Incredible(f"{name} is {tokens:.6g}")
    if tokens < fewest:
        raise Incredible(f"{name} is {tokens:.6g} for a text of at least {fewest}")
    return int(tokens)


def reported_dollars(usage: Mapping[str, Any], name: str) -> float | None:
    """Return an amount as a service reports it; None if it does not.

    Raises:
        Incredible: It is not a number, or is negative.
    """
    dollars = _number(usage.get(name), name)
    return None if dollars is None else float(dollars)


def check_amount(dollars: float, listed: float | None) -> float:
    """Return an amount that a service reports, after comparing it with the list price of the least it can be for.

    Raises:
        Incredible: It is far below the list price.
    """
    if listed and dollars < CHEAPEST * listed:
        raise Incredible(f"${dollars:.6g} for what costs at least ${listed:.6g} by the price list")
    return dollars


def billed_cost(usage: Mapping[str, Any]) -> float | None:
    """Return the dollars that the service itself reports, as OpenRouter does; None if it does not.

    Raises:
        Incredible: An amount is not a valid number.
    """
    amounts = [reported_dollars(usage, "cost")]
    if amounts[0] is not None and usage.get("is_byok"):
        # The charge to the user's own key at the upstream service comes on top.
        amounts.append(reported_dollars(reported_usage(usage, "cost_details"), "upstream_inference_cost"))
    return None if None in amounts else sum(amount for amount in amounts if amount is not None)


def _number(value: Any, name: str) -> int | float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Incredible(f"{name} is {_short(value)}")
    if value < 0 or value > 1e18 or not math.isfinite(value):
        raise Incredible(f"{name} is {_short(value)}")
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


BUDGET, RETRY = "the budget", "another try"
"""Reasons for waiting, apart from services."""


@dataclass
class Tally:
    """Calls and their cost."""

    made: int = 0
    stored: int = 0
    spent: float = 0.0
    unpriced: int = 0
    doubted: int = 0

    def count(self, cost: float | None, doubted: bool) -> None:
        """Count one attempt; a cost of None is unknown."""
        self.made += 1
        self.doubted += doubted
        if cost is None:
            self.unpriced += 1
        else:
            self.spent += cost


_account: ContextVar[Tally | None] = ContextVar("account", default=None)


@contextmanager
def charged_to(account: Tally) -> Iterator[None]:
    """Count calls made in this block, and in tasks it starts, on this account too."""
    token = _account.set(account)
    try:
        yield
    finally:
        _account.reset(token)


def current_account() -> Tally | None:
    """Return the account that calls are being counted on."""
    return _account.get()


class Waits:
    """The numbers of waiting calls by reason: `BUDGET`, `RETRY`, or a service's turn."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    @contextmanager
    def waiting(self, reason: str) -> Iterator[None]:
        """Count one call as waiting for this reason inside the block."""
        self._counts[reason] += 1
        try:
            yield
        finally:
            self._counts[reason] -= 1

    def count(self, reason: str, calls: int) -> None:
        """Set the number of calls that wait for this reason."""
        self._counts[reason] = calls

    @property
    def now(self) -> dict[str, int]:
        """The number of waiting calls by reason, at this moment."""
        return {reason: count for reason, count in self._counts.items() if count}
