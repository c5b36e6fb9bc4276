"""How long does `limner scores` take on 100,000 markings?

    python -m benchmarks.scores [--painters 20] [--questions 1000] [--judges 5]

Fills a store without images, and runs the command in a process of its own, as a table and as JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tables import synthetic

from benchmarks.table import Table, told
from limner.store import Store

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


def rows(quick: bool = False, painters: int = 20, questions: int = 1000, judges: int = 5) -> Table:
    """CPU seconds and peak memory for a table and for JSON, which has every number."""
    if quick:
        painters, questions, judges = 2, 6, 1
    found: dict[tuple[int, str], dict[str, float]] = {}
    sizes = {painters * each * judges: each for each in (max(1, questions // 10), questions)}
    for markings, each in sizes.items():
        with tempfile.TemporaryDirectory(prefix="limner-scores-") as name:
            with Store(Path(name) / "store") as store:
                names = tuple(f"fake/judge-{n}" for n in range(judges))
                synthetic.fill(store, "genexam", painters=painters, questions=each, judges=names, images=False)
            found |= {(markings, form): measure(Path(name) / "store", form) for form in ("table", "json")}
    most = found[max(sizes), "table"]
    return Table(
        ("markings", "format", "CPU seconds", "peak MiB"),
        tuple((f"{markings:,}", form, each["cpu"], each["peak"]) for (markings, form), each in found.items()),
        {"cpu seconds": most["cpu"], "peak mib": most["peak"]},
        f"{painters} painters, {questions:,} questions, {judges} judges: about {painters * questions * judges:,} "
        "markings, of which one in a hundred failed; and the same with a tenth of the questions.",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("painters", 20), ("questions", 1000), ("judges", 5)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    print(told(rows(**vars(parser.parse_args()))))


if __name__ == "__main__":
    main()
