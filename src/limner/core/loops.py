"""Runs asynchronous work from plain code, also where a loop runs already, as in a notebook."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
    """Return what the work gives.

    In a notebook a loop runs in this thread already: then the work gets a thread of its own, and this one waits for it.

    Args:
        work: Started at once.
        stop: In a notebook, called at the first interrupt: the work ends by itself. Without it, and at the second
            interrupt, the work is cancelled.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _beside(work, stop)


async def take_all(
    items: Iterable[T],
    take: Callable[[T], Awaitable[object]],
    concurrency: int,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Take every item, so many at a time, until it is over.

    After an error nothing more is begun; what is in flight, which may be paid for, ends before the error is raised.
    """
    queue, errors = iter(items), list[Exception]()

    async def work() -> None:
        while not errors and not is_over():
            try:
                # To find the next item may take a look into the store, which may fail as any step does.
                item = next(queue)
            except StopIteration:
                return
            except Exception as error:
                errors.append(error)
                return
            try:
                await take(item)
            except Exception as error:
                errors.append(error)

    await asyncio.gather(*(work() for _ in range(concurrency)))
    if errors:
        raise errors[0]


def _beside(work: Coroutine[Any, Any, T], stop: Callable[[], None] | None) -> T:
    found: Future[T] = Future()
    tasks: list[asyncio.Task[Any]] = []

    async def main() -> T:
        if (task := asyncio.current_task()) is not None:
            tasks.append(task)
        return await work

    def call() -> None:
        try:
            found.set_result(asyncio.run(main()))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), name="limner-run", daemon=True).start()
    interrupts = 0
    while True:
        try:
            return found.result()
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts == 1 and stop is not None:
                stop()
                continue
            for task in tasks:
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
