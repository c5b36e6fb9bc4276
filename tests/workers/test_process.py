"""One worker process: whatever it sends affects only its own job."""

from __future__ import annotations

import json
import os
import pickle
import resource
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from limner.workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerLost, WorkerUnfit, hosts, pool_of
from limner.workers import process as module
from limner.workers.child import LENGTHS, MARK
from limner.workers.pool import LOSSES, close_pools
from limner.workers.process import Hosts, Process, standing_on

READY = """
import json, os, struct, sys, threading
def send(data):
    while data:
        data = data[os.write(1, data):]
def frame(head, total=0):
    words = json.dumps({"sizes": [], **head}).encode()
    return struct.pack(">4sIQ", b"LMN1", len(words), total) + words
send(frame({"ready": True}))
"""


@pytest.fixture
def lying(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes processes that are ready, and then run some code instead of answering."""
    made: list[Process] = []

    def start(code: str) -> Process:
        (tmp_path / "child.py").write_text(READY + code, "utf-8")
        monkeypatch.setattr(module, "CHILD", tmp_path / "child.py")
        made.append(Process(Recipe("liar", "none:none", most=1000)))
        made[-1].load()
        return made[-1]

    yield start
    for each in made:
        each.stop()


def asked(process: Process, seconds: float = 30.0, items: Any = None) -> list[Any]:
    return list(process.ask({}, (), seconds, items))


class Trap:
    """Makes a file where it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return (os.mkdir, (str(self.place),))


@pytest.mark.parametrize("wrapped", [False, True])
def test_pickle_from_worker_is_not_loaded(lying: Any, tmp_path: Path, wrapped: bool) -> None:
    data = pickle.dumps(Trap(tmp_path / "sprung"))
    if wrapped:
        data = LENGTHS.pack(MARK, len(data), 0) + data
    with pytest.raises(WorkerDeath, match="the worker was ended"):
        asked(lying(f"send({data!r}); threading.Event().wait()"))
    assert not (tmp_path / "sprung").exists()


LIES = {
    "ten gigabytes": ('send(struct.pack(">4sIQ", b"LMN1", 20, 10_000_000_000) + b"x" * 2**20)', "10,000,000,000 bytes"),
    "a long header": ('send(struct.pack(">4sIQ", b"LMN1", 2**32 - 1, 0) + b"x" * 2**20)', "4,294,967,295 bytes"),
    "more than asked": ('send(frame({"job": 1, "place": 0, "sizes": [1001]}, 1001))', "1,001 bytes"),
    "garbage": ('send(b"\\xff" * 4096)', "not a frame"),
    "no object": ('send(struct.pack(">4sIQ", b"LMN1", 2, 0) + b"[]")', "does not fit"),
    "another job": ('send(frame({"job": 7, "place": 0, "value": 1}))', "another job"),
    "another item": ('send(frame({"job": 1, "place": 1, "value": 1}))', "for an unknown item"),
    "an odd item": ('send(frame({"job": 1, "place": [], "value": 1}))', "for an unknown item"),
    "an item twice": ('send(frame({"job": 1, "place": 0, "value": 1}) * 2)', "for an unknown item"),
}


@pytest.mark.parametrize(("code", "message"), LIES.values(), ids=LIES)
def test_invalid_answer_ends_worker(lying: Any, code: str, message: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    process = lying(code + "; threading.Event().wait()")
    with pytest.raises(WorkerDeath, match=message) as caught:
        asked(process)
    assert not caught.value.late
    assert not process.alive
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


DRIP = """
def drip():
    while True:
        send(b"L"); send(b""); threading.Event().wait(0.05)
send(struct.pack(">4sIQ", b"LMN1", 1000, 0)); drip()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "threading.Event().wait()",
        DRIP,
        "while True: os.write(2, b'words' * 1000)",
        "os.close(2); threading.Event().wait()",
    ],
    ids=["silent", "dripping", "babbling", "mute"],
)
def test_time_limit_holds_for_misbehaving_worker(lying: Any, code: str) -> None:
    with pytest.raises(WorkerDeath, match=r"no result within 0\.3 s") as caught:
        asked(lying(code), 0.3)
    assert caught.value.late


@pytest.mark.slow
def test_time_limit_holds_if_escaped_process_keeps_pipe_open(lying: Any, tmp_path: Path) -> None:
    escaped = f"""
if os.fork() == 0:
    os.setsid()
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    threading.Event().wait()
threading.Event().wait()
"""
    began = time.monotonic()
    with pytest.raises(WorkerDeath):
        asked(lying(escaped), 1.0)
    assert time.monotonic() - began < 120
    os.kill(int((tmp_path / "pid").read_text()), 9)


def test_faults_are_reported_per_item_and_for_whole_job(lying: Any) -> None:
    code = """
send(frame({"job": 1, "place": 1, "value": "second"}))
send(frame({"job": 1, "place": 0, "fault": "refusal", "detail": 5}))
send(frame({"job": 1, "fault": ["odd"], "end": True}))
threading.Event().wait()
"""
    answers = asked(lying(code), items=[[{}, 0]] * 3)
    assert [place for place, _ in answers] == [1, 0, None]
    assert answers[0][1] == JobResult("second")
    assert [(each.kind, each.detail) for _, each in answers[1:] if isinstance(each, JobFailure)] == [
        ("refusal", "5"), ("['odd']", "")
    ]  # fmt: skip


def test_worker_that_does_not_report_ready_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "child.py").write_text(READY.replace('{"ready": True}', '{"value": 1}'), "utf-8")
    monkeypatch.setattr(module, "CHILD", tmp_path / "child.py")
    with pytest.raises(WorkerDeath, match="an answer before the job") as caught:
        Process(Recipe("liar", "none:none")).load()
    assert caught.value.loading


def test_end_of_worker_output_is_kept_up_to_limit(lying: Any) -> None:
    process = lying("os.write(2, b'words ' * 10_000); os.write(2, json.dumps('the end').encode()); os._exit(1)")
    with pytest.raises(WorkerDeath, match="the end") as caught:
        asked(process)
    assert json.dumps("the end") in caught.value.heard
    assert len(caught.value.heard) <= module.HEARD


LONG = 60.0


class Shaky(Hosts):
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


def test_jobs_of_lost_machine_are_done_once_by_another() -> None:
    there = Shaky(1)
    pool = Pool(Recipe("shaky", "none"), batch_size=4, hosts=there)
    words = ["a", "b", "once", "c", "d"]
    jobs = [pool.submit({}, (word.encode(),), seconds=1.0, item={}) for word in words]
    assert [job.result(LONG).value for job in jobs] == words
    assert sorted(there.done) == sorted(words)
    assert there.lost == 1
    pool.close()


def test_job_that_loses_every_machine_fails() -> None:
    there = Shaky()
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    error = pool.submit({}, (b"always",), seconds=1.0).exception(LONG)
    assert isinstance(error, WorkerDeath)
    assert str(error) == f"{LOSSES} times in a row its node was lost"
    assert there.lost == LOSSES
    assert pool.submit({}, (b"fine",), seconds=1.0).result(LONG).value == "fine"
    pool.close()


def test_jobs_finish_if_fewer_workers_fit_than_allowed() -> None:
    """Four workers are allowed but only one fits: it does all jobs."""
    there = Shaky(1)
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    jobs = [pool.submit({}, (str(n).encode(),), seconds=1.0) for n in range(30)]
    assert [job.result(LONG).value for job in jobs] == [str(n) for n in range(30)]
    pool.close()


def test_all_jobs_fail_if_no_machine_fits() -> None:
    there = Shaky()
    there.unfit = "no node has a GPU"
    pool = Pool(Recipe("shaky", "none"), hosts=there)
    errors = [pool.submit({}, (b"x",), seconds=1.0).exception(LONG) for _ in range(2)]
    assert [(type(each), str(each)) for each in errors] == [(WorkerUnfit, "no node has a GPU")] * 2


def test_pools_belong_to_current_hosts() -> None:
    there, recipe = Shaky(), Recipe("shaky", "none")
    here = pool_of(recipe)
    with standing_on(there):
        assert hosts() is there
        assert pool_of(recipe) is not here
        assert pool_of(recipe) is pool_of(recipe)
        assert pool_of(recipe).submit({}, (b"x",), seconds=1.0).result(LONG).value == "x"
        close_pools(there)
    assert type(hosts()) is Hosts
    assert pool_of(recipe) is here


@pytest.mark.parametrize("named", [(None,), ("cuda:0", "cuda:1"), ("cpu",)])
def test_local_devices_are_those_named(named: tuple[str | None, ...]) -> None:
    assert Hosts().devices("diffusers", named) == named
