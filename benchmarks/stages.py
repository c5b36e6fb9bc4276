"""What each stage of a run costs this machine: ``python -m benchmarks.stages``.

Drawings and marks are made by real runs against fake services on this machine, whose own work is not counted. CPU
milliseconds are those of one core.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.fakes import ChatServer
from tests.fakes.images_client import ImageServer
from tests.postgres.server import PostgresServer
from tests.report.tables import synthetic

from benchmarks import site
from benchmarks.material import diagram, make
from benchmarks.table import Cell, Clock, Table, told
from limner import api
from limner.calls import Attempt, Calls, Request, Result
from limner.core.exam import Selection
from limner.core.images import encode_png, prepare
from limner.evidence.ocr import RapidOcr
from limner.evidence.regions.base import ClassicalCounter
from limner.exams import kind
from limner.judges import ModelJudge
from limner.running.runner import Runner
from limner.store import Blobs, Store
from limner.store.records import load_drawings, load_exam
from limner.store.schema import metadata

SIDE = 768
"""Pictures are sent to judges this large."""
IN_FLIGHT = 16
DATABASES = ("SQLite", "PostgreSQL")


def rows(quick: bool = False) -> Table:
    """Every stage in turn."""
    figures = run_stages(8 if quick else 150) | picture_stages(1 if quick else 12)
    figures |= score_stage(40 if quick else 400) | site_stage(5 if quick else 30) | write_stage(quick)
    made: list[tuple[Cell, ...]] = [
        ("Drawing by a service: request, journal, a tiny picture stored", figures["draw ms"], "a drawing"),
        ("Checking and storing a picture of 1,024 pixels", figures["keep ms"], "a drawing"),
        ("Preparing a picture of 1,024 pixels for a judge", figures["prepare ms"], "a picture"),
        ("Marking with prepared pictures: request, journal, reply read", figures["mark ms"], "a marking"),
        ("Reading its text (OCR)", figures["ocr ms"], "a drawing"),
        ("Counting its regions (`classical`), text known", figures["regions ms"], "a drawing"),
        ("Scores", figures["score ms"], "a marking"),
        ("Site, with small pictures", figures["site ms"], "a drawing"),
    ]
    for name in DATABASES:
        for what, key in (("alone", "write ms"), ("with 64 calls in flight", "writes together ms")):
            made.append(
                (f"{name}: a write of the journal, {what}", figures.get(f"{name} {key}"), "a write, by the clock")
            )
    kib = {name: figures[name] / 1024 for name in ("store bytes", "blob bytes", "score bytes")}
    note = (
        f"A drawing with one marking takes {figures['store rows']:.1f} rows and {kib['store bytes']:.1f} KiB of the "
        f"database, in {figures['writes']:.1f} writes, and a diagram of 1,024 pixels {kib['blob bytes']:.0f} KiB. "
        f"Scores take {kib['score bytes']:.1f} KiB of memory a marking."
    )
    return Table(("stage", "CPU ms", "for"), tuple(made), figures, note)


@contextmanager
def workplace(chat: str, images: str, folder: Path) -> Iterator[None]:
    """A folder of its own, with an exam and two fake services in it."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="limner-") as work:
        os.chdir(work)
        try:
            Path("limner.toml").write_text(
                f'[providers.bench]\nbase_url = "{chat}"\n'
                f'[providers.drawing]\nbase_url = "{images}"\nimage_shape = "openai-images"\n'
            )
            Path("exam.toml").write_text(f'name = "bench"\nkind = "genexam"\ndata = "{folder}"\n')
            yield
        finally:
            os.chdir(here)


def run_stages(count: int) -> dict[str, float]:
    """A run that draws, and one that marks; what they leave in the store."""
    with tempfile.TemporaryDirectory(prefix="limner-") as place, ChatServer(keep=0) as chat, ImageServer() as images:
        make(Path(place), count)
        with workplace(chat.base_url, images.base_url, Path(place)), Store("store") as store:
            # What is loaded and made once is no drawing's cost.
            first = Selection(limit=1)
            asking = api.Asking(judges=["bench/fake"])
            painters = ["drawing/fake"]
            api.run("exam.toml", painters=painters, asking=asking, store=store, selection=first)
            writes = _Writes(store)
            with Clock() as draw:
                drawn = api.run("exam.toml", painters=painters, store=store, concurrency=IN_FLIGHT)
            plan = api.plan("exam.toml", store, asking=asking, draw=False, concurrency=IN_FLIGHT)
            (judge,) = plan.judges
            assert isinstance(judge, ModelJudge)
            asyncio.run(_prepared(judge, store))
            with Clock() as mark:
                marked = Runner(plan, store).run()
            assert drawn.failed == marked.failed == 0, (drawn, marked)
            figures = _sizes(store, count) | {"writes": writes.count / (count - 1)}
    each = 1000 / (count - 1)
    return figures | {"draw ms": draw.cpu * each, "mark ms": mark.cpu * each}


