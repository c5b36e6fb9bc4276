"""Running of asynchronous work from synchronous code, even if an event loop already runs, as in a notebook."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
    """Run the work and return its result.

    In a notebook, an event loop already runs in this thread; the work then runs in another thread, and this one waits.

    Args:
        work: The coroutine to run.
        stop: In a notebook, called at the first interrupt, to let the work finish. Without it, or at a second
            interrupt, the work is cancelled.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _run_in_thread(work, stop)


async def process_all(
    items: Iterable[T],
    take: Callable[[T], Awaitable[object]],
    concurrency: int,
    is_over: Callable[[], bool] = lambda: False,
) -> None:
    """Process all items, `concurrency` at a time, until `is_over` returns true.

    After an error no further item is started. Items in progress, which may be paid for, finish before it is raised.
    """
    queue, errors = iter(items), list[Exception]()

    async def work() -> None:
        while not errors and not is_over():
            try:
                # Getting the next item may read the store, which can fail like any other step.
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


def _run_in_thread(work: Coroutine[Any, Any, T], stop: Callable[[], None] | None) -> T:
    outcome: Future[T] = Future()
    tasks: list[asyncio.Task[Any]] = []

    async def main() -> T:
        if (task := asyncio.current_task()) is not None:
            tasks.append(task)
        return await work

    def call() -> None:
        try:
            outcome.set_result(asyncio.run(main()))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=contextvars.copy_context().run, args=(call,), name="limner-run", daemon=True).start()
    interrupts = 0
    while True:
        try:
            return outcome.result()
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts == 1 and stop is not None:
                stop()
                continue
            for task in tasks:
                task.get_loop().call_soon_threadsafe(task.cancel)
            raise
