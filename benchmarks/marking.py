"""How fast is marking, store included? Several ways against one fake service, in one run.

    python -m benchmarks.marking [--count 1000] [--latency 0.2] [--in-flight 64] [--ways bare,limner-prepared]

`limner-prepared`: a real run into a fresh store, images prepared beforehand. `bare`: an asyncio loop with the openai
client and images prepared beforehand: the practical limit. `limner-cold` and `release` begin with images as they were
drawn: a real run, and requests in a pool of processes with both images prepared for each call. Their names with
`-4x2` mark the drawings of four painters by two judges. The service runs in its own process on the same machine, so all
ways share the cores with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.fakes import ChatServer

from benchmarks.material import drawn_by, make, shown
from benchmarks.table import Clock, Table, peak_mib, told

MANY = "-4x2"
"""Ways with four painters and two judges."""
PAINTERS, JUDGES = 4, 2
WAYS = ("bare", "limner-prepared", f"limner-cold{MANY}", f"release{MANY}")
"""Those of the table; `limner-cold` and `release` take too long for it at a thousand markings."""
SIDE = 768
MATERIAL = Path(tempfile.gettempdir()) / "limner-benchmarks"
"""Where pictures are kept from one run to the next."""


@dataclass(frozen=True)
class Size:
    """How much is marked: questions for one painter and one judge, questions for four and two, and how."""

    count: int = 1000
    many: int = 60
    latency: float = 0.2
    in_flight: int = 64
    times: int = 2

    def questions(self, way: str) -> int:
        """Questions of a way."""
        return self.many if way.endswith(MANY) else self.count

    def markings(self, way: str) -> int:
        """Markings of a way."""
        return self.many * PAINTERS * JUDGES if way.endswith(MANY) else self.count


QUICK = Size(count=16, many=4, latency=0.02, in_flight=8, times=1)


def exam(folder: Path, painters: int = 1) -> list[tuple[str, Path, Path]]:
    """Rendered request text, drawing and reference of every question and painter."""
    from limner.core.asks import Text
    from limner.exams import kind
    from limner.judges import make_variant

    found = kind("genexam")
    variant = make_variant(found, None, {})
    rows = []
    for question in found.read(folder, "bench").questions:
        (ask,) = found.protocol.asks(question, "0" * 64, {}, variant)
        text = next(part.text for part in ask.shown if isinstance(part, Text))
        reference = folder / "images" / f"{question.id}.png"
        rows += [(text, folder / drawn_by(n) / f"{question.id}.png", reference) for n in range(painters)]
    return rows


class Once:
    """Prepares what pictures show once; each gets a text of its own, as long as the others are."""

    def __init__(self) -> None:
        from limner.core.images import prepare

        self._prepare, self._kept = prepare, dict[bytes, Any]()

    def prepare(self, data: bytes) -> Any:
        """As `limner.core.images.prepare` does."""
        found = self._kept.get(key := shown(data))
        if found is None:
            found = self._kept[key] = self._prepare(data, SIDE)
        return replace(found, url=found.url.encode().decode())


def bare(folder: Path, base_url: str, in_flight: int) -> Clock:
    """The openai client and nothing else; images prepared before the clock starts."""
    from openai import AsyncOpenAI

    once = Once()
    rows = [(text, *(str(once.prepare(path.read_bytes()).url) for path in paths)) for text, *paths in exam(folder)]

    async def main() -> Clock:
        client = AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0)
        queue = iter(rows)

        async def worker() -> None:
            for text, *urls in queue:
                images = [{"type": "image_url", "image_url": {"url": url, "detail": "high"}} for url in urls]
                content: Any = [{"type": "text", "text": text}, *images]
                reply = await client.chat.completions.create(
                    model="fake", messages=[{"role": "user", "content": content}]
                )
                json.loads(reply.choices[0].message.content or "")

        with Clock() as clock:
            await asyncio.gather(*(worker() for _ in range(in_flight)))
        return clock

    return asyncio.run(main())


def limner(folder: Path, base_url: str, in_flight: int, prepared: bool, painters: int = 1, judges: int = 1) -> Clock:
    """A real run: drawings stored beforehand, then marked into the store."""
    from limner import api
    from limner.running.runner import Runner
    from limner.store.store import open_store

    with _workplace():
        Path("limner.toml").write_text(f'[providers.bench]\nbase_url = "{base_url}"\n')
        Path("exam.toml").write_text(f'name = "bench"\nkind = "genexam"\ndata = "{folder}"\n')
        with open_store("store", create=True) as store:
            # One painter after the other, as people do.
            for n in range(painters):
                api.run("exam.toml", painters=[f"p{n}=folder/{folder / drawn_by(n)}"], store=store)
            asking = api.Asking(judges=[f"bench/fake-{n}" for n in range(judges)])
            plan = api.plan("exam.toml", store, asking=asking, draw=False, concurrency=in_flight)
            if prepared:
                asyncio.run(_prepare(plan, store))
            with Clock() as clock:
                progress = Runner(plan, store).run()
            assert progress.failed == 0, progress
            return clock


@contextmanager
def _workplace() -> Iterator[None]:
    """A folder to work in that is gone afterwards."""
    work, here = Path(tempfile.mkdtemp(prefix="limner-bench-")), Path.cwd()
    try:
        os.chdir(work)
        yield
    finally:
        os.chdir(here)
        shutil.rmtree(work)


async def _prepare(plan: Any, store: Any) -> None:
    from limner.core import images
    from limner.store.records import load_drawings

    once = Once()
    hashes = [drawing.image for drawing in load_drawings(store, "bench")]
    hashes += [question.reference.sha256 for question in plan.exam.questions]
    with patch.object(images, "prepare", lambda data, _side, _form: once.prepare(data)):
        for sha256 in hashes:
            await plan.images.get(sha256, SIDE)


def release(folder: Path, base_url: str, in_flight: int, painters: int = 1, judges: int = 1) -> Clock:
    """A process per call in flight; every call prepares both its images."""
    # Imported once, before the processes are made.
    import PIL.JpegImagePlugin
    import PIL.PngImagePlugin  # noqa: F401
    import requests  # noqa: F401

    rows = [(base_url, *row) for _ in range(judges) for row in exam(folder, painters)]
    with Clock() as clock, multiprocessing.get_context("fork").Pool(in_flight) as pool:
        for _ in pool.imap_unordered(_release_call, rows, chunksize=1):
            pass
        pool.close()
        pool.join()
    return clock


def _release_call(row: tuple[str, str, Path, Path]) -> None:
    import requests

    from limner.core.images import prepare

    base_url, text, *paths = row
    urls = [prepare(path.read_bytes(), SIDE).url for path in paths]
    images = [{"type": "image_url", "image_url": {"url": url, "detail": "high"}} for url in urls]
    body: Any = {"model": "fake", "messages": [{"role": "user", "content": [{"type": "text", "text": text}, *images]}]}
    reply = requests.post(f"{base_url}/chat/completions", json=body, timeout=600)
    reply.raise_for_status()
    json.loads(reply.json()["choices"][0]["message"]["content"])


def measure(way: str, folder: Path, base_url: str, in_flight: int) -> dict[str, float]:
    """Run one way in this process and say what it took."""
    name = way.removesuffix(MANY)
    many = {"painters": PAINTERS, "judges": JUDGES} if way != name else {}
    if name == "bare":
        clock = bare(folder, base_url, in_flight)
    elif name == "release":
        clock = release(folder, base_url, in_flight, **many)
    else:
        clock = limner(folder, base_url, in_flight, name == "limner-prepared", **many)
    return {"seconds": clock.seconds, "cpu": clock.cpu, "peak": peak_mib()}


def image_cpu_ms(folder: Path, images: int = 20) -> float:
    """CPU milliseconds to prepare one image."""
    from limner.core.images import prepare

    data = [path.read_bytes() for path in sorted((folder / "images").iterdir())[:images]]
    prepare(data[0], SIDE)
    began = time.thread_time()
    for one in data:
        prepare(one, SIDE)
    return (time.thread_time() - began) * 1000 / len(data)


def rows(quick: bool = False) -> Table:
    """The table of the page; see `benchmarks.table`."""
    return table(QUICK if quick else Size(), WAYS, MATERIAL)


def table(size: Size, ways: Sequence[str], material: Path) -> Table:
    """Every way in a process of its own, the whole round `size.times` times; the quickest round of each counts."""
    for many in {way.endswith(MANY) for way in ways}:
        count = size.many if many else size.count
        make(material / str(count), count, PAINTERS if many else 1)
    best: dict[str, dict[str, float]] = {}
    with ChatServer(keep=0) as server:
        # In turns, so that what else the machine does meets all of them.
        for way in [*ways] * size.times:
            server.configure(latency_s=size.latency)
            folder = material / str(size.questions(way))
            command = [sys.executable, "-m", "benchmarks.marking", "--one", way, server.base_url, str(folder)]
            done = subprocess.run(
                [*command, "--in-flight", str(size.in_flight)], check=True, capture_output=True, text=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            best[way] = min(best.get(way, found), found, key=lambda one: one["seconds"])
    lines = tuple(_line(way, found, best.get("bare"), size) for way, found in best.items())
    heads = ("way", "markings", "seconds", "markings a second", "of bare", "CPU ms a marking", "peak MiB")
    note = f"{size.latency:g} s latency, {size.in_flight} in flight; the quickest of {size.times} rounds of each way."
    return Table(heads, lines, _figures(best, size, material), note)


def _line(way: str, found: dict[str, float], limit: dict[str, float] | None, size: Size) -> tuple[Any, ...]:
    count, seconds = size.markings(way), found["seconds"]
    share = (count / seconds) / (size.count / limit["seconds"]) if limit else None
    return way, count, seconds, count / seconds, share, found["cpu"] * 1000 / count, found["peak"]


def _figures(best: dict[str, dict[str, float]], size: Size, material: Path) -> dict[str, float]:
    found: dict[str, float] = {}
    if (limner := best.get("limner-prepared")) is not None:
        found |= {"prepared cpu ms": limner["cpu"] * 1000 / size.count, "peak mib": limner["peak"]}
        if (limit := best.get("bare")) is not None:
            found["prepared of bare"] = limit["seconds"] / limner["seconds"]
    cold, theirs = best.get(f"limner-cold{MANY}"), best.get(f"release{MANY}")
    if cold is not None and theirs is not None:
        found["cold times release"] = theirs["seconds"] / cold["seconds"]
    if best:
        found["cpu ms an image"] = image_cpu_ms(material / str(size.questions(next(iter(best)))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    usual = Size()
    parser.add_argument("--count", type=int, default=usual.count, help="questions for one painter and one judge")
    parser.add_argument("--many", type=int, default=usual.many, help="questions for four painters and two judges")
    parser.add_argument("--latency", type=float, default=usual.latency)
    parser.add_argument("--in-flight", type=int, default=usual.in_flight)
    parser.add_argument("--times", type=int, default=usual.times)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--material", type=Path, default=MATERIAL)
    parser.add_argument("--one", nargs=3, metavar=("WAY", "BASE_URL", "FOLDER"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        way, base_url, folder = args.one
        print(json.dumps(measure(way, Path(folder), base_url, args.in_flight)))
        return
    size = Size(args.count, args.many, args.latency, args.in_flight, args.times)
    print(told(table(size, args.ways.split(","), args.material)))


if __name__ == "__main__":
    main()
