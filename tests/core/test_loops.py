"""Asynchronous work from plain code, with and without a loop that runs already."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from unittest import mock

import pytest

from limner.core.loops import run_to_end


async def here() -> tuple[int, str]:
    await asyncio.sleep(0)
    return 1, threading.current_thread().name


def test_without_a_loop_it_runs_here() -> None:
    assert run_to_end(here()) == (1, threading.current_thread().name)


def test_within_a_loop_it_runs_beside() -> None:
    async def cell() -> tuple[int, str]:
        return run_to_end(here())

    assert asyncio.run(cell()) == (1, "limner-run")


def test_what_goes_wrong_is_raised_here() -> None:
    async def wrong() -> None:
        raise ValueError("no")

    async def cell() -> None:
        run_to_end(wrong())

    with pytest.raises(ValueError, match="no"):
        asyncio.run(cell())


@pytest.mark.parametrize("gently", [True, False])
def test_an_interrupt_stops_or_cancels(gently: bool) -> None:
    """The stop button of a notebook: what is in flight is finished; where nothing can be asked, it is cancelled."""
    stops: list[int] = []
    seen: list[bool] = []
    waiting, cancelled = threading.Event(), threading.Event()

    class Interrupted(Future[str]):
        """Its first reader is interrupted while the work goes on."""

        def result(self, timeout: float | None = None) -> str:
            if not seen:
                seen.append(waiting.wait(60))
                raise KeyboardInterrupt
            return super().result(timeout)

    async def work() -> str:
        waiting.set()
        try:
            while not stops:
                await asyncio.sleep(0.005)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "whole"

    async def cell() -> str:
        return run_to_end(work(), (lambda: stops.append(1)) if gently else None)

    with mock.patch("limner.core.loops.Future", Interrupted):
        if gently:
            assert asyncio.run(cell()) == "whole"
        else:
            with pytest.raises(KeyboardInterrupt):
                asyncio.run(cell())
            assert cancelled.wait(60)
