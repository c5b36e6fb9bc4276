"""The same commands on PostgreSQL as on SQLite."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import limner
from limner.calls import Calls, Request, Result
from limner.store import Store

pytestmark = pytest.mark.slow
EXAM = "sample/genexam"


def test_run_scores_and_resume(postgres: str, tmp_path: Path) -> None:
    both = [limner.Store(postgres), limner.Store(tmp_path / "files")]
    found = []
    for store in both:
        with store:
            painters = ["control/reference", "control/blank"]
            first = limner.run(EXAM, painters=painters, judges=["ocr"], store=store)
            again = limner.run(EXAM, painters=painters, judges=["ocr"], store=store)
            assert first.done == first.total
            assert (again.done, again.stored) == (0, first.total)
            found.append([standing.to_json() for standing in limner.scores(EXAM, store=store, by=["subject"])])
    assert found[0] == found[1]
    assert len(found[0]) == 2


WORKER = """
import asyncio, sys
from limner.calls import Calls, Request, Result
from limner.store import Store

async def main():
    made = 0
    async def perform(attempt):
        nonlocal made
        made += 1
        await asyncio.sleep(0.002)
        return Result({"text": "x"})
    with Store(sys.argv[1]) as store:
        async with Calls(store) as calls:
            await asyncio.gather(*(calls.do(Request("chat", "t", {"n": n}), perform) for n in range(60)))
    print(made)

asyncio.run(main())
"""


def test_two_processes_make_each_call_once(postgres: str) -> None:
    command = [sys.executable, "-c", WORKER, postgres]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert sum(made) == 60


async def _once(store: Store) -> dict[str, object]:
    async def perform(_attempt: object) -> Result:
        return Result({"text": "ü \u2028 \U0001f600"})

    async with Calls(store) as calls:
        return (await calls.do(Request("chat", "t", {"n": "one"}), perform)).payload


def test_text_survives(postgres: str) -> None:
    import asyncio

    with Store(postgres) as store:
        assert asyncio.run(_once(store)) == {"text": "ü \u2028 \U0001f600"}
        assert json.dumps(asyncio.run(_once(store))) == json.dumps({"text": "ü \u2028 \U0001f600"})


def test_leases_go_by_the_clock_of_the_server(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose clock is ten minutes ahead does not take over the claims of another machine."""
    with Store(postgres) as here, Store(postgres) as there:
        assert abs(here.now() - time.time()) < 5
        monkeypatch.setattr("limner.store.store.now", lambda: time.time() + 600)
        assert abs(there.now() - time.time()) < 5
