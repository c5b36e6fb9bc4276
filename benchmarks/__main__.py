"""Runs the benchmarks, each in a process of its own, and writes what they measured into benchmarks/README.md.

python -m benchmarks             all that are cheap: about ten minutes on two quiet cores
python -m benchmarks NAME …      these, also those that take long or need a GPU
python -m benchmarks --write     nothing is run: the page is written again from results.json
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks import page, results
from benchmarks.listing import Benchmark, benchmarks
from benchmarks.table import CannotRun, Table, told

ROOT = Path(__file__).parents[1]


def run_here(name: str, quick: bool, file: Path) -> None:
    """Run one benchmark in this process and write what it gives into a file."""
    try:
        rows = importlib.import_module(f"benchmarks.{name}").rows
        found: dict[str, Any] = asdict(rows(quick))
    except (CannotRun, ModuleNotFoundError) as error:
        found = {"skipped": str(error)}
    file.write_text(json.dumps(found), "utf-8")


def run_apart(name: str, quick: bool) -> Table | str:
    """The table of one benchmark, run in a process of its own; or why it cannot run here, in words."""
    with tempfile.TemporaryDirectory(prefix="limner-") as folder:
        file = Path(folder) / "found.json"
        words = [sys.executable, "-m", "benchmarks", name, "--into", str(file), *(["--quick"] if quick else [])]
        done = subprocess.run(words, cwd=ROOT, check=False)
        if done.returncode or not file.exists():
            return f"it failed with exit code {done.returncode}"
        found = json.loads(file.read_text("utf-8"))
    if "skipped" in found:
        return str(found["skipped"])
    rows = tuple(tuple(row) for row in found["rows"])
    return Table(**{**found, "columns": tuple(found["columns"]), "rows": rows})


def run(chosen: list[Benchmark], quick: bool) -> bool:
    """Run these one after the other, keep what they measure, write the page; whether all could run."""
    fine = True
    for one in chosen:
        busy, clock = busy_share(), time.perf_counter()
        print(f"## {one.title}: python -m benchmarks {one.name}", flush=True)
        found = run_apart(one.name, quick)
        if isinstance(found, Table):
            print(f"{told(found)}\n\n{time.perf_counter() - clock:.0f} s\n", flush=True)
        else:
            print(f"kept as it was: {found}\n", flush=True)
            fine = False
        if quick:
            continue
        # After each of them, so that nothing is lost when a later one is interrupted.
        known = results.load(results.FILE)
        was = known.get(one.name)
        known[one.name] = results.measured(found, busy) if isinstance(found, Table) else results.skipped(was, found)
        results.save(known, results.FILE)
        page.update(benchmarks(), known, page.FILE)
    return fine


def busy_share() -> float:
    """Which share of the cores is busy with other work right now."""
    import psutil

    return float(psutil.cpu_percent(interval=1.0)) / 100


def main(words: list[str] | None = None) -> int:
    """See the module; exit code 3 where one of them could not run here."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = {one.name: one for one in benchmarks()}
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--write", action="store_true", help="only write the page")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all run; nothing is kept")
    parser.add_argument("--into", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(words)
    if unknown := [name for name in given.names if name not in known]:
        parser.error(f"no benchmark {', '.join(unknown)}; there are: {', '.join(known)}")
    if given.into is not None:
        run_here(given.names[0], given.quick, given.into)
        return 0
    if given.write:
        page.update(list(known.values()), results.load(results.FILE), page.FILE)
        return 0
    chosen = [known[name] for name in given.names] or [one for one in known.values() if not one.by_name]
    return 0 if run(chosen, given.quick) else 3


if __name__ == "__main__":
    sys.exit(main())
