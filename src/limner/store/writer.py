"""One writer thread with group commit: many small writes share one durable transaction."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

from .outage import waited

T = TypeVar("T")
Operation = Callable[[Connection], Any]
MOST = 256


class Writer:
    """Runs write operations in the order they come; a result is given out only once it is committed.

    While the database's server is away they wait for it.
    """

    def __init__(self, engine: Engine, check: Callable[[], None] = lambda: None) -> None:
        """`check` raises when the database is no longer the one that was opened; asked before and after a commit."""
        self._engine, self._check = engine, check
        self._queue: queue.SimpleQueue[tuple[Operation, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._loop, name="limner-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[Connection], T]) -> Future[T]:
        """Queue an operation; its future ends after the commit it is part of."""
        future: Future[T] = Future()
        # From here on nobody can cancel it: what was paid for is written even if nobody waits any longer.
        future.set_running_or_notify_cancel()
        self._queue.put((operation, future))
        return future

    def close(self) -> None:
        """Finish what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _loop(self) -> None:
        while (first := self._queue.get()) is not None:
            batch, more = [first], True
            while more and len(batch) < MOST:
                try:
                    item = self._queue.get_nowait()
                except queue.Empty:
                    break
                if item is None:
                    more = False
                else:
                    batch.append(item)
            self._commit(batch)
            if not more:
                return

    def _commit(self, batch: list[tuple[Operation, Future[Any]]]) -> None:
        try:
            # Operations can be done twice: whether a connection was lost before or after the commit is not known.
            results = waited(lambda: self._together([operation for operation, _ in batch]))
        except BaseException as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            # One of them failed and all are undone: alone, only that one fails.
            for one in batch:
                self._commit([one])
            return
        for (_, future), result in zip(batch, results, strict=True):
            future.set_result(result)

    def _together(self, operations: list[Operation]) -> list[Any]:
        self._check()
        with self._engine.begin() as connection:
            results = [operation(connection) for operation in operations]
        self._check()  # Nothing is given out as stored that went into a file which nobody can find again.
        return results
