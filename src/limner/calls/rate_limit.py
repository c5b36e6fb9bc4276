"""What a service allows: requests and tokens per minute, time limits, and pauses it asks for."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass

MINUTE_S = 60.0
AT_ONCE_S = 1.0
"""After a pause, this many seconds' share may go at once; services may count by the second."""


@dataclass(frozen=True)
class Limits:
    """What a service allows, and how long to wait for it.

    Attributes:
        attempt_s: Seconds one attempt may take.
        call_s: Seconds after which no further attempt is begun.
        idempotency_header: The header by which the service recognises a repeated request.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    attempt_s: float = 600.0
    call_s: float = 3600.0
    idempotency_header: str | None = None


class RateLimit:
    """The gate that lets calls through to one service: first come, first served."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._requests = _meter(limits.requests_per_minute)
        self._tokens = _meter(limits.tokens_per_minute)
        self._open_at = 0.0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: int = 0) -> None:
        """Wait for this attempt's turn; it counts from the moment it is let through."""
        async with self._turn:
            # Checked together: a call that waits for a pause to end must not use up its share before.
            while (wait := self._wait(tokens)) > 0:
                await asyncio.sleep(wait)
            at = time.monotonic()
            if self._requests is not None:
                self._requests.take(1, at)
            if self._tokens is not None and tokens:
                self._tokens.take(tokens, at)

    def hold(self, seconds: float) -> None:
        """Delay every call to the service by the seconds it asked for."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)

    def _wait(self, tokens: int) -> float:
        at = time.monotonic()
        free = [self._open_at]
        if self._requests is not None:
            free.append(self._requests.free_at(1, at))
        if self._tokens is not None and tokens:
            free.append(self._tokens.free_at(tokens, at))
        return max(free) - at


class Meter:
    """A limit of `per_minute` in any minute, spread evenly over it.

    An amount larger than a minute's share goes alone, and takes as many minutes as it fills.
    """

    def __init__(self, per_minute: float) -> None:
        self._limit = per_minute
        self._taken: deque[tuple[float, float]] = deque()
        self._used = 0.0
        self._due = float("-inf")

    def free_at(self, amount: float, at: float) -> float:
        """Return the time at which this amount can be let through, as seen at time `at`."""
        while self._taken and self._taken[0][0] <= at:
            self._used -= self._taken.popleft()[1]
        free, over = self._due, self._used + min(amount, self._limit) - self._limit
        for end, size in self._taken:
            if over <= 0:
                break
            free, over = max(free, end), over - size
        return free

    def take(self, amount: float, at: float) -> None:
        """Count an amount that is let through now."""
        share, minutes = min(amount, self._limit), amount / self._limit
        self._taken.append((at + MINUTE_S * max(1.0, minutes), share))
        self._used += share
        self._due = max(self._due, at - AT_ONCE_S) + MINUTE_S * minutes


def _meter(per_minute: float | None) -> Meter | None:
    return None if per_minute is None else Meter(per_minute)
