"""How much memory does a run take that has 1,000 or 10,000 questions to choose from?

    python -m benchmarks.memory [--sizes 1000,10000] [--drawn 1000]

Every run is a process of its own: it reads the data, stores the exam, and draws the first questions with a control. A
second one plans all of them from the store.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.material import POINTS
from benchmarks.table import Table, told

RUN = """
import json, sys
from benchmarks.table import cpu_seconds, peak_mib
from limner import api
from limner.core.exam import Selection
from limner.running.backlog import Backlog
folder, drawn = sys.argv[1], int(sys.argv[2])
how = {"painters": ["control/reference"], "data": None if drawn == 0 else folder}
with api.open_store(folder + "/store", create=True) as store:
    if drawn:
        progress = api.run("genexam", store=store, selection=Selection(limit=drawn), **how)
        assert progress.failed == 0, progress
    else:
        plan = api.plan("genexam", store, **how)
        to_draw, _ = Backlog(plan, store).counts()
        assert to_draw == len(plan.exam.questions) - int(sys.argv[3])
print(json.dumps({"cpu": cpu_seconds(), "peak": peak_mib()}))
"""


def make(folder: Path, count: int) -> None:
    """Write so many questions in GenExam's layout, all with one small reference."""
    from PIL import Image

    (folder / "annotations").mkdir(parents=True)
    (folder / "images").mkdir()
    Image.new("RGB", (64, 64), "white").save(folder / "images" / "one.png")
    weights = [0.15] * (POINTS - 1) + [0.1]
    with (folder / "annotations" / "All_Subjects.jsonl").open("w") as file:
        for number in range(count):
            points = [
                {"question": f"Is part {n} of drawing {number} shown and labelled?", "score": weight}
                for n, weight in enumerate(weights)
            ]
            row = {"id": f"Bench_{number}", "prompt": f"Draw system number {number} with its {POINTS} parts. " * 6}
            row |= {"image_path": "one.png", "taxonomy": "Physics/Bench", "img_type": "diagrams"}
            row |= {"subject": "Physics", "difficulty": "easy"}
            file.write(json.dumps(row | {"scoring_points": points}) + "\n")


def measure(folder: Path, to_draw: int, drawn: int) -> dict[str, float]:
    """CPU seconds and peak memory of one run; with nothing to draw, of planning all beside those that are drawn."""
    words = [sys.executable, "-c", RUN, str(folder), str(to_draw), str(drawn)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows(quick: bool = False, sizes: tuple[int, ...] = (1000, 10_000), drawn: int = 1000) -> Table:
    """Peak memory and CPU seconds by the number of questions."""
    if quick:
        sizes, drawn = (5, 10), 2
    found = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="limner-memory-") as name:
            make(Path(name) / "data", size)
            ran, planned = (measure(Path(name) / "data", count, drawn) for count in (drawn, 0))
            found.append((size, ran["peak"], ran["cpu"], planned["peak"], planned["cpu"]))
    return Table(
        ("questions", "peak MiB of a run", "CPU seconds", "peak MiB of planning all", "CPU seconds of it"),
        tuple(found),
        {"peak mib": max(found[-1][1], found[-1][3])},
        f"A run draws the first {drawn:,} questions with a control; planning looks up what the store lacks of all.",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=(1000, 10_000))
    parser.add_argument("--drawn", type=int, default=1000)
    print(told(rows(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
