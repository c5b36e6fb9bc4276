"""Pools of workers: jobs wait for a free one, those that agree are done in one go, and one that dies is replaced.

Workers start when there is work, end when there has been none for a while or when this process ends. Whatever one of
them does costs the items it had in hand and no others.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from .frames import BadFrame
from .process import Process
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerUnfit

DEATHS = 3
"""So many workers in a row that die before they are of any use, and no further one is tried."""
IDLE_S = 300.0
"""Seconds without work after which a worker is ended, for it holds much memory."""
LINGER_S = 0.05
"""How long a free worker waits for a batch to fill: little beside the work, long beside the asking."""


@dataclass(eq=False)
class _Job:
    given: Mapping[str, Any]
    bodies: Sequence[bytes]
    seconds: float
    item: Mapping[str, Any] | None
    future: Future[JobResult] = field(default_factory=Future)


class Pool:
    """Workers of one recipe, each with a thread that waits for it; both begin when there is work for them.

    Args:
        recipe: How workers are made.
        places: One worker each, with these arguments on top of the recipe's, such as a device.
        batch_size: The most items done in one go; None for jobs that have no items.
        idle_s: Seconds without work after which a worker is ended; None keeps it.
    """

    def __init__(
        self,
        recipe: Recipe,
        places: Sequence[Mapping[str, Any]] | None = None,
        batch_size: int | None = None,
        idle_s: float | None = IDLE_S,
    ) -> None:
        self.recipe, self._batch_size, self._idle_s = recipe, batch_size, idle_s
        self.started = 0
        self._free = deque([{}] * recipe.workers if places is None else places)
        self._waiting: deque[_Job] = deque()
        self._change = threading.Condition()
        self._threads = self._open = self._idle = self._deaths = 0
        self._unfit: WorkerUnfit | None = None
        self._closed = False
        self._processes: set[Process] = set()

    def submit(
        self,
        given: Mapping[str, Any],
        bodies: Sequence[bytes] = (),
        *,
        seconds: float,
        item: Mapping[str, Any] | None = None,
    ) -> Future[JobResult]:
        """Queue a job, or an item to be done together with others of the same `given`; cancelled before, it is not.

        The future ends with `JobFailure` for what the worker could not do, `WorkerDeath` where it was lost, and
        `WorkerUnfit` where there is no hope for any job.
        """
        job = _Job(given, bodies, seconds, item)
        with self._change:
            if self._unfit is not None:
                job.future.set_exception(WorkerUnfit(str(self._unfit), loading=self._unfit.loading))
                return job.future
            self._waiting.append(job)
            self._open += 1
            if self._free and self._threads < self._open:
                self._threads += 1
                place = self._free.popleft()
                threading.Thread(target=self._work, args=(place,), name="limner-worker", daemon=True).start()
            self._change.notify_all()
        return job.future

    def close(self) -> None:
        """End all workers, whatever they are doing."""
        with self._change:
            self._closed = True
            processes = list(self._processes)
        self._give_up(WorkerUnfit("it was closed"), ())
        for process in processes:
            process.kill()

    def _work(self, place: Mapping[str, Any]) -> None:
        mine: Process | None = None
        while (batch := self._gather(place)) is not None:
            try:
                if batch:
                    mine = mine if mine is not None and mine.alive else self._start(place)
                    self._ask(mine, batch)
            except BadFrame as error:
                self._end(batch, JobFailure("error", str(error)))
            except WorkerDeath as death:
                self._lost(death, batch)
            except WorkerUnfit as error:
                self._give_up(error, batch)
            except Exception as error:
                self._end(batch, error)
            if mine is not None and not mine.alive:
                self._stop(mine)
                mine = None
            del batch
        if mine is not None:
            self._stop(mine)

    def _gather(self, place: Mapping[str, Any]) -> list[_Job] | None:
        """What to do next in one go; None where this thread is not needed any longer."""
        most = self._batch_size or 1
        with self._change:
            self._idle += 1
            idle = not self._change.wait_for(lambda: self._waiting or self._closed, self._idle_s)
            end = time.monotonic() + (LINGER_S if most > 1 else 0.0)
            while not self._closed and self._waiting and len(self._alike()) < most:
                if not self._change.wait(max(0.0, end - time.monotonic())):
                    break
            if idle or self._closed:
                self._idle -= 1
                self._threads -= 1
                self._free.append(place)
                return None
            alike = self._alike()
            # What is left at the end is shared out among those with nothing to do.
            taken = alike[: min(most, -(-len(alike) // self._idle))]
            for job in taken:
                self._waiting.remove(job)
            self._idle -= 1
            wanted = [job for job in taken if job.future.set_running_or_notify_cancel()]
            self._open -= len(taken) - len(wanted)
        return wanted

    def _alike(self) -> list[_Job]:
        """What waits and agrees with the first in all that a batch shares."""
        if not self._waiting or self._batch_size is None:
            return [self._waiting[0]] if self._waiting else []
        return [job for job in self._waiting if job.given == self._waiting[0].given]

    def _start(self, place: Mapping[str, Any]) -> Process:
        found = Process(self.recipe, place)
        with self._change:
            self._processes.add(found)
            closed = self._closed
        if closed:
            found.kill()
        try:
            found.load()
        except BaseException:
            self._stop(found)
            raise
        self.started += 1
        if not self.recipe.careful:
            self._deaths = 0
        return found

    def _stop(self, process: Process) -> None:
        process.stop()
        with self._change:
            self._processes.discard(process)

    def _ask(self, process: Process, batch: Sequence[_Job]) -> None:
        bodies = [body for job in batch for body in job.bodies]
        items = None if self._batch_size is None else [[job.item, len(job.bodies)] for job in batch]
        for place, found in process.ask(batch[0].given, bodies, sum(job.seconds for job in batch), items):
            if isinstance(found, JobResult):
                self._deaths = 0
            self._end(batch if place is None else [batch[place]], found)
        self._end(batch, JobFailure("error", "no answer"))

    def _lost(self, death: WorkerDeath, batch: Sequence[_Job]) -> None:
        self._deaths += death.loading or self.recipe.careful
        if self._deaths >= DEATHS:
            self._give_up(WorkerUnfit(f"{self._deaths} times in a row {death}", loading=death.loading), batch)
        self._end(batch, death)

    def _give_up(self, error: WorkerUnfit, batch: Sequence[_Job]) -> None:
        """Nothing more can be done: tell all who wait."""
        with self._change:
            self._unfit = error
            rest = [job for job in self._waiting if job.future.set_running_or_notify_cancel()]
            self._open -= len(self._waiting) - len(rest)
            self._waiting.clear()
            self._change.notify_all()
        self._end([*batch, *rest], error)

    def _end(self, jobs: Sequence[_Job], found: JobResult | Exception) -> None:
        """Tell those who wait for these jobs, but for those who were told before."""
        for job in jobs:
            if job.future.done():
                continue
            with self._change:
                self._open -= 1
            if isinstance(found, JobResult):
                job.future.set_result(found)
            else:
                job.future.set_exception(found)


def once(recipe: Recipe, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float) -> JobResult:
    """One job by a worker of its own; raises what a future of `Pool.submit` would."""
    process = Process(recipe)
    try:
        process.load()
        for _, found in process.ask(given, bodies, seconds):
            if isinstance(found, JobResult):
                return found
            raise found
        raise JobFailure("error", "no answer")
    finally:
        process.finish()


_pools: dict[Recipe, Pool] = {}
_lock = threading.Lock()


def pool_of(recipe: Recipe) -> Pool:
    """The one pool of this process for a recipe."""
    with _lock:
        if recipe not in _pools:
            _pools[recipe] = Pool(recipe)
        return _pools[recipe]


# A forked process has none of the threads: it begins anew.
os.register_at_fork(after_in_child=_pools.clear)
