"""How a run ends early: the first signal lets it finish what is in flight, the second ends it at once."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

from .progress import Progress


class Stopping:
    """Whether a run is to begin nothing more.

    Attributes:
        asked: Set by a signal, or by whoever finds that there is no use in going on.
    """

    def __init__(self, progress: Progress) -> None:
        self.progress, self.asked = progress, False

    def ask(self) -> None:
        """Begin nothing more; what is in flight is finished."""
        self.asked = self.progress.interrupted = True

    @contextmanager
    def signals(self) -> Iterator[None]:
        """Signals are listened to inside; the run's own task is the current one."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            if self.asked and task is not None:
                task.cancel()
            self.ask()

        # Not through the loop's own handlers: those would take the place of who counts signals for the command line.
        def pass_on(_number: int, _frame: object) -> None:
            loop.call_soon_threadsafe(stop)

        try:
            before = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:
            yield  # Not the main thread: leave the signals alone.
            return
        try:
            yield
        except asyncio.CancelledError:
            if not self.progress.interrupted:
                raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
