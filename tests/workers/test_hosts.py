"""Where workers stand: jobs of a lost machine are done by another, and room is waited for without holding jobs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from limner.workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerLost, WorkerUnfit, hosts, pool_of
from limner.workers.pool import LOSSES, close_pools
from limner.workers.process import ThisMachine, standing_on

LONG = 60.0


class Shaky:
    """A worker, its room and its hosts in one; its machine is lost by jobs that say so."""

    alive = True
    lost = 0
    unfit = ""

    def __init__(self, rooms: int = 2) -> None:
        self.rooms, self.done = rooms, list[str]()
        self.free = threading.Semaphore(rooms)
        self.wanting = 0

    def count(self, recipe: Recipe) -> int:
        return 4

    def devices(self, label: str, named: Sequence[str | None]) -> Sequence[str | None]:
        return ["any"] * 4

    def scarce(self, recipe: Recipe) -> bool:
        return False

    def room(self, recipe: Recipe, args: Mapping[str, Any], wanted: Callable[[], bool]) -> Any:
        if self.unfit:
            raise WorkerUnfit(self.unfit)
        while not self.free.acquire(timeout=0.02):
            if not wanted():
                return None
        return ShakyRoom(self)


class ShakyRoom:
    alive = True

    def __init__(self, owner: Shaky) -> None:
        self.owner = owner

    def start(self) -> Any:
        return self

    def leave(self) -> None:
        self.owner.free.release()

    def load(self) -> None:
        pass

    def ask(
        self, given: Mapping[str, Any], bodies: Sequence[bytes], seconds: float, items: Sequence[Any] | None = None
    ) -> Iterator[tuple[int | None, JobResult | JobFailure]]:
        for place, body in enumerate(bodies):
            word = body.decode()
            if word == "always" or (word == "once" and not self.owner.lost):
                self.owner.lost += 1
                self.alive = False
                raise WorkerLost("its node was lost")
            self.owner.done.append(word)
            yield place, JobResult(word)

    def kill(self) -> None:
        self.alive = False

    def stop(self) -> None:
        pass


def test_what_a_lost_machine_left_undone_is_done_by_another_and_nothing_twice() -> None:
    there = Shaky(1)
    pool = Pool(Recipe("shaky", "none"), batch_size=4, hosts=there)
    words = ["a", "b", "once", "c", "d"]
    jobs = [pool.submit({}, (word.encode(),), seconds=1.0, item={}) for word in words]
    assert [job.result(LONG).value for job in jobs] == words
    assert sorted(there.done) == sorted(words)
    assert there.lost == 1
    pool.close()


def test_a_job_that_loses_every_machine_is_to_blame() -> None:
    there = Shaky()
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    found = pool.submit({}, (b"always",), seconds=1.0).exception(LONG)
    assert isinstance(found, WorkerDeath)
    assert str(found) == f"{LOSSES} times in a row its node was lost"
    assert there.lost == LOSSES
    assert pool.submit({}, (b"fine",), seconds=1.0).result(LONG).value == "fine"
    pool.close()


def test_no_job_waits_for_room_that_never_comes() -> None:
    """Four workers are allowed and one has room: it does everything, whoever waits for more."""
    there = Shaky(1)
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    jobs = [pool.submit({}, (str(n).encode(),), seconds=1.0) for n in range(30)]
    assert [job.result(LONG).value for job in jobs] == [str(n) for n in range(30)]
    pool.close()


def test_where_there_can_be_no_room_all_are_told() -> None:
    there = Shaky()
    there.unfit = "no node has a GPU"
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    found = [pool.submit({}, (b"x",), seconds=1.0).exception(LONG) for _ in range(2)]
    assert [(type(each), str(each)) for each in found] == [(WorkerUnfit, "no node has a GPU")] * 2


def test_pools_are_of_the_hosts_that_are_chosen() -> None:
    there, recipe = Shaky(), Recipe("shaky", "none")
    here = pool_of(recipe)
    with standing_on(there):
        assert hosts() is there
        assert pool_of(recipe) is not here
        assert pool_of(recipe) is pool_of(recipe)
        assert pool_of(recipe).submit({}, (b"x",), seconds=1.0).result(LONG).value == "x"
        close_pools(there)
    assert isinstance(hosts(), ThisMachine)
    assert pool_of(recipe) is here


@pytest.mark.parametrize("named", [(None,), ("cuda:0", "cuda:1"), ("cpu",)])
def test_here_devices_are_those_named(named: tuple[str | None, ...]) -> None:
    assert ThisMachine().devices("diffusers", named) == named
