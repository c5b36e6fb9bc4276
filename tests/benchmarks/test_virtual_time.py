"""Time that jumps: in the right order, never before work is done, and never unnoticed beside a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from benchmarks.virtual_time import NothingLeft, Server, TimedStore, run_virtually

DAY = 86_400.0


def test_a_day_passes_at_once_and_in_order() -> None:
    async def work() -> list[str]:
        seen: list[str] = []

        async def one(name: str, seconds: float) -> None:
            await asyncio.sleep(seconds)
            seen.append(name)

        await asyncio.gather(one("late", DAY), one("soon", 0.001), one("later", DAY + 0.001))
        return seen

    seen, seconds = run_virtually(work)
    assert seen == ["soon", "late", "later"]
    assert seconds == pytest.approx(DAY + 0.001)


def test_work_of_a_thread_is_done_before_time_goes_on() -> None:
    async def work() -> list[str]:
        seen: list[str] = []

        def slow() -> None:
            time.sleep(0.02)
            seen.append("thread")

        async def timer() -> None:
            await asyncio.sleep(0.000_001)
            seen.append("timer")

        await asyncio.gather(timer(), asyncio.to_thread(slow))
        return seen

    seen, seconds = run_virtually(work)
    assert seen == ["thread", "timer"]
    assert seconds == pytest.approx(0.000_001)


def test_what_fails_in_a_thread_fails_for_whoever_waits() -> None:
    async def work() -> None:
        await asyncio.to_thread(int, "none")

    with pytest.raises(ValueError, match="none"):
        run_virtually(work)


def test_a_thread_beside_the_loop_is_noticed() -> None:
    async def work() -> None:
        loop, heard = asyncio.get_running_loop(), asyncio.Event()
        other = threading.Thread(target=lambda: loop.call_soon_threadsafe(heard.set))
        other.start()
        other.join()
        await heard.wait()

    with pytest.raises(RuntimeError, match="threads called into the loop 1 times"):
        run_virtually(work)


def test_a_wait_for_nothing_ends() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeft):
        run_virtually(work)


def test_a_server_serves_one_after_the_other() -> None:
    async def work() -> tuple[list[float], float]:
        two, ends = Server(2), []

        async def one() -> None:
            await two.use(3)
            ends.append(asyncio.get_running_loop().time())

        await asyncio.gather(*(one() for _ in range(5)))
        return ends, two.busy

    assert run_virtually(work) == (([3, 3, 6, 6, 9], 15), 9)


def test_writes_take_the_databases_time_and_are_really_made(tmp_path: Path) -> None:
    with TimedStore(str(tmp_path / "store"), Server(), write_s=2, commit_s=1) as store:
        store.write(lambda connection: connection.execute(sa.text("create table notes (n integer primary key)")))

        def insert(n: int) -> sa.TextClause:
            return sa.text(f"insert into notes values ({n})")

        async def work() -> list[float]:
            ends = []

            async def one(n: int) -> None:
                await store.awrite(lambda connection: connection.execute(insert(n)).rowcount)
                ends.append(asyncio.get_running_loop().time())

            await asyncio.gather(*(one(n) for n in range(3)))
            with pytest.raises(Exception, match="UNIQUE"):
                await one(0)
            return ends

        assert run_virtually(work) == ([3, 5, 7], 10)
        with store.reading() as connection:
            assert connection.scalars(sa.text("select n from notes order by n")).all() == [0, 1, 2]
