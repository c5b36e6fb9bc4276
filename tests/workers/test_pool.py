"""Workers: whatever a backend does, its job gets a fault, the next job gets a worker, and no process is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from limner.workers import JobFailure, JobResult, Pool, Recipe, WorkerDeath, WorkerUnfit, once
from limner.workers.pool import DEATHS

FACTORY = "tests.workers.faulty:obedient"
LONG = 60.0


def recipe(factory: str = FACTORY, workers: int = 1, **args: Any) -> Recipe:
    return Recipe("faulty", factory, json.dumps(args), workers=workers)


@pytest.fixture
def pool() -> Iterator[Pool]:
    made = Pool(recipe())
    yield made
    made.close()


def ask(pool: Pool, word: str, seconds: float = LONG, **given: Any) -> Any:
    return pool.submit(given, (word.encode(),), seconds=seconds).result(LONG).value


def begun(pool: Pool, word: str, seconds: float = LONG) -> Future[JobResult]:
    return pool.submit({}, (word.encode(),), seconds=seconds)


def fault(pool: Pool, word: str, seconds: float = LONG, **given: Any) -> WorkerDeath | JobFailure | WorkerUnfit:
    error = pool.submit(given, (word.encode(),), seconds=seconds).exception(LONG)
    assert isinstance(error, WorkerDeath | JobFailure | WorkerUnfit)
    return error


def gone(pid: int) -> bool:
    """Whether a process ends within a while, if it has not already."""
    end = time.monotonic() + LONG
    try:
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > end:
                return False
            with suppress(psutil.TimeoutExpired):
                psutil.Process(pid).wait(0.1)
    except psutil.NoSuchProcess:
        pass
    return True


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("exit", "the worker died (exit code 3)"),
        ("segfault", "the worker died (signal SIGSEGV)"),
        ("garbage", "bytes that are not a frame; the worker was ended"),
        ("no memory", "out of memory"),
    ],
)
def test_a_worker_that_dies_is_replaced(pool: Pool, word: str, message: str) -> None:
    first = ask(pool, "pid")
    assert str(fault(pool, word)) == message
    assert ask(pool, "pid") != first
    assert gone(first)


@pytest.mark.parametrize(
    ("word", "kind", "message"),
    [
        ("raise", "error", "ZeroDivisionError('by nothing')"),
        ("bad image", "image", "cannot be decoded"),
        ("huge", "error", "41,943,088 bytes in one message; at most 8,388,608 are allowed"),
        ("nan", "error", "ValueError('Out of range float values are not JSON compliant"),
    ],
)
def test_worker_survives_failed_job(pool: Pool, word: str, kind: str, message: str) -> None:
    first = ask(pool, "pid")
    failure = fault(pool, word)
    assert isinstance(failure, JobFailure)
    assert (failure.kind, failure.detail.startswith(message)) == (kind, True), failure.detail
    assert ask(pool, "pid") == first


@pytest.mark.slow
def test_hung_worker_is_killed_with_its_children(pool: Pool) -> None:
    first, child = ask(pool, "pid"), ask(pool, "child")
    error = fault(pool, "hang", 0.5)
    assert str(error) == "no result within 0.5 s; the worker was ended"
    assert isinstance(error, WorkerDeath)
    assert error.late
    assert gone(first)
    assert gone(child)
    assert ask(pool, "on") == {"word": "on"}


@pytest.mark.slow
def test_time_limit_is_per_job_and_excludes_waiting(pool: Pool) -> None:
    hung = begun(pool, "hang", 1.0)
    waiting = [begun(pool, "quick", 5.0) for _ in range(3)]
    assert hung.exception(LONG) is not None
    assert [one.result(LONG).value for one in waiting] == [{"word": "quick"}] * 3


def test_output_of_backend_does_not_corrupt_frames(pool: Pool) -> None:
    for _ in range(3):
        assert ask(pool, "chatter") == "said it"
    assert ask(pool, "stdin") == ""


def test_backend_can_be_file_run_by_another_python(tmp_path: Path) -> None:
    (tmp_path / "backend.py").write_text("import sys\ndef made(): return lambda data: [data.decode(), sys.argv[0]]\n")
    factory = f"{tmp_path / 'backend.py'}:made"
    made = Pool(Recipe("own", factory, python=sys.executable, workers=1))
    assert ask(made, "x")[0] == "x"
    made.close()
    made = Pool(Recipe("own", factory, python="/bin/false", workers=1))
    error = fault(made, "x")
    assert isinstance(error, WorkerDeath)
    assert (str(error), error.loading) == ("the worker died (exit code 1)", True)
    made = Pool(Recipe("own", f"{tmp_path / 'none.py'}:made", workers=1))
    assert "FileNotFoundError" in str(fault(made, "x"))
    made = Pool(Recipe("own", factory, python=str(tmp_path / "python"), workers=1))
    assert "No such file" in str(fault(made, "x"))


def test_workers_start_on_demand_and_only_as_many_as_needed(tmp_path: Path) -> None:
    note = tmp_path / "started"
    made = Pool(recipe(workers=3, note=str(note)))
    assert made.started == 0
    for _ in range(5):
        ask(made, "one after another")
    assert made.started == len(note.read_text().split()) == 1
    many = [begun(made, "pid") for _ in range(40)]
    pids = {one.result(LONG).value for one in many}
    assert pids <= {int(pid) for pid in note.read_text().split()}
    assert made.started <= 3
    made.close()
    assert all(gone(int(pid)) for pid in note.read_text().split())


def test_a_backend_that_cannot_be_loaded_is_tried_once() -> None:
    made = Pool(recipe("tests.workers.faulty:broken"))
    message = "ImportError(\"no module named 'weights'\")"
    assert [str(fault(made, "x")) for _ in range(3)] == [message] * 3
    assert made.started == 0


def test_worker_dying_while_loading_is_given_up_after_limit(tmp_path: Path) -> None:
    made = Pool(recipe("tests.workers.faulty:stillborn"))
    errors = [fault(made, "x") for _ in range(DEATHS + 2)]
    message = "the worker died (exit code 9)"
    assert [str(each) for each in errors] == [message] * (DEATHS - 1) + [f"{DEATHS} times in a row {message}"] * 3
    assert isinstance(errors[-1], WorkerUnfit)


def test_workers_use_one_thread_by_default(pool: Pool) -> None:
    assert ask(pool, "threads") == "1"
    free = Pool(Recipe("faulty", FACTORY, workers=1, single=False))
    assert ask(free, "threads") == os.environ.get("OMP_NUM_THREADS")
    free.close()


@pytest.mark.slow
def test_idle_worker_ends_and_restarts_on_demand() -> None:
    made = Pool(recipe(workers=2), idle_s=0.05)
    first = ask(made, "pid")
    assert gone(first)
    for _ in range(5):
        jobs = [begun(made, "pid") for _ in range(4)]
        assert all(gone(pid) for pid in {job.result(LONG).value for job in jobs})
    made.close()


@pytest.mark.slow
def test_cancelled_job_is_not_started(pool: Pool) -> None:
    hung, dropped = begun(pool, "hang", 1.0), begun(pool, "exit")
    assert dropped.cancel()
    assert hung.exception(LONG) is not None
    first = ask(pool, "pid")
    assert ask(pool, "pid") == first


def test_single_job_leaves_no_process() -> None:
    place, before = Path(__file__).with_name("plain.py"), set(psutil.Process().children(recursive=True))
    recipe = Recipe("plain", f"{place}:made", isolated=True, most=100)
    assert once(recipe, {"times": 3}, (b"ab",), LONG).bodies == (b"ababab",)
    with pytest.raises(JobFailure, match="102 bytes in one message; at most 100"):
        once(recipe, {"times": 51}, (b"ab",), LONG)
    assert set(psutil.Process().children(recursive=True)) <= before


PARENT = """
import sys, psutil
from limner.workers import Recipe, pool_of
recipe = Recipe("faulty", "tests.workers.faulty:obedient", workers=2)
def ask(word):
    return pool_of(recipe).submit({}, (word,), seconds=600)
busy = ask(b"brood")
ask(b"child").result()
while len(children := psutil.Process().children(recursive=True)) < 6:
    ask(b"pid").result()
print(*(child.pid for child in children), flush=True)
if sys.argv[1] == "exit":
    sys.exit(7)
busy.result()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["exit", "SIGKILL"])
def test_no_worker_outlives_its_parent(how: str) -> None:
    """Neither idle nor hung workers, nor their children or guards, survive the end of the parent."""
    words = [sys.executable, "-c", PARENT, how]
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root, text=True) as parent:
        assert parent.stdout is not None
        family = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(family) == 6
        if how != "exit":
            parent.send_signal(signal.Signals[how])
        code = parent.wait(LONG)
    assert code == (7 if how == "exit" else -signal.Signals[how])
    assert all(gone(pid) for pid in family)
