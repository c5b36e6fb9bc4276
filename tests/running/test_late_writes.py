"""Writes that finish in their own time: how many may be under way, and when a failed one is noticed."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.errors import StoreError
from limner.running.late_writes import BEHIND, LateWrites, most_unstored


@given(workers=st.integers(1, 6), stored=st.integers(0, 5))
def test_when_nothing_is_stored_any_longer_only_so_many_are_begun(workers: int, stored: int) -> None:
    """Workers that draw in no time, and a writer that stores some and then never answers."""
    begun = 0

    async def run() -> None:
        late = LateWrites(workers)
        nonlocal begun

        async def work() -> None:
            nonlocal begun
            while True:
                await late.caught_up()
                begun += 1
                write: Future[None] = Future()
                if begun <= stored:
                    write.set_result(None)
                await asyncio.sleep(0)
                late.add(write)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        await asyncio.sleep(0.001)
        for _ in range(20):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(run())
    assert stored + BEHIND * workers <= begun <= stored + most_unstored(workers)


def test_a_failed_write_lets_everybody_go_on_to_see_it() -> None:
    async def run() -> LateWrites:
        late = LateWrites(1)
        writes = [Future[None]() for _ in range(BEHIND)]
        for write in writes:
            late.add(write)
        threading.Timer(0.01, writes[0].set_exception, [StoreError("gone")]).start()
        await late.caught_up()
        return late

    error = asyncio.run(run()).error
    with pytest.raises(StoreError, match="gone"):
        raise error or AssertionError("not noticed")


def test_the_first_error_counts() -> None:
    late = LateWrites(2)
    for text in ("first", "second"):
        write: Future[None] = Future()
        late.add(write)
        write.set_exception(StoreError(text))
    assert str(late.error) == "first"
