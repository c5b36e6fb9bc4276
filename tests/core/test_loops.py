"""Many items taken at once: none twice, and what is in flight ends before an error is raised."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from limner.core.loops import process_all


def test_every_item_is_processed_once_within_concurrency_limit() -> None:
    taken, flying, most = list[int](), 0, 0

    async def take(item: int) -> None:
        nonlocal flying, most
        flying += 1
        most = max(most, flying)
        await asyncio.sleep(0)
        taken.append(item)
        flying -= 1

    asyncio.run(process_all(range(20), take, 3))
    assert (sorted(taken), most) == (list(range(20)), 3)


@pytest.mark.parametrize("fault_in", ["item", "queue"])
def test_error_lets_running_items_finish_and_starts_no_more(fault_in: str) -> None:
    begun, ended = list[int](), list[int]()

    def items() -> Iterator[int]:
        yield from (0, 1)
        if fault_in == "queue":
            raise ValueError("queue")
        yield from range(2, 9)

    async def take(item: int) -> None:
        begun.append(item)
        for _ in range(5):
            await asyncio.sleep(0)
        if item == 2:
            raise ValueError("item")
        for _ in range(5):
            await asyncio.sleep(0)
        ended.append(item)

    with pytest.raises(ValueError, match=fault_in):
        asyncio.run(process_all(items(), take, 3))
    assert begun == ([0, 1, 2] if fault_in == "item" else [0, 1])
    assert ended == [0, 1]


def test_no_item_starts_after_stop_condition() -> None:
    taken = list[int]()

    async def take(item: int) -> None:
        taken.append(item)

    asyncio.run(process_all(range(9), take, 1, lambda: len(taken) == 4))
    assert taken == [0, 1, 2, 3]
