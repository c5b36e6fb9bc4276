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
from .process import Hosts, Process, Room, Worker, hosts
from .process import hosts as chosen_hosts
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerLost, WorkerUnfit

DEATHS = 3
"""So many workers in a row that die before they are of any use, and no further one is tried."""
IDLE_S = 300.0
"""Seconds without work after which a worker is ended, for it holds much memory."""
LOSSES = 3
"""So many workers that are lost with their machines while at one job, and it is not given to another."""
ASIDE_S = 2.0
"""Seconds without work after which a worker steps aside for others that wait for its room."""
LINGER_S = 0.05
"""How long a free worker waits for a batch to fill: little beside the work, long beside the asking."""


@dataclass(eq=False)
class _Job:
    given: Mapping[str, Any]
    bodies: Sequence[bytes]
    seconds: float
    item: Mapping[str, Any] | None
    future: Future[JobResult] = field(default_factory=Future)
    losses: int = 0

    def begin(self) -> bool:
        """Whether somebody still waits for it; from now on it cannot be cancelled."""
        return self.future.running() or self.future.set_running_or_notify_cancel()


class Pool:
    """Workers of one recipe, each with a thread that waits for it; both begin when there is work for them.

    Args:
        recipe: How workers are made.
        places: One worker each, with these arguments on top of the recipe's, such as a device.
        batch_size: The most items done in one go; None for jobs that have no items.
        idle_s: Seconds without work after which a worker is ended; None keeps it.
        hosts: Where its workers stand; by default as `limner.workers.process.hosts` says.
    """

    def __init__(
        self,
        recipe: Recipe,
        places: Sequence[Mapping[str, Any]] | None = None,
        batch_size: int | None = None,
        idle_s: float | None = IDLE_S,
        hosts: Hosts | None = None,
    ) -> None:
        self.recipe, self._batch_size, self._idle_s = recipe, batch_size, idle_s
        self._hosts = hosts or chosen_hosts()
        self.started = 0
        self._free = deque([{}] * self._hosts.count(recipe) if places is None else places)
        self._waiting: deque[_Job] = deque()
        self._change = threading.Condition()
        self._threads = self._open = self._idle = self._deaths = 0
        self._unfit: WorkerUnfit | None = None
        self._closed = False
        self._workers: set[Worker] = set()

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
            workers = list(self._workers)
        self._give_up(WorkerUnfit("it was closed"), ())
        for worker in workers:
            worker.kill()

    def _work(self, place: Mapping[str, Any]) -> None:
        # Room comes before jobs: none may be held back by one who waits for room.
        needed = True
        while needed and (room := self._enter(place)) is not None:
            mine: Worker | None = None
            while room.alive:
                batch = self._gather(place)
                needed = batch is not None
                if batch is None:
                    break
                mine = self._do(batch, room, mine)
                del batch
            if mine is not None:
                self._stop(mine)
            room.leave()

    def _enter(self, place: Mapping[str, Any]) -> Room | None:
        """Room for a worker; None where this thread is not needed any longer."""
        while True:
            found = None
            try:
                found = self._hosts.room(self.recipe, place, lambda: bool(self._waiting) and not self._closed)
            except WorkerUnfit as error:
                self._give_up(error, ())
            with self._change:
                if found is not None:
                    return found
                if not self._waiting or self._closed:
                    self._threads -= 1
                    self._free.append(place)
                    return None

    def _do(self, batch: Sequence[_Job], room: Room, mine: Worker | None) -> Worker | None:
        """Have a batch done; returns the worker that can be asked again."""
        try:
            if batch:
                mine = mine if mine is not None and mine.alive else self._start(room)
                self._ask(mine, batch)
        except BadFrame as error:
            self._end(batch, JobFailure("error", str(error)))
        except WorkerDeath as death:
            self._lost(death, batch)
        except WorkerLost as error:
            self._again(batch, error)
        except WorkerUnfit as error:
            self._give_up(error, batch)
        except Exception as error:
            self._end(batch, error)
        if mine is not None and not mine.alive:
            self._stop(mine)
            return None
        return mine

    def _gather(self, place: Mapping[str, Any]) -> list[_Job] | None:
        """Return what to do next in one go; None where this thread is not needed any longer."""
        most = self._batch_size or 1
        with self._change:
            self._idle += 1
            idle = not self._await_work()
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
            wanted = [job for job in taken if job.begin()]
            self._open -= len(taken) - len(wanted)
        return wanted

    def _await_work(self) -> bool:
        """Whether there is something to do before this worker has been idle for too long."""
        begun = time.monotonic()
        while not (self._waiting or self._closed):
            idle = time.monotonic() - begun
            if idle >= ASIDE_S and self._hosts.scarce(self.recipe):
                return False
            if self._idle_s is not None and idle >= self._idle_s:
                return False
            self._change.wait(ASIDE_S if self._idle_s is None else min(ASIDE_S, self._idle_s - idle))
        return True

    def _alike(self) -> list[_Job]:
        """Return what waits and agrees with the first in all that a batch shares."""
        if not self._waiting or self._batch_size is None:
            return [self._waiting[0]] if self._waiting else []
        return [job for job in self._waiting if job.given == self._waiting[0].given]

    def _start(self, room: Room) -> Worker:
        found = room.start()
        with self._change:
            self._workers.add(found)
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

    def _stop(self, worker: Worker) -> None:
        worker.stop()
        with self._change:
            self._workers.discard(worker)

    def _ask(self, worker: Worker, batch: Sequence[_Job]) -> None:
        bodies = [body for job in batch for body in job.bodies]
        items = None if self._batch_size is None else [[job.item, len(job.bodies)] for job in batch]
        for place, found in worker.ask(batch[0].given, bodies, sum(job.seconds for job in batch), items):
            if isinstance(found, JobResult):
                self._deaths = 0
            self._end(batch if place is None else [batch[place]], found)
        self._end(batch, JobFailure("error", "no answer"))

    def _lost(self, death: WorkerDeath, batch: Sequence[_Job]) -> None:
        self._deaths += death.loading or self.recipe.careful
        if self._deaths >= DEATHS:
            self._give_up(WorkerUnfit(f"{self._deaths} times in a row {death}", loading=death.loading), batch)
        self._end(batch, death)

    def _again(self, batch: Sequence[_Job], lost: WorkerLost) -> None:
        """Give what a lost machine has left undone to others, as long as that is not the jobs' own doing."""
        left = [job for job in batch if not job.future.done()]
        for job in left:
            job.losses += 1
        with self._change:
            unfit = self._unfit
            back = [job for job in left if job.losses < LOSSES and unfit is None]
            self._waiting.extendleft(reversed(back))
            self._change.notify_all()
        over = [job for job in left if job not in back]
        self._end(over, unfit or WorkerDeath(f"{LOSSES} times in a row {lost}"))

    def _give_up(self, error: WorkerUnfit, batch: Sequence[_Job]) -> None:
        """Nothing more can be done: tell all who wait."""
        with self._change:
            self._unfit = error
            rest = [job for job in self._waiting if job.begin()]
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


_pools: dict[tuple[Recipe, Hosts], Pool] = {}
_lock = threading.Lock()


def pool_of(recipe: Recipe) -> Pool:
    """Return the one pool of this process for a recipe, where workers now stand."""
    place = hosts()
    with _lock:
        if (recipe, place) not in _pools:
            _pools[recipe, place] = Pool(recipe, hosts=place)
        return _pools[recipe, place]


def close_pools(place: Hosts) -> None:
    """End the pools there that `pool_of` has made."""
    with _lock:
        gone = [_pools.pop(key) for key in list(_pools) if key[1] is place]
    for pool in gone:
        pool.close()


# A forked process has none of the threads: it begins anew.
os.register_at_fork(after_in_child=_pools.clear)
