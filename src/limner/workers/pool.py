"""Pools of workers: jobs wait for a free worker, equal jobs are done together, dead workers are replaced.

Workers start when there is work, and end after a while without work or with this process. A crash costs only the items
that the worker had at the time.
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

from .child import BadFrame
from .process import Hosts, Process, Room, Worker, hosts
from .process import hosts as chosen_hosts
from .recipe import JobFailure, JobResult, Recipe, WorkerDeath, WorkerLost, WorkerUnfit

DEATHS = 3
"""Deaths in a row before any useful work, after which no further worker is tried."""
IDLE_S = 300.0
"""Seconds without work after which a worker is ended to free its memory."""
LOSSES = 3
"""Lost machines after which a job is not tried again."""
ASIDE_S = 2.0
"""Seconds without work after which a worker makes room for others that wait."""
LINGER_S = 0.05
"""Seconds that a free worker waits for a batch to fill."""


@dataclass(eq=False)
class _Job:
    given: Mapping[str, Any]
    bodies: Sequence[bytes]
    seconds: float
    item: Mapping[str, Any] | None
    future: Future[JobResult] = field(default_factory=Future)
    losses: int = 0

    def begin(self) -> bool:
        """Return whether a caller still waits for the job; from now on it cannot be cancelled."""
        return self.future.running() or self.future.set_running_or_notify_cancel()


class Pool:
    """The workers of one recipe, each with a thread that waits for it; both start when there is work.

    Args:
        recipe: How workers are made.
        places: The extra arguments of each worker, such as a device.
        batch_size: The most items done in one go; None for jobs that have no items.
        idle_s: Seconds without work after which a worker is ended; None keeps it.
        hosts: Where its workers run; by default `limner.workers.process.hosts()`.
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
        """Queue a job, or an item to be done together with others of the same `given`.

        The future ends with `JobFailure` if the worker could not do it, `WorkerDeath` if the worker died, and
        `WorkerUnfit` if no worker can do any such job.
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
        # Get room before jobs: no job may be held by a thread that waits for room.
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
        """Return room for a worker; None if this thread is no longer needed."""
        while True:
            room = None
            try:
                room = self._hosts.room(self.recipe, place, lambda: bool(self._waiting) and not self._closed)
            except WorkerUnfit as error:
                self._give_up(error, ())
            with self._change:
                if room is not None:
                    return room
                if not self._waiting or self._closed:
                    self._threads -= 1
                    self._free.append(place)
                    return None

    def _do(self, batch: Sequence[_Job], room: Room, mine: Worker | None) -> Worker | None:
        """Have a batch done; return the worker if it can be asked again."""
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
        """Return the jobs to do next in one go; None if this thread is no longer needed."""
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
            # The last jobs are shared among the idle workers.
            taken = alike[: min(most, -(-len(alike) // self._idle))]
            for job in taken:
                self._waiting.remove(job)
            self._idle -= 1
            wanted = [job for job in taken if job.begin()]
            self._open -= len(taken) - len(wanted)
        return wanted

    def _await_work(self) -> bool:
        """Wait for work; return False if the worker has been idle for too long."""
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
        """Return the waiting jobs that can be done in one batch with the first."""
        if not self._waiting or self._batch_size is None:
            return [self._waiting[0]] if self._waiting else []
        return [job for job in self._waiting if job.given == self._waiting[0].given]

    def _start(self, room: Room) -> Worker:
        worker = room.start()
        with self._change:
            self._workers.add(worker)
            closed = self._closed
        if closed:
            worker.kill()
        try:
            worker.load()
        except BaseException:
            self._stop(worker)
            raise
        self.started += 1
        if not self.recipe.careful:
            self._deaths = 0
        return worker

    def _stop(self, worker: Worker) -> None:
        worker.stop()
        with self._change:
            self._workers.discard(worker)

    def _ask(self, worker: Worker, batch: Sequence[_Job]) -> None:
        bodies = [body for job in batch for body in job.bodies]
        items = None if self._batch_size is None else [[job.item, len(job.bodies)] for job in batch]
        for place, answer in worker.ask(batch[0].given, bodies, sum(job.seconds for job in batch), items):
            if isinstance(answer, JobResult):
                self._deaths = 0
            self._end(batch if place is None else [batch[place]], answer)
        self._end(batch, JobFailure("error", "no answer"))

    def _lost(self, death: WorkerDeath, batch: Sequence[_Job]) -> None:
        self._deaths += death.loading or self.recipe.careful
        if self._deaths >= DEATHS:
            self._give_up(WorkerUnfit(f"{self._deaths} times in a row {death}", loading=death.loading), batch)
        self._end(batch, death)

    def _again(self, batch: Sequence[_Job], lost: WorkerLost) -> None:
        """Requeue the unfinished jobs of a lost machine, unless the jobs themselves seem to be the cause."""
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
        """Fail all waiting jobs, because no worker can do them."""
        with self._change:
            self._unfit = error
            rest = [job for job in self._waiting if job.begin()]
            self._open -= len(self._waiting) - len(rest)
            self._waiting.clear()
            self._change.notify_all()
        self._end([*batch, *rest], error)

    def _end(self, jobs: Sequence[_Job], answer: JobResult | Exception) -> None:
        """Settle these jobs, except those that are already settled."""
        for job in jobs:
            if job.future.done():
                continue
            with self._change:
                self._open -= 1
            if isinstance(answer, JobResult):
                job.future.set_result(answer)
            else:
                job.future.set_exception(answer)


def once(recipe: Recipe, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float) -> JobResult:
    """Do one job in a worker of its own; raises what a future of `Pool.submit` would."""
    process = Process(recipe)
    try:
        process.load()
        for _, answer in process.ask(given, bodies, seconds):
            if isinstance(answer, JobResult):
                return answer
            raise answer
        raise JobFailure("error", "no answer")
    finally:
        process.finish()


_pools: dict[tuple[Recipe, Hosts], Pool] = {}
_lock = threading.Lock()


def pool_of(recipe: Recipe) -> Pool:
    """Return this process's pool for a recipe on the current hosts."""
    place = hosts()
    with _lock:
        if (recipe, place) not in _pools:
            _pools[recipe, place] = Pool(recipe, hosts=place)
        return _pools[recipe, place]


def close_pools(place: Hosts) -> None:
    """Close the pools that `pool_of` made on these hosts."""
    with _lock:
        gone = [_pools.pop(key) for key in list(_pools) if key[1] is place]
    for pool in gone:
        pool.close()


# A forked process has none of the threads: it starts with no pools.
os.register_at_fork(after_in_child=_pools.clear)
