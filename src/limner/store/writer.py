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
Waiting = Future[Any] | asyncio.Future[Any]
"""Whoever waits for a commit, in a thread or in an event loop."""
Queued = tuple[Operation, Waiting]
MOST = 256
GATHER_S = 0.002
"""So long a transaction waits for others to join it where the last one was shared: each costs as much as a write."""


class Writer:
    """Runs write operations in the order they come; a result is given out only once it is committed.

    While the database's server is away they wait for it.
    """

    def __init__(
        self,
        engine: Engine,
        check: Callable[[], None] = lambda: None,
        telling: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """Start the thread.

        Args:
            engine: Where to write.
            check: Raises when the database is no longer the one that was opened; asked before and after a commit.
            telling: Turns what the database cannot help into what whoever waits is told.
        """
        self._engine, self._check, self._telling = engine, check, telling
        self._queue: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._shared = False
        self._thread = threading.Thread(target=self._loop, name="limner-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        """Queue an operation; its future ends after the commit it is part of."""
        future: Future[T] = Future()
        # From here on nobody can cancel it: what was paid for is written even if nobody waits any longer.
        future.set_running_or_notify_cancel()
        self._queue.put((operation, future))
        return future

    async def write(self, operation: Callable[[Connection], T]) -> T:
        """Queue an operation and go on after the commit it is part of; it is written also where nobody waits for it."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put((operation, future))
        return await future

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = [first], True
            if self._shared:
                time.sleep(GATHER_S)
            while more and len(batch) < MOST:
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
            # Operations can be done twice: whether a connection was lost before or after the commit is not known.
            with self._telling():
                results = waited(lambda: self._together([operation for operation, _ in batch]))
        except BaseException as error:
            if len(batch) == 1:
                _tell([(batch[0][1], None, error)])
                return
            # One of them failed and all are undone: alone, only that one fails.
            for one in batch:
                self._commit([one])
            return
        _tell([(waiting, result, None) for (_, waiting), result in zip(batch, results, strict=True)])

    def _together(self, operations: list[Operation]) -> list[Any]:
        self._check()
        with self._engine.begin() as connection:
            results = [operation(connection) for operation in operations]
        self._check()  # Nothing is given out as stored that went into a file which nobody can find again.
        return results


def _tell(told: Sequence[tuple[Waiting, Any, BaseException | None]]) -> None:
    """Tell everyone what has become of their write; an event loop is woken once for all that wait in it."""
    loops: dict[asyncio.AbstractEventLoop, list[tuple[Waiting, Any, BaseException | None]]] = {}
    for one in told:
        if isinstance(one[0], asyncio.Future):
            loops.setdefault(one[0].get_loop(), []).append(one)
        else:
            _end([one])
    for loop, those in loops.items():
        # A loop that is closed has nobody who waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_end, those)


def _end(told: Sequence[tuple[Waiting, Any, BaseException | None]]) -> None:
    for waiting, result, error in told:
        if waiting.done():
            continue  # Cancelled meanwhile.
        if error is None:
            waiting.set_result(result)
        else:
            waiting.set_exception(error)


WAIT_S = 600.0
"""How long a server may be away before that is an error."""
TELL_S = 2.0
"""A server that is away for so long is told of."""
COLLISIONS = frozenset({"40P01", "40001"})
RESTARTS = frozenset({"57P01", "57P02", "57P03", "53300"})
"""SQL states: shut down by its operator, crashed, not ready yet, no connection to be had."""


def is_passing(error: BaseException) -> bool:
    """Whether the same thing may succeed later, as it is: nothing of it was kept, or it can be done twice."""
    # Only drivers of servers tell a state; SQLite's errors are of another sort, and none of them passes.
    if not isinstance(error, DBAPIError) or error.orig is None or not hasattr(error.orig, "sqlstate"):
        return False
    state: str | None = error.orig.sqlstate
    if error.connection_invalidated or state in COLLISIONS | RESTARTS or (state or "").startswith("08"):
        return True
    # Without a state the server has not said anything: it cannot be reached.
    return state is None and type(error.orig).__name__ in ("OperationalError", "ConnectionTimeout")


def waited(action: Callable[[], T]) -> T:
    """Do something with a database, again and again while its server is away.

    Raises:
        DBAPIError: It failed for good, or the server stayed away for `WAIT_S`.
    """
    began, pause, told = time.monotonic(), 0.05, False
    while True:
        try:
            return action()
        except DBAPIError as error:
            away = time.monotonic() - began
            if not is_passing(error) or away > WAIT_S:
                raise
            if away > TELL_S and not told:
                told = True
                why = str(error.orig).strip().splitlines()[:1]
                print(printable(f"the database does not answer ({''.join(why)}); waiting for it"), file=sys.stderr)
            time.sleep(random.uniform(pause / 2, pause))
            pause = min(1.0, pause * 1.5)