class _Writes:
    """Counts what a store is told to write."""

    def __init__(self, store: Store) -> None:
        self.count, submit, awrite = 0, store.submit, store.awrite

        def counted(operation: Any) -> Any:
            self.count += 1
            return submit(operation)

        async def waited(operation: Any) -> Any:
            self.count += 1
            return await awrite(operation)

        store.submit, store.awrite = counted, waited  # type: ignore[method-assign]


async def _prepared(judge: ModelJudge, store: Store) -> None:
    hashes = [drawing.image for drawing in load_drawings(store, "bench")]
    for question in load_exam(store, "bench", kind("genexam").rubric).questions:
        assert question.reference is not None
        hashes.append(question.reference.sha256)
    for sha256 in hashes:
        model: Any = judge.model
        await model._images.get(sha256, SIDE)


def _sizes(store: Store, count: int) -> dict[str, float]:
    """Rows and bytes of one drawing with its marking; what the exam itself takes is left out."""
    beside = {"exams", "questions", "setups"}
    with store.reading() as connection:
        made = [one for one in metadata.sorted_tables if one.name not in beside]
        found = sum(connection.scalar(sa.select(sa.func.count()).select_from(one)) or 0 for one in made)
        size = sum(
            connection.scalar(sa.text("select coalesce(sum(pgsize), 0) from dbstat where name = :name"), {"name": name})
            for one in made
            for name in (one.name, *(index.name for index in one.indexes), f"sqlite_autoindex_{one.name}_1")
        )
    return {"store rows": found / count, "store bytes": size / count}


def write_stage(quick: bool) -> dict[str, float]:
    """Milliseconds by the clock for one write of the journal, alone and where 64 calls are in flight; by database."""
    found, count = dict[str, float](), 20 if quick else 400
    with tempfile.TemporaryDirectory(prefix="limner-") as place, Store(Path(place) / "store") as store:
        found |= asyncio.run(_write_ms(store, "SQLite", count))
    try:
        with PostgresServer(durable=True) as server, Store(server.url) as store:
            found |= asyncio.run(_write_ms(store, "PostgreSQL", count))
    except pytest.skip.Exception:
        pass  # No server here: the table says so.
    return found


async def _write_ms(store: Store, name: str, count: int) -> dict[str, float]:
    writes = _Writes(store)

    async def perform(_: Attempt) -> Result:
        return Result({"text": "{}"})

    async with Calls(store, concurrency=64) as calls:

        async def one(n: int) -> None:
            await calls.do(Request("chat", "bench/fake", {"n": n, "text": "x" * 2000}), perform)

        await one(0)
        took = []
        for numbers, apart in ((range(1, count // 4), True), (range(count, 2 * count), False)):
            writes.count = 0
            with Clock() as clock:
                if apart:
                    for n in numbers:
                        await one(n)
                else:
                    await asyncio.gather(*map(one, numbers))
            took.append(clock.seconds * 1000 / writes.count)
    return {f"{name} write ms": took[0], f"{name} writes together ms": took[1]}


def picture_stages(count: int) -> dict[str, float]:
    """What is done with a picture's pixels."""
    pictures = [diagram(f"stage{n}") for n in range(count)]
    data, engine, counter = [encode_png(one) for one in pictures], RapidOcr(), ClassicalCounter()
    engine.read(pictures[0])
    with Clock() as prepared:
        for one in data:
            prepare(one, SIDE)
    with Clock() as ocr:
        lines = [engine.read(one) for one in pictures]
    with Clock() as regions:
        for picture, found in zip(pictures, lines, strict=True):
            counter.count(picture, found)
    with tempfile.TemporaryDirectory(prefix="limner-") as place, Clock() as kept:
        for one in data:
            Blobs(place).put(one)
    named = {"prepare ms": prepared, "ocr ms": ocr, "regions ms": regions, "keep ms": kept}
    return {name: clock.cpu * 1000 / count for name, clock in named.items()} | {
        "blob bytes": sum(map(len, data)) / count
    }


def score_stage(questions: int, painters: int = 5) -> dict[str, float]:
    """CPU and memory of scores, from what a store four times as large takes more."""
    cpu, memory, sizes = list[float](), list[int](), (questions, 4 * questions)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="limner-") as place, Store(Path(place) / "store") as store:
            synthetic.fill(store, "genexam", painters=painters, questions=size, images=False)
            if not cpu:
                api.scores("genexam", store=store)
            with Clock() as clock:
                api.scores("genexam", store=store)
            tracemalloc.start()
            api.scores("genexam", store=store)
            memory.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            cpu.append(clock.cpu)
    more = (sizes[1] - sizes[0]) * painters
    return {"score ms": (cpu[1] - cpu[0]) * 1000 / more, "score bytes": (memory[1] - memory[0]) / more}


def site_stage(questions: int, painters: int = 2) -> dict[str, float]:
    """CPU of a site, from what one four times as large takes more."""
    took, sizes = [], (questions, 4 * questions)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="limner-") as place:
            site.fill(Path(place), painters, size, 512)
            took.append(float(site.build(Path(place), 1)["cpu seconds"]))
    return {"site ms": (took[1] - took[0]) * 1000 / ((sizes[1] - sizes[0]) * painters)}


if __name__ == "__main__":
    print(told(rows()))
