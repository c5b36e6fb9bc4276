"""One writer thread with group commit: many small writes share one durable transaction."""

from __future__ import annotations

import asyncio
import queue
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from ..core.redaction import printable

T = TypeVar("T")
Operation = Callable[[Connection], Any]
Waiter = Future[Any] | asyncio.Future[Any]
"""The future of a caller that waits for a commit, in a thread or in an event loop."""
Queued = tuple[Operation, Waiter]
MAX_GROUP = 256
GATHER_S = 0.002
"""Seconds that a transaction waits for more writes, if the last one had several; each commit is expensive."""


class Writer:
    """A thread that runs write operations in order and returns their results only after the commit.

    Operations wait while the database server is away.
    """

    def __init__(
        self,
        engine: Engine,
        check: Callable[[], None] = lambda: None,
        telling: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Start the thread.

        Args:
            engine: The engine for writing.
            check: Raises if the database is no longer the one that was opened; called before and after a commit.
            telling: Turns database errors into messages for the callers.
        """
        self._engine, self._check, self._telling = engine, check, telling
        self._queue: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._shared = False
        self._thread = threading.Thread(target=self._loop, name="limner-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        """Queue an operation; its future completes after the commit that includes it."""
        future: Future[T] = Future()
        # From now on it cannot be cancelled: what was paid for is written even if no one waits for it.
        future.set_running_or_notify_cancel()
        self._queue.put((operation, future))
        return future

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Queue an operation and continue after its commit; it is written even if the caller stops waiting."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put((operation, future))
        return await future

    def close(self) -> None:
        """Finish queued operations and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = [first], True
            if self._shared:
                time.sleep(GATHER_S)
            while more and len(batch) < MAX_GROUP:
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
                if item is None:
                    more = False
                else:
                    batch.append(item)
            self._shared = len(batch) > 1
            self._commit(batch)
            if not more:
                return

    def _commit(self, batch: list[Queued]) -> None:
        try:
            # Operations can be repeated: a connection may be lost before or after the commit.
            with self._telling():
                results = retry_while_away(lambda: self._together([operation for operation, _ in batch]))
        except BaseException as error:
            if len(batch) == 1:
                _deliver([(batch[0][1], None, error)])
                return
            # One of them failed and all were rolled back; when they run separately, only that one fails.
            for queued in batch:
                self._commit([queued])
            return
        _deliver([(waiting, result, None) for (_, waiting), result in zip(batch, results, strict=True)])

    def _together(self, operations: list[Operation]) -> list[Any]:
        self._check()
        with self._engine.begin() as connection:
            results = [operation(connection) for operation in operations]
        self._check()  # A write to a file that was moved or deleted does not count as stored.
        return results


def _deliver(outcomes: Sequence[tuple[Waiter, Any, BaseException | None]]) -> None:
    """Give every caller the outcome of its write; each event loop is woken once for all its callers."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiter, Any, BaseException | None]]] = {}
    for outcome in outcomes:
        if isinstance(outcome[0], asyncio.Future):
            loops.setdefault(outcome[0].get_loop(), []).append(outcome)
        else:
            _resolve_futures([outcome])
    for loop, waiting in loops.items():
        # A closed loop has no callers.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_resolve_futures, waiting)


def _resolve_futures(outcomes: Sequence[tuple[Waiter, Any, BaseException | None]]) -> None:
    for waiting, result, error in outcomes:
        if waiting.done():
            continue  # It was cancelled.
        if error is None:
            waiting.set_result(result)
        else:
            waiting.set_exception(error)


WAIT_S = 600.0
"""Seconds after which an absent server is an error."""
NOTICE_S = 2.0
"""Seconds after which an absent server is reported."""
COLLISIONS = frozenset({"40P01", "40001"})
RESTARTS = frozenset({"57P01", "57P02", "57P03", "53300"})
"""SQL states of a server that was shut down, crashed, is not ready yet or has no free connection."""


def is_passing(error: BaseException) -> bool:
    """Return whether the same action may succeed if it is repeated later."""
    # Only drivers of servers report a state; SQLite's errors are different, and none of them is transient.
    if not isinstance(error, DBAPIError) or error.orig is None or not hasattr(error.orig, "sqlstate"):
        return False
    state: str | None = error.orig.sqlstate
    if error.connection_invalidated or state in COLLISIONS | RESTARTS or (state or "").startswith("08"):
        return True
    # Without a state, the server could not be reached.
    return state is None and type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout")


def retry_while_away(action: Callable[[], T]) -> T:
    """Run a database action and return its result, retrying while the server is away.

    Raises:
        DBAPIError: The action failed permanently, or the server was away for `WAIT_S`.
    """
    began, pause, notified = time.monotonic(), 0.05, False
    while True:
        try:
            return action()
        except DBAPIError as error:
            away = time.monotonic() - began
            if not is_passing(error) or away > WAIT_S:
                raise
            if away > NOTICE_S and not notified:
                notified = True
                why = str(error.orig).strip().splitlines()[:1]
                print(printable(f"the database does not answer ({''.join(why)}); waiting for it"), file=sys.stderr)
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(1.0, pause * 1.5)
