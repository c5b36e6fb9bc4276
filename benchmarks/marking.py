"""How fast is marking, store included? Three ways against one fake service, in one run.

    python -m benchmarks.marking [--count 1000] [--latency 0.2] [--in-flight 64] [--ways limner,bare,release]

`limner`: a real run into a fresh store. `bare`: an asyncio loop with the openai client and images prepared beforehand:
the practical limit. `release`: requests in a pool of processes, both images prepared for each call. The service runs in
its own process on the same machine, so all ways share the cores with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fakes import ChatServer

from benchmarks.material import make

WAYS = ("bare", "limner-prepared", "limner-cold", "release")


def exam(folder: Path) -> list[tuple[str, Path, Path]]:
    """Rendered request text, drawing and reference of every question."""
    from limner.core.asks import Text
    from limner.exams import kind
    from limner.judges import make_variant

    found = kind("genexam")
    variant = make_variant(found, None, {})
    rows = []
    for question in found.read(folder, "bench").questions:
        (ask,) = found.protocol.asks(question, "0" * 64, {}, variant)
        text = next(part.text for part in ask.shown if isinstance(part, Text))
        rows.append((text, folder / "drawings" / f"{question.id}.png", folder / "images" / f"{question.id}.png"))
    return rows


class Clock:
    """Wall and CPU time of what happens inside, child processes included."""

    def __enter__(self) -> Clock:
        self._wall, self._cpu = time.perf_counter(), _cpu()
        return self

    def __exit__(self, *exc: object) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._wall, _cpu() - self._cpu


def _cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def bare(folder: Path, base_url: str, in_flight: int) -> Clock:
    """The openai client and nothing else; images prepared before the clock starts."""
    from openai import AsyncOpenAI

    from limner.core.images import prepare

    rows = [(text, *(prepare(path.read_bytes(), 768).url for path in paths)) for text, *paths in exam(folder)]

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


def limner(folder: Path, base_url: str, in_flight: int, prepared: bool) -> Clock:
    """A real run: drawings stored beforehand, then marked into the store."""
    from limner import api
    from limner.judges import ModelJudge
    from limner.running.runner import Runner
    from limner.store.open import open_store

    work = Path(tempfile.mkdtemp(prefix="limner-bench-"))
    here = Path.cwd()
    try:
        os.chdir(work)
        Path("limner.toml").write_text(f'[providers.bench]\nbase_url = "{base_url}"\n')
        Path("exam.toml").write_text(f'name = "bench"\nkind = "genexam"\ndata = "{folder}"\n')
        with open_store("store", create=True) as store:
            api.run("exam.toml", painters=[f"p=folder/{folder}/drawings"], store=store)
            asking = api.Asking(judges=["bench/fake"])
            plan = api.plan("exam.toml", store, asking=asking, draw=False, concurrency=in_flight)
            if prepared:
                (judge,) = plan.judges
                assert isinstance(judge, ModelJudge)
                asyncio.run(_prepare(judge, store))
            with Clock() as clock:
                progress = Runner(plan, store).run()
            assert progress.failed == 0, progress
            return clock
    finally:
        os.chdir(here)
        shutil.rmtree(work)


async def _prepare(judge: Any, store: Any) -> None:
    from limner.exams import kind
    from limner.store.records import load_drawings, load_exam

    hashes = [drawing.image for drawing in load_drawings(store, "bench")]
    for question in load_exam(store, "bench", kind("genexam").rubric).questions:
        assert question.reference is not None
        hashes.append(question.reference.sha256)
    for sha256 in hashes:
        await judge._model._images.get(sha256, 768)


def release(folder: Path, base_url: str, in_flight: int) -> Clock:
    """A process per call in flight; every call prepares both its images."""
    rows = [(base_url, *row) for row in exam(folder)]
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
    urls = [prepare(path.read_bytes(), 768).url for path in paths]
    images = [{"type": "image_url", "image_url": {"url": url, "detail": "high"}} for url in urls]
    body: Any = {"model": "fake", "messages": [{"role": "user", "content": [{"type": "text", "text": text}, *images]}]}
    reply = requests.post(f"{base_url}/chat/completions", json=body, timeout=600)
    reply.raise_for_status()
    json.loads(reply.json()["choices"][0]["message"]["content"])


def measure(way: str, folder: Path, base_url: str, in_flight: int) -> dict[str, float]:
    """Run one way in this process and say what it took."""
    ways: dict[str, Callable[[], Clock]] = {
        "bare": lambda: bare(folder, base_url, in_flight),
        "release": lambda: release(folder, base_url, in_flight),
        "limner-prepared": lambda: limner(folder, base_url, in_flight, prepared=True),
        "limner-cold": lambda: limner(folder, base_url, in_flight, prepared=False),
    }
    clock = ways[way]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": clock.seconds, "cpu": clock.cpu, "peak_mib": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--material", type=Path, default=Path(tempfile.gettempdir()) / "limner-bench")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "BASE_URL"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    folder = args.material / str(args.count)
    if args.one:
        print(json.dumps(measure(args.one[0], folder, args.one[1], args.in_flight)))
        return
    make(folder, args.count)
    ideal = args.count * args.latency / args.in_flight
    print(f"{args.count} markings, {args.latency:g} s latency, {args.in_flight} in flight: ideal {ideal:.2f} s")
    results: dict[str, dict[str, float]] = {}
    with ChatServer(keep=0) as server:
        for way in args.ways.split(","):
            server.configure(latency_s=args.latency)
            command = [sys.executable, "-m", "benchmarks.marking", "--one", way, server.base_url]
            command += [
                "--count",
                str(args.count),
                "--in-flight",
                str(args.in_flight),
                "--material",
                str(args.material),
            ]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = results[way] = json.loads(done.stdout.splitlines()[-1])
            share, per = ideal / found["seconds"], found["cpu"] * 1000 / args.count
            ratio = results["bare"]["seconds"] / found["seconds"] if "bare" in results else float("nan")
            print(
                f"{way:16} {found['seconds']:7.2f} s  {share:5.2f} of the ideal  {ratio:5.2f} of bare  "
                f"{per:6.1f} ms CPU a marking  {found['peak_mib']:6.0f} MiB"
            )


if __name__ == "__main__":
    main()
