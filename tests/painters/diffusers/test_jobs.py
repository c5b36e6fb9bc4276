"""Workers and batches, with a worker that needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Fault
from limner.core.errors import UsageError
from limner.painters.batched import DrawItem, open_workers, read_drawing, submit, worker_fault
from limner.painters.diffusers import DrawSettings, PipelineSetup, options
from limner.workers import JobFailure, JobResult, Pool, WorkerDeath, WorkerUnfit
from limner.workers import pool as module
from tests.fakes import brush

pytestmark = pytest.mark.slow

HOW = DrawSettings(8, 8)
MakePool = Callable[..., Pool]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePool]:
    """Pools of fake workers, which wait as long as it takes for a batch to fill."""
    monkeypatch.setattr(module, "LINGER_S", 30.0)
    monkeypatch.setattr("limner.painters.diffusers.FACTORY", brush.FACTORY)
    made: list[Pool] = []

    def pool(batch_size: int = 1, devices: tuple[str | None, ...] = (None,), **load: Any) -> Pool:
        chosen = options.Options({}, batch_size, devices)
        made.append(open_workers("diffusers", brush.FACTORY, PipelineSetup(str(tmp_path / "model"), **load), chosen))
        return made[-1]

    yield pool
    for each in made:
        each.close()


def draw(pool: Pool, prompt: str, seed: int = 0, how: DrawSettings = HOW) -> Future[JobResult]:
    return submit(pool, how, DrawItem(prompt, seed), 60.0)


def ask(pool: Pool, *prompts: str) -> list[Future[JobResult]]:
    return [draw(pool, prompt, seed) for seed, prompt in enumerate(prompts)]


def told(future: Future[JobResult]) -> Exception:
    """What a painter makes of it."""
    error = future.exception(30)
    assert isinstance(error, WorkerDeath | JobFailure | WorkerUnfit)
    return worker_fault(error, "diffusers/model")


def right(future: Future[JobResult], prompt: str, seed: int) -> bool:
    drawn = read_drawing(future.result(30))
    return (drawn.size, drawn.pixels) == ((8, 8), bytes(brush.colour(prompt, seed)) * 64)


def batches(folder: Path) -> list[list[str]]:
    return [record["prompts"] for record in brush.told(folder)]


def test_requests_are_batched_and_each_gets_its_result(make: MakePool, tmp_path: Path) -> None:
    prompts = ["a", "b", "c", "d", "e", "f", "g", "h"]
    futures = ask(make(4), *prompts)
    assert all(right(future, prompt, seed) for seed, (future, prompt) in enumerate(zip(futures, prompts, strict=True)))
    assert batches(tmp_path) == [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert len({record["pid"] for record in brush.told(tmp_path)}) == 1


def test_only_requests_with_equal_settings_share_batch(make: MakePool, tmp_path: Path) -> None:
    other = DrawSettings(8, 8, steps=3)
    pool = make(2)
    futures = [draw(pool, prompt, 0, how) for prompt, how in zip("abcd", (HOW, other, HOW, other), strict=True)]
    wait(futures, 30)
    assert batches(tmp_path) == [["a", "c"], ["b", "d"]]


@pytest.mark.slow
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


def test_failed_request_does_not_affect_others(make: MakePool) -> None:
    futures = ask(make(3), "a", "fail", "refuse")
    assert right(futures[0], "a", 0)
    assert [str(told(future)) for future in futures[1:]] == [
        "bad_request: ValueError: not this one", "refusal: withheld"
    ]  # fmt: skip


@pytest.mark.slow
def test_dead_worker_is_replaced(make: MakePool, tmp_path: Path) -> None:
    pool = make(2)
    lost = ask(pool, "a", "die")
    # What was finished before it died is kept.
    assert right(lost[0], "a", 0)
    assert str(told(lost[1])) == "server: the worker died (signal SIGABRT): Segmentation fault"
    after = ask(pool, "b", "c")
    assert right(after[0], "b", 0)
    assert right(after[1], "c", 1)
    first, second = brush.told(tmp_path)
    assert first["pid"] != second["pid"]


def test_unsupported_pipeline_option_stops_run(make: MakePool) -> None:
    found = told(ask(make(), "unfit")[0])
    assert isinstance(found, UsageError)
    assert str(found) == "diffusers/model: OddPipeline takes no guidance"


def test_invalid_picture_is_a_fault(make: MakePool) -> None:
    answer = draw(make(), "short").result(30)
    with pytest.raises(Fault, match="image: the worker did not send a picture"):
        read_drawing(answer)
