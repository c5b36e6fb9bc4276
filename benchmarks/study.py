"""How soon a study's answers are acknowledged while many raters answer at once.

``python -m benchmarks.study [--raters 30] [--seconds 30] [--store URL]`` serves a made-up study as users would, lets
every rater answer one field a second as its page does (answers, and the next page with its pictures), and prints one
line of JSON: the share acknowledged within 200 ms, the middle and the slowest, how many were refused, and how many the
store has.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2
from tests.study.made import fill, make

from benchmarks.table import Table
from limner.core.redaction import csrf_token
from limner.serve.base import CSRF
from limner.store import Store
from limner.study.records import load_answers

WITHIN = 0.2
SERVE = "from limner.cli import main; main()"


async def rate(
    client: httpx2.AsyncClient, token: str, until: float, every: float, seed: int
) -> list[tuple[float, bool]]:
    """One rater clicks every so often, field by field; how long each took, and whether it was saved."""
    chance, took = random.Random(seed), list[tuple[float, bool]]()
    own = {CSRF: csrf_token(token), "accept": "application/json"}
    await client.post(f"/r/{token}/consent", data={CSRF: csrf_token(token)}, follow_redirects=True)
    await asyncio.sleep(chance.random() * every)
    n = 0
    while time.monotonic() < until:
        n += 1
        page = (await client.get(f"/r/{token}/{n}")).text
        for name in set(re.findall(r'src="(/r/[^"]+\.jpg)"', page)):
            await client.get(name)
        fields = re.findall(r'data-field="([^"]+)" data-kind="(?:scale|criterion|check)"', page)
        if not fields:
            break
        for field in fields:
            choices = re.findall(rf'name="{re.escape(field)}" value="(\d+)"', page)
            click = {
                "id": f"{n}-{field}",
                "n": n,
                "field": field,
                "value": int(chance.choice(choices)),
                "seconds": every,
            }
            start = time.perf_counter()
            got = await client.post(f"/r/{token}/answers", json={"answers": [click]}, headers=own)
            seconds = time.perf_counter() - start
            took.append((seconds, got.status_code == 200 and bool(got.json()["saved"])))
            if time.monotonic() > until:
                break
            await asyncio.sleep(max(0.0, every * (0.5 + chance.random()) - seconds))
    return took


async def everyone(address: str, tokens: list[str], seconds: float, every: float) -> list[tuple[float, bool]]:
    """All raters at once."""
    until = time.monotonic() + seconds
    async with httpx2.AsyncClient(base_url=address, timeout=60, limits=httpx2.Limits(max_connections=100)) as client:
        found = await asyncio.gather(*(rate(client, token, until, every, n) for n, token in enumerate(tokens)))
    return [one for each in found for one in each]


def measure(raters: int, seconds: float, every: float, url: str | None) -> dict[str, Any]:
    """Serve, answer, count."""
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        place = url or str(Path(folder) / "store")
        with Store(place) as store:
            fill(store, "genexam", questions=40, painters=5, judges=())
            made = make(store, "genexam-models", people=raters, changes={"raters": 5})
        words = [sys.executable, "-c", SERVE, "study", "serve", "pilot", "--store", place, "--port", "0"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            found = re.search(r"at (http://\S+);", process.stdout.readline())
            assert found
            took = asyncio.run(everyone(found[1], list(made.links.values()), seconds, every))
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
        with Store(place) as store:
            kept = len(load_answers(store, "pilot"))
    saved = sorted(one for one, fine in took if fine)
    return {
        "raters": raters,
        "answers": len(took),
        "within_200_ms": round(sum(one <= WITHIN for one in saved) / len(took), 4),
        "median_ms": round(1000 * saved[len(saved) // 2], 1),
        "slowest_ms": round(1000 * saved[-1], 1),
        "refused": len(took) - len(saved),
        "kept": kept,
    }


def rows(quick: bool = False) -> Table:
    """Thirty raters for half a minute, one answer a second each."""
    found = measure(3, 2, 0.5, None) if quick else measure(30, 30, 1.0, None)
    heads = ("raters", "answers", "acknowledged within 200 ms", "middle, ms", "slowest, ms", "refused", "in the store")
    names = ("raters", "answers", "within_200_ms", "median_ms", "slowest_ms", "refused", "kept")
    figures = {"within 200 ms": found["within_200_ms"]}
    return Table(heads, (tuple(found[name] for name in names),), figures, "Raters and server share the cores.")


def main() -> None:
    """Print the measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--raters", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--every", type=float, default=1.0, help="Seconds between two clicks of one rater.")
    parser.add_argument("--store", default=None)
    given = parser.parse_args()
    print(json.dumps(measure(given.raters, given.seconds, given.every, given.store)))


if __name__ == "__main__":
    main()
