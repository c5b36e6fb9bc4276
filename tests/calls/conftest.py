from __future__ import annotations

import asyncio
import time
from types import SimpleNamespace

import pytest


class Clock:
    """Time that passes by sleeping only: nobody waits, and every wait is noted."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._start, self._real = time.monotonic(), asyncio.sleep

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await self._real(0)

    def monotonic(self) -> float:
        return self._start + sum(self.slept)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Takes the place of the journal's clock; the journal's beat must not run with it."""
    clock = Clock()
    monkeypatch.setattr(asyncio, "sleep", clock.sleep)
    for module in ("journal", "turns"):
        shim = SimpleNamespace(monotonic=clock.monotonic, perf_counter=time.perf_counter)
        monkeypatch.setattr(f"limner.calls.{module}.time", shim)
    return clock
