"""Writes that finish while the work goes on, and no more of them than a run may lose."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import Future

BEHIND = 2
"""For each worker of a run, so many writes may be under way when it begins something new."""


def most_unstored(concurrency: int) -> int:
    """How many drawings can be begun that are not stored, when nothing is stored any longer.

    When a worker begins one, fewer than `BEHIND` writes a worker are under way, and each other worker is at one.
    """
    return BEHIND * concurrency - 1 + concurrency


class LateWrites:
    """The writes of a run: what they hold can be had from the journal again, so nobody waits for each of them.

    Attributes:
        error: Why the first one failed that did.
    """

    def __init__(self, concurrency: int) -> None:
        self.error: BaseException | None = None
        self._most = BEHIND * concurrency
        self._behind: deque[Future[None]] = deque()

    def add(self, write: Future[None]) -> None:
        """Let a write finish in its own time."""
        self._behind.append(write)
        write.add_done_callback(self._look)

    async def caught_up(self) -> None:
        """Wait until there is room for one more; at once where a write has failed."""
        while True:
            while self._behind and self._behind[0].done():
                # It may be done before its callback is called.
                self._look(self._behind.popleft())
            if len(self._behind) < self._most or self.error is not None:
                return
            oldest = asyncio.wrap_future(self._behind[0])
            await asyncio.wait([oldest])
            if not oldest.cancelled():
                oldest.exception()

    def _look(self, write: Future[None]) -> None:
        self.error = self.error or write.exception()
