"""One writer thread with group commit: many small writes share one durable transaction."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine

T = TypeVar("T")
Operation = Callable[[Connection], Any]
MOST = 256


class Writer:
    """Runs write operations in the order they come; a result is given out only once it is committed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
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
        done: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self._engine.begin() as connection:
                for operation, future in batch:
                    # A savepoint each: one failing operation must not undo its neighbours.
                    try:
                        with connection.begin_nested():
                            done.append((future, operation(connection), None))
                    except Exception as error:
                        done.append((future, None, error))
        except BaseException as error:
            for _, future in batch:
                future.set_exception(error)
            return
        for future, result, fault in done:
            if fault is None:
                future.set_result(result)
            else:
                future.set_exception(fault)
