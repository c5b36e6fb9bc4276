"""Workers and batches, with a worker that needs no torch."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import psutil
import pytest

from limner.calls import Fault
from limner.errors import UsageError
from limner.painters.diffusion import pool as module
from limner.painters.diffusion.pool import DEATHS, Pool
from limner.painters.diffusion.work import Drawn, How, Item, Load
from tests.fakes import brush

HOW = How(8, 8)
MakePool = Callable[..., Pool]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePool]:
    """Pools of fake workers, which wait as long as it takes for a batch to fill."""
    monkeypatch.setattr(module, "LINGER_S", 30.0)
    made: list[Pool] = []

    def pool(batch_size: int = 1, devices: tuple[str | None, ...] = (None,), **load: Any) -> Pool:
        made.append(Pool(Load("model", **load), devices, batch_size, brush.starter(tmp_path)))
        return made[-1]

    yield pool
    for each in made:
        each.close()


def ask(pool: Pool, *prompts: str, how: How = HOW) -> list[Future[Drawn]]:
    return [pool.submit(how, Item(prompt, seed)) for seed, prompt in enumerate(prompts)]


def right(future: Future[Drawn], prompt: str, seed: int) -> bool:
    drawn = future.result(30)
    return (drawn.size, drawn.pixels) == ((8, 8), bytes(brush.colour(prompt, seed)) * 64)


def batches(folder: Path) -> list[list[str]]:
    return [record["prompts"] for record in brush.told(folder)]


def test_requests_are_gathered_and_everyone_gets_his_own(make: MakePool, tmp_path: Path) -> None:
    prompts = ["a", "b", "c", "d", "e", "f", "g", "h"]
    futures = ask(make(4), *prompts)
    assert all(right(future, prompt, seed) for seed, (future, prompt) in enumerate(zip(futures, prompts, strict=True)))
    assert batches(tmp_path) == [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert len({record["pid"] for record in brush.told(tmp_path)}) == 1


def test_only_what_agrees_is_drawn_together(make: MakePool, tmp_path: Path) -> None:
    other = How(8, 8, steps=3)
    pool = make(2)
    futures = [pool.submit(how, Item(prompt, 0)) for prompt, how in zip("abcd", (HOW, other, HOW, other), strict=True)]
    wait(futures, 30)
    assert batches(tmp_path) == [["a", "c"], ["b", "d"]]


def test_a_batch_that_does_not_fill_is_drawn_all_the_same(
    make: MakePool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINGER_S", 0.01)
    futures = ask(make(4), "a")
    assert right(futures[0], "a", 0)
    assert batches(tmp_path) == [["a"]]


def test_devices_share_the_work(make: MakePool, tmp_path: Path) -> None:
    gates = [brush.Gate(tmp_path, name) for name in "01"]
    held = ask(make(1, ("cuda:0", "cuda:1")), "wait 0", "wait 1")
    # Both are at work at the same time: neither has been let go.
    for gate in gates:
        gate.reached()
    assert {record["device"] for record in brush.told(tmp_path)} == {"cuda:0", "cuda:1"}
    for gate in gates:
        gate.open()
    assert all(right(future, f"wait {n}", n) for n, future in enumerate(held))


def test_one_that_fails_does_not_spoil_the_others(make: MakePool) -> None:
    futures = ask(make(3), "a", "fail", "refuse")
    assert right(futures[0], "a", 0)
    kinds = []
    for future in futures[1:]:
        with pytest.raises(Fault) as raised:
            future.result(30)
        kinds.append(raised.value.kind)
    assert kinds == ["bad_request", "refusal"]


def test_a_worker_that_dies_is_replaced(make: MakePool, tmp_path: Path) -> None:
    pool = make(2)
    lost = ask(pool, "a", "die")
    # What was finished before it died is kept.
    assert right(lost[0], "a", 0)
    with pytest.raises(Fault, match=r"the worker died while drawing: signal SIGABRT; .*Segmentation fault") as raised:
        lost[1].result(30)
    assert raised.value.kind == "server"
    after = ask(pool, "b", "c")
    assert right(after[0], "b", 0)
    assert right(after[1], "c", 1)
    first, second = brush.told(tmp_path)
    assert first["pid"] != second["pid"]


@pytest.mark.slow
def test_workers_that_keep_dying_stop_the_run(make: MakePool, tmp_path: Path) -> None:
    pool = make()
    for _ in range(DEATHS - 1):
        with pytest.raises(Fault):
            ask(pool, "die")[0].result(30)
    with pytest.raises(UsageError, match=f"died {DEATHS} times in a row: signal SIGABRT"):
        ask(pool, "die")[0].result(30)
    with pytest.raises(UsageError, match=f"died {DEATHS} times in a row"):
        ask(pool, "a")[0].result(30)
    assert len(brush.told(tmp_path)) == DEATHS


@pytest.mark.slow
def test_a_picture_in_between_shows_that_not_all_is_lost(make: MakePool) -> None:
    pool = make()
    for prompt in ["die", "a"] * (DEATHS + 1):
        (future,) = ask(pool, prompt)
        assert isinstance(future.exception(30), Fault) if prompt == "die" else right(future, "a", 0)


@pytest.mark.slow
def test_a_worker_that_dies_while_it_loads(make: MakePool) -> None:
    pool = make(variant="deadly")
    for _ in range(DEATHS - 1):
        with pytest.raises(Fault, match="exit code 9; Killed for want of memory"):
            ask(pool, "a")[0].result(30)
    with pytest.raises(UsageError):
        ask(pool, "a")[0].result(30)


def test_what_cannot_be_loaded_is_told_to_all_at_once(make: MakePool) -> None:
    pool = make(variant="none")
    for future in ask(pool, "a", "b", "c"):
        with pytest.raises(UsageError, match="it cannot be loaded: OSError: no such variant"):
            future.result(30)


def test_an_option_the_pipeline_does_not_take_stops_the_run(make: MakePool) -> None:
    with pytest.raises(UsageError, match="OddPipeline takes no guidance"):
        ask(make(), "unfit")[0].result(30)


def test_what_is_given_up_before_its_turn_is_not_drawn(make: MakePool, tmp_path: Path) -> None:
    gate = brush.Gate(tmp_path, "0")
    pool = make()
    held, unwanted = ask(pool, "wait 0", "b")
    gate.reached()
    assert unwanted.cancel()
    last = pool.submit(HOW, Item("c", 0))
    gate.open()
    assert right(held, "wait 0", 0)
    assert right(last, "c", 0)
    assert batches(tmp_path) == [["wait 0"], ["c"]]


def test_closing_ends_workers_at_work(make: MakePool, tmp_path: Path) -> None:
    gate = brush.Gate(tmp_path, "0")
    pool = make()
    (held,) = ask(pool, "wait 0")
    gate.reached()
    worker = psutil.Process(brush.told(tmp_path)[0]["pid"])
    pool.close()
    assert not worker.is_running()  # Nor is it left behind as a zombie.
    assert isinstance(held.exception(30), Fault)
    with pytest.raises(UsageError, match="closed"):
        pool.submit(HOW, Item("a", 0)).result(0)


def test_requests_may_come_from_many_threads(make: MakePool) -> None:
    pool = make(3)
    found: list[bool] = []

    def run(number: int) -> None:
        for n in range(9):
            found.append(right(pool.submit(HOW, Item(f"{number}", n)), f"{number}", n))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [True] * 27


PARENT = """
import sys
from pathlib import Path
from limner.painters.diffusion.pool import Pool
from limner.painters.diffusion.work import How, Item, Load
from tests.fakes import brush

pool = Pool(Load("model"), ["cpu"], 1, brush.starter(Path(sys.argv[1])))
pool.submit(How(8, 8), Item("wait 0", 0)).result()
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_worker_outlives_its_painter(tmp_path: Path, number: signal.Signals) -> None:
    gate = brush.Gate(tmp_path, "0")
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)], stderr=subprocess.DEVNULL)
    try:
        gate.reached()
        worker = psutil.Process(brush.told(tmp_path)[0]["pid"])
        parent.send_signal(number)
        parent.wait(30)
        worker.wait(30)
    finally:
        parent.kill()
        parent.wait()
