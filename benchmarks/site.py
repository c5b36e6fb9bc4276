"""How long does a site of 20,000 drawings take to build and to open?

    python -m benchmarks.site [--painters 20] [--questions 1000] [--side 512] [--folder DIR] [--workers 2]

Fills a store with PNG drawings and one judge's marks, builds the site twice in a process of its own (the second time
every small picture is there already), and opens its pages in a headless browser. What is in the folder already is used
again. Drawings are `BASES` diagrams, each many times under a hash of its own, so that every one is read, decoded,
reduced and packed as in life, and the store is filled in half a minute.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tests.browser import started
from tests.report.tables import synthetic

from benchmarks.material import diagram
from benchmarks.pages import addresses, ready
from benchmarks.table import Table, told
from limner.store import Store

BASES = 60
ROOT = Path(__file__).parents[1]
HEADER = 33
"""Where a PNG's signature and first chunk end."""
BUILD = """
import json, resource, sys
from benchmarks.table import cpu_seconds, peak_mib
from limner.report.site import build
if __name__ == "__main__":
    built = build(sys.argv[1], store=sys.argv[2], workers=int(sys.argv[3]))
    print(json.dumps({
        "seconds": round(built.seconds, 1), "pictures": built.pictures, "cpu seconds": round(cpu_seconds(), 1),
        "peak MiB": round(peak_mib()),
        "peak MiB of a worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024,
    }))
"""


@cache
def base(number: int, side: int) -> bytes:
    """One of the diagrams, as a PNG."""
    buffer = io.BytesIO()
    diagram(f"base{number}").resize((side, side)).save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()


def drawing(*of_what: object, side: int) -> bytes:
    """One of the diagrams with a comment of its own: other bytes, and as much work."""
    word = repr(of_what).encode()
    comment = b"tEXtComment\0" + word
    chunk = (len(comment) - 4).to_bytes(4) + comment + zlib.crc32(comment).to_bytes(4)
    data = base(zlib.crc32(word) % BASES, side)
    return data[:HEADER] + chunk + data[HEADER:]


def fill(folder: Path, painters: int, questions: int, side: int) -> None:
    if (folder / "filled").exists():
        return
    shutil.rmtree(folder / "store", ignore_errors=True)
    with (
        Store(folder / "store") as store,
        mock.patch.object(synthetic, "picture", lambda *of_what, size=(0, 0): drawing(*of_what, side=side)),
        mock.patch("os.fsync"),
    ):
        synthetic.fill(store, "genexam", painters=painters, questions=questions)
    (folder / "filled").touch()


def build(folder: Path, workers: int) -> dict[str, Any]:
    script = folder / "build.py"
    script.write_text(BUILD)
    words = [sys.executable, str(script), str(folder / "site"), str(folder / "store"), str(workers)]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def size(folder: Path) -> str:
    found = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return f"{found / 2**20:.0f} MiB" if found > 2**20 else f"{found / 2**10:.0f} KiB"


PEAKS = ("peak MiB", "peak MiB of a worker")
COLUMNS = ("drawings", "pixels", "build", "pictures made", "seconds", "CPU seconds", "CPU ms a drawing", *PEAKS)


def measured(folder: Path, painters: int, questions: int, side: int, workers: int = 2) -> list[dict[str, Any]]:
    """Fill a store, and build its site twice: one row for each build."""
    fill(folder, painters, questions, side)
    shutil.rmtree(folder / "site", ignore_errors=True)
    found = []
    for which in ("first", "second"):
        done, many = build(folder, workers), painters * questions
        row = {"drawings": many, "pixels": f"{side} x {side}", "build": which, "pictures made": done["pictures"]}
        row |= {"seconds": done["seconds"], "CPU seconds": done["cpu seconds"]}
        row |= {"CPU ms a drawing": 1000 * done["cpu seconds"] / many}
        found.append(row | {name: done[name] for name in PEAKS})
    return found


def rows(quick: bool = False) -> Table:
    """What the first and the second build of the site take; its pages are not opened."""
    painters, questions, fewer = (3, 4, 2) if quick else (20, 1000, 100)
    found = []
    for many, side in ((questions, 512), (fewer, 1024)):
        with tempfile.TemporaryDirectory(prefix="limner-site-") as name:
            found += measured(Path(name), painters, many, side)
    figures = {"cpu seconds": found[0]["CPU seconds"], "peak mib": found[0]["peak MiB"]}
    figures |= {"second cpu seconds": found[1]["CPU seconds"], "cpu ms at 1024": found[2]["CPU ms a drawing"]}
    note = f"{painters} painters, PNG drawings of {BASES} diagrams under hashes of their own, one judge, two workers."
    return Table(COLUMNS, tuple(tuple(row[name] for name in COLUMNS) for row in found), figures, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--painters", type=int, default=20)
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="limner-site-"))
    folder.mkdir(parents=True, exist_ok=True)
    clock = time.perf_counter()
    found = measured(folder, given.painters, given.questions, given.side, given.workers)
    print(told(Table(COLUMNS, tuple(tuple(row[name] for name in COLUMNS) for row in found))))
    print(f"{time.perf_counter() - clock:.0f} s in all; the store has", size(folder / "store"), flush=True)
    for part in ("thumbs", "exams", "static"):
        print(f"{part}:", size(folder / "site" / part))
    with started() as browser:
        for page, address in addresses(folder / "site" / "exams" / "genexam").items():
            ms, kib = ready(browser, address)
            print(f"{page}: ready after {ms:.0f} ms, {kib:.0f} KiB")


if __name__ == "__main__":
    main()
