"""Lanes: one per service, with its requests and tokens per minute, its time limits, and its pauses."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

WINDOW_S = 10.0
"""Limits per minute are kept in windows this long: no burst of a whole minute's share at once."""


@dataclass(frozen=True)
class Limits:
    """What a service allows, and how long to wait for it.

    Attributes:
        attempt_s: Seconds one attempt may take.
        call_s: Seconds after which no further attempt is begun.
    """

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    attempt_s: float = 600.0
    call_s: float = 3600.0


class Lane:
    """The way to one service."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._requests = _limiter(limits.requests_per_minute)
        self._tokens = _limiter(limits.tokens_per_minute)
        self._open_at = 0.0

    async def enter(self, tokens: int = 0) -> None:
        """Wait for this attempt's turn."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None and tokens:
            await self._tokens.acquire(min(float(tokens), self._tokens.max_rate))
        while (wait := self._open_at - time.monotonic()) > 0:
            await asyncio.sleep(wait)

    def hold(self, seconds: float) -> None:
        """The service asked to wait: everything on this lane does."""
        self._open_at = max(self._open_at, time.monotonic() + seconds)


def _limiter(per_minute: float | None) -> AsyncLimiter | None:
    if per_minute is None:
        return None
    share = per_minute * WINDOW_S / 60
    # Below one in a window, one request per as many seconds as it takes.
    return AsyncLimiter(share, WINDOW_S) if share >= 1 else AsyncLimiter(1, 60 / per_minute)
