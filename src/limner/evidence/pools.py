"""Pools of workers: what is to be measured waits for a free one, and one that dies is replaced.

A local backend can crash or hang on an odd image. In a process of its own it takes nothing with it: the image gets a
fault, a fresh worker gets the next one. Workers start when there is work, end when there has been none for a while or
when this process ends, and are shared by everyone in it who asks for the same backend.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ..calls import Fault
from .workers import Dead, Recipe, Unfit, Worker, ending

STARTS = 3
"""So many workers in a row that do not even start, and no further one is tried."""
IDLE_S = 300.0
"""Seconds without work after which a worker is ended, for it holds much memory."""


@dataclass
class _Job:
    data: bytes
    given: Mapping[str, Any]
    seconds: float
    future: Future[Any] = field(default_factory=Future)


class Pool:
    """Workers of one recipe, each with a thread that waits for it; both begin when there is work for them."""

    def __init__(self, recipe: Recipe, idle_s: float = IDLE_S) -> None:
        self.recipe, self._idle_s = recipe, idle_s
        self.started = 0
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = self._open = self._unstarted = 0
        self._unfit: str | None = None

    def submit(self, data: bytes, given: Mapping[str, Any], seconds: float) -> Future[Any]:
        """Queue a measurement: its future ends with the value, or with a `Fault`."""
        job = _Job(data, given, seconds)
        with self._lock:
            self._open += 1
            if self._threads < min(self._open, self.recipe.workers):
                self._threads += 1
                threading.Thread(target=self._loop, name="limner-worker", daemon=True).start()
        self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """Let every thread end its worker once it is done with what it has in hand."""
        with self._lock:
            for _ in range(self._threads):
                self._jobs.put(None)

    def _loop(self) -> None:
        # A worker dies with the thread that made it: each thread has its own, as long as it lives.
        mine: Worker | None = None
        while (job := self._next()) is not None:
            if job.future.set_running_or_notify_cancel():
                try:
                    mine = mine if mine is not None and mine.alive else self._start()
                    job.future.set_result(self._value(mine.ask(job.data, job.given, job.seconds)))
                except (Dead, Unfit) as error:
                    job.future.set_exception(Fault("probe", f"{self.recipe.label}: {error}"))
                except BaseException as error:
                    job.future.set_exception(error)
            del job
            with self._lock:
                self._open -= 1
        if mine is not None:
            mine.stop()

    def _next(self) -> _Job | None:
        """The next job, or None where this thread is not needed any longer."""
        while True:
            try:
                return self._jobs.get(timeout=self._idle_s)
            except queue.Empty:
                with self._lock:
                    if self._open < self._threads:
                        self._threads -= 1
                        return None

    def _start(self) -> Worker:
        if self._unfit is not None:
            raise Unfit(self._unfit)
        if ending():
            raise Dead("this process is ending")
        try:
            found = Worker(self.recipe)
        except (Dead, Unfit, OSError) as error:
            self._unstarted += 1
            said = f"it cannot be started: {error}"
            if isinstance(error, Unfit) or self._unstarted >= STARTS:
                self._unfit = said
            raise Unfit(said) from error
        self.started, self._unstarted = self.started + 1, 0
        return found

    def _value(self, answer: dict[str, Any]) -> Any:
        if "fault" in answer:
            prefix = "" if answer["fault"] == "image" else f"{self.recipe.label}: "
            raise Fault(answer["fault"], prefix + answer["detail"])
        return answer.get("value")


_pools: dict[Recipe, Pool] = {}
_lock = threading.Lock()


def pool_of(recipe: Recipe) -> Pool:
    """The one pool of this process for a recipe."""
    with _lock:
        if recipe not in _pools:
            _pools[recipe] = Pool(recipe)
        return _pools[recipe]


if hasattr(os, "register_at_fork"):
    # A forked process has none of the threads: it begins anew.
    os.register_at_fork(after_in_child=_pools.clear)
