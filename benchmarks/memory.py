"""How much memory does a run take that has 1,000, 10,000 or 100,000 questions to choose from?

    python -m benchmarks.memory [--sizes 1000,10000,100000] [--drawn 1000]

Every run is a process of its own: it reads the data, stores the exam, and draws the first questions with a control. A
second one plans all of them from the store. Beside them, in a store of its own, a run that wants a few questions: the
first time, when all are read, checked and stored, and a second time, when the data is as it was.
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

FEW = 5
"""So many questions a run wants that wants few."""
RUN = """
import json, sys
from benchmarks.table import cpu_seconds, peak_mib
from limner import api
from limner.core.exam import Selection
from limner.running.backlog import Backlog
folder, drawn, place = sys.argv[1], int(sys.argv[2]), sys.argv[4]
how = {"painters": ["control/reference"], "data": None if drawn == 0 else folder}
with api.open_store(folder + place, create=True) as store:
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


def measure(folder: Path, to_draw: int, drawn: int, store: str = "/store") -> dict[str, float]:
    """CPU seconds and peak memory of one run; with nothing to draw, of planning all beside those that are drawn."""
    words = [sys.executable, "-c", RUN, str(folder), str(to_draw), str(drawn), store]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def rows(quick: bool = False, sizes: tuple[int, ...] = (1000, 10_000, 100_000), drawn: int = 1000) -> Table:
    """Peak memory and CPU seconds by the number of questions."""
    few = FEW
    if quick:
        sizes, drawn, few = (5, 10), 2, 1
    found = []
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="limner-memory-") as name:
            make(Path(name) / "data", size)
            ran, planned = (measure(Path(name) / "data", count, drawn) for count in (drawn, 0))
            once, again = (measure(Path(name) / "data", few, few, "/few") for _ in range(2))
            told = ran["peak"], ran["cpu"], planned["peak"], planned["cpu"], once["cpu"], again["cpu"]
            found.append((size, *told))
    first, last = found[0], found[-1]
    name = f"peak at {last[0]:,} of peak at {first[0]:,}"
    columns = "questions", "peak MiB of a run", "CPU seconds", "peak MiB of planning all", "CPU seconds of it"
    return Table(
        (*columns, f"CPU seconds of --limit {few}", "the second time"),
        tuple(found),
        {
            name: max(last[1], last[3]) / max(first[1], first[3]),
            "peak mib": max(last[1], last[3]),
            f"--limit {few} again at {last[0]:,} of {first[0]:,}": last[6] / first[6],
        },
        f"A run draws the first {drawn:,} questions with a control; planning looks up what the store lacks of all. "
        f"With --limit {few}, all are read, checked and stored once; the second time the data is as it was.",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=(1000, 10_000, 100_000))
    parser.add_argument("--drawn", type=int, default=1000)
    print(told(rows(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
