"""The same commands on PostgreSQL as on SQLite."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import limner
from limner.calls import Calls, Request, Result
from limner.running.repair import verify
from limner.store import Store
from limner.store.records import load_drawings
from tests.support import SmallExam

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
            await asyncio.gather(*(calls.do(Request("chat", "t", {"n": n}), perform) for n in range(150)))
    print(made)

asyncio.run(main())
"""


def test_two_processes_make_each_call_once(postgres: str) -> None:
    command = [sys.executable, "-c", WORKER, postgres]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert sum(made) == 150


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


def test_a_store_on_a_server_is_verified_and_repaired(postgres: str, small_exam: SmallExam) -> None:
    with Store(postgres) as store:
        painters = [f"verified=folder/{small_exam.drawings}"]
        limner.run("genexam", data=small_exam.data, painters=painters, judges=["ocr"], store=store)
        assert {report.name: report.state for report in verify(store)} == dict.fromkeys(
            ("database", "references", "images", "orphans"), "ok"
        )
        image = next(iter(load_drawings(store, "genexam", "verified"))).image
        (blob,) = Path(store.blobs.root).rglob(f"{image}.*")
        data = blob.read_bytes()
        blob.write_bytes(data[:-5])
        assert {report.name for report in verify(store) if report.state == "bad"} == {"images"}
        assert [report.mended for report in verify(store, repair=True)] == [0, 0, 1, 0]
        assert blob.read_bytes() == data
