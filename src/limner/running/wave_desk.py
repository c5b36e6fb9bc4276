"""What handing batches in and waiting for them share: the services, and what is written down of a batch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from ..calls import Fault
from ..calls import batches as stored
from ..calls.batch_services import BatchService, open_batches
from ..calls.batches import BatchCalls
from ..core.errors import StopRun


class WaveDesk:
    """See the module. `stopping` says whether nothing new is to be begun; `mine` are the batches begun here."""

    def __init__(self, calls: BatchCalls, stopping: Callable[[], bool]) -> None:
        self.calls, self.store, self.stopping = calls, calls.store, stopping
        self.mine: set[str] = set()
        self._services: dict[str, BatchService] = {}

    def service(self, name: str) -> BatchService:
        """The batches of a provider."""
        if name not in self._services:
            self._services[name] = open_batches(name, self.calls.providers[name])
        return self._services[name]

    async def release(self, tag: str, why: str, was: str) -> None:
        """Set the calls of a batch free that the service has not taken; see `limner.calls.batches.release`."""
        if await asyncio.to_thread(stored.release, self.store, tag, why, was):
            self.calls.released(self.calls.waiting_in(tag))
            self.calls.batches.discard(tag)

    async def change(self, tag: str, was: tuple[str, ...], **changes: Any) -> bool:
        """See `limner.calls.batches.change`."""
        return await asyncio.to_thread(stored.change, self.store, tag, was, **changes)

    async def pause(self, seconds: float) -> None:
        """Wait, unless nothing is to be waited for any longer."""
        over = time.monotonic() + seconds
        while (left := over - time.monotonic()) > 0 and not self.stopping():
            await asyncio.sleep(min(0.1, left))

    def stopped(self, service: str, fault: Fault, what: str = "the batch") -> StopRun:
        """What ends a run when a service does not go along."""
        told = f"{service}, {what}: {fault.detail} ({fault.kind})"
        return StopRun(f"{told}; the run stops here, and the same command goes on once this is mended")
