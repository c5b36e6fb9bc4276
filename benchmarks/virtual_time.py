"""An event loop in which hours of waiting pass at once, in their right order, for work that also uses threads.

Time stands still while anything is being done, and jumps to the next timer when nothing is left to do. Threads would
break that: their work goes on while the loop has nothing to do, and time must not jump before it is done. So what is
handed to an executor is done at once, in the loop's own thread, and so is every write of a `TimedStore`. No thread is
then ever at work when time jumps; one that is, because somebody found another way, calls the loop from outside, which
ends the run with an error.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any, TypeVar
from unittest import mock

import sqlalchemy as sa

from limner.store import Store
from limner.store.writer import Writer

T = TypeVar("T")
START = 1_800_000_000.0
"""The time of day when a simulation begins, in seconds since 1970."""


class NothingLeft(RuntimeError):
    """Somebody waits, and nothing will ever happen: no timer is set and no thread is waited for."""


class _Jumps(selectors.SelectSelector):
    """Does not wait: time jumps to the moment something is due."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.jumps = 0.0, 0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise NothingLeft("no timer is set, and nothing else can happen")
        self.now += timeout
        self.jumps += 1
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own.

    Attributes:
        foreign: How often another thread has called into the loop; a simulation with any is worth nothing.
    """

    def __init__(self) -> None:
        self._jumps = _Jumps()
        self._home, self.foreign = threading.get_ident(), 0
        super().__init__(self._jumps)

    def time(self) -> float:
        """Seconds since the loop was made, as they pass in it."""
        return self._jumps.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> asyncio.Future[Any]:
        """Do it at once, in this thread: it takes no time here."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., Any], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """As in every loop, but other threads are noticed."""
        self.foreign += threading.get_ident() != self._home
        return super().call_soon_threadsafe(callback, *args, context=context)


class Server:
    """Something that serves so many at a time, first come, first served: cores, a database."""

    def __init__(self, places: int = 1) -> None:
        self._free, self.busy = [0.0] * places, 0.0

    def done_at(self, seconds: float) -> float:
        """When something that takes so long is done, if it is handed over now."""
        place = min(range(len(self._free)), key=self._free.__getitem__)
        self._free[place] = max(self._free[place], asyncio.get_running_loop().time()) + seconds
        self.busy += seconds
        return self._free[place]

    async def use(self, seconds: float) -> None:
        """Wait for a place, and for the end of what is done there."""
        if seconds:
            await asyncio.sleep(self.done_at(seconds) - asyncio.get_running_loop().time())


class _AtOnce(Writer):
    """Commits in the thread of whoever writes, each write alone."""

    def __init__(self, engine: sa.Engine, check: Callable[[], None]) -> None:
        self._engine, self._check, self._telling = engine, check, nullcontext

    def submit(self, operation: Callable[[sa.Connection], T]) -> Future[T]:
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        self._commit([(operation, future)])
        return future

    def close(self) -> None:
        """There is no thread to end."""


class TimedStore(Store):
    """A store whose writes take the time of a database that does one after the other, inside a `VirtualLoop`.

    Attributes:
        database: Does the writes; shared by all who write to it.
        write_s: Seconds of the database for one write.
        commit_s: Seconds more until whoever wrote hears of the commit.
    """

    def __init__(self, place: str, database: Server, write_s: float = 0.0, commit_s: float = 0.0) -> None:
        super().__init__(place)
        self._writer = _AtOnce(self._writers, self.check_same)
        self.database, self.write_s, self.commit_s, self.writes = database, write_s, commit_s, 0

    def submit(self, operation: Callable[[sa.Connection], T]) -> Future[T]:
        """Write at once and for good; say so when the database would have."""
        done = super().submit(operation)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return done
        if not isinstance(loop, VirtualLoop):
            return done
        self.writes += 1
        later: Future[T] = Future()
        later.set_running_or_notify_cancel()
        loop.call_at(self.database.done_at(self.write_s) + self.commit_s, _pass_on, done, later)
        return later

    async def awrite(self, operation: Callable[[sa.Connection], T]) -> T:
        """Write, and go on when the database would have written it."""
        return await asyncio.wrap_future(self.submit(operation))

    def write(self, operation: Callable[[sa.Connection], T]) -> T:
        """Write and wait, which takes no time: it happens before a run alone."""
        return super().submit(operation).result()


def _pass_on(done: Future[T], later: Future[T]) -> None:
    if (error := done.exception()) is not None:
        later.set_exception(error)
    else:
        later.set_result(done.result())


@contextmanager
def clock_of(loop: asyncio.AbstractEventLoop, seed: int) -> Iterator[None]:
    """The journal, its limits and its leases go by the loop's clock; back-off and orders by a seeded chance."""
    ours = SimpleNamespace(monotonic=loop.time, perf_counter=loop.time)
    of_day = SimpleNamespace(time=lambda: START + loop.time(), monotonic=time.monotonic, sleep=time.sleep)
    with ExitStack() as patches:
        for module in ("calls.journal", "calls.rate_limit", "running.steps"):
            patches.enter_context(mock.patch(f"limner.{module}.time", ours))
        patches.enter_context(mock.patch("limner.store.store.time", of_day))
        chance = random.Random(seed)
        patches.enter_context(mock.patch("limner.calls.attempts.random", chance))
        own = SimpleNamespace(SystemRandom=lambda: random.Random(chance.random()))
        patches.enter_context(mock.patch("limner.running.backlog.random", own))
        yield


def run_virtually(work: Callable[[], Coroutine[Any, Any, T]], seed: int = 0) -> tuple[T, float]:
    """What the work gives, and how many seconds passed in it.

    Raises:
        NothingLeft: It waits for something that cannot happen.
        RuntimeError: A thread was at work beside the loop.
    """
    loop = VirtualLoop()
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner, clock_of(loop, seed):
            result = runner.run(work())
            seconds = loop.time()
            if loop.foreign:
                raise RuntimeError(f"threads called into the loop {loop.foreign} times: time may have jumped too soon")
            return result, seconds
    finally:
        if threading.current_thread() is threading.main_thread():
            # Several runs at once give signals back in another order than they took them.
            for number, handler in kept.items():
                signal.signal(number, handler)
