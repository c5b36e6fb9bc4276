"""How long does `limner scores` take on 100,000 markings?

    python -m benchmarks.scores [--painters 20] [--questions 1000] [--judges 5]

Fills a store without images, and runs the command in a process of its own: for the first time, when all markings are
read, and again, as a table and as JSON. Once with what model judges replied, as a run leaves it, and once with marks,
as the OCR examiner leaves them.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from tests.report.tables import synthetic
from tests.report.tables.replied import as_replies

from benchmarks.table import Table, told
from limner.store import Store

ROUNDS = 3
COMMAND = """
import json, sys
from benchmarks.table import cpu_seconds, peak_mib
from limner.cli import main
sys.argv = ["limner", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps({"cpu": cpu_seconds(), "peak": peak_mib()}), file=sys.stderr)
"""


def measure(store: Path, form: str) -> dict[str, float]:
    """CPU seconds and peak memory of the command."""
    words = [sys.executable, "-c", COMMAND, "scores", "genexam", "--store", str(store), "--format", form]
    done = subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return found


def fill(place: Path, painters: int, questions: int, judges: int, replies: bool) -> None:
    """Make the store."""
    with Store(place) as store:
        names = tuple(f"fake/judge-{n}" for n in range(judges))
        synthetic.fill(store, "genexam", painters=painters, questions=questions, judges=names, images=False)
        if replies:
            as_replies(store)
    with closing(sqlite3.connect(place / "limner.db")) as connection:
        connection.execute("VACUUM")  # A run writes its rows once, where these were changed.


def rows(quick: bool = False, painters: int = 20, questions: int = 1000, judges: int = 5) -> Table:
    """CPU seconds and peak memory for a table and for JSON, which has every number."""
    if quick:
        painters, questions, judges = 2, 6, 1
    found: dict[tuple[int, str, str], dict[str, float]] = {}
    cases = [(each, replies) for each in (max(1, questions // 10), questions) for replies in (True, False)]
    for each, replies in cases:
        with tempfile.TemporaryDirectory(prefix="limner-scores-") as name:
            store = Path(name) / "store"
            fill(store, painters, each, judges, replies)
            for when, form in (("first", "table"), ("again", "table"), ("again", "json")):
                kept = "replies" if replies else "marks"
                tries = [measure(store, form) for _ in range(1 if when == "first" else ROUNDS)]
                found[painters * each * judges, kept, f"{form}, {when}"] = min(tries, key=lambda one: one["cpu"])
    first, most = (found[painters * questions * judges, "replies", f"table, {when}"] for when in ("first", "again"))
    return Table(
        ("markings", "kept as", "format", "CPU seconds", "peak MiB"),
        tuple((f"{count:,}", kept, form, each["cpu"], each["peak"]) for (count, kept, form), each in found.items()),
        {"cpu seconds": most["cpu"], "cpu seconds at first": first["cpu"], "peak mib": most["peak"]},
        f"{painters} painters, {questions:,} questions, {judges} judges: about {painters * questions * judges:,} "
        "markings, of which one in a hundred failed; and the same with a tenth of the questions. The quickest of "
        f"{ROUNDS} runs, but of one where markings are read for the first time.",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("painters", 20), ("questions", 1000), ("judges", 5)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    print(told(rows(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
