"""What the benchmarks last measured, as ``results.json`` keeps it: rows, figures, day and machine of each."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.table import Cell, Table

FILE = Path(__file__).with_name("results.json")
QUIET = 0.25
"""A machine whose cores were busier than this share, before a benchmark began, was not quiet."""


@dataclass(frozen=True)
class Result:
    """The last run of one benchmark.

    Attributes:
        day: When its rows were measured.
        machine: What matters of where: no name, no path.
        skipped: Why a later run could not measure it again; its rows are those of `day`.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""
    day: str | None = None
    machine: str = ""
    skipped: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Result:
        """The result behind `to_json`."""
        rows = tuple(tuple(row) for row in found["rows"])
        return cls(**{**found, "columns": tuple(found["columns"]), "rows": rows})


def measured(table: Table, busy: float) -> Result:
    """A table as measured now and here, where so great a share of the cores was busy before."""
    return Result(
        table.columns, table.rows, dict(table.figures), table.note, date.today().isoformat(), machine(busy)
    )  # fmt: skip


def skipped(old: Result | None, why: str) -> Result:
    """The earlier result, with why it is not a new one."""
    return replace(old or Result(), skipped=why)


def machine(busy: float) -> str:
    """The machine in words: cores, sort of processor, system and Python."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quiet = "quiet" if busy <= QUIET else f"not quiet: {busy:.0%} of it busy with other work"
    words = f"{cores} {'core' if cores == 1 else 'cores'} ({platform.machine()}), {platform.system()}"
    return f"{words}, Python {platform.python_version()}; {quiet}"


def load(file: Path = FILE) -> dict[str, Result]:
    """By benchmark, what was measured last."""
    if not file.exists():
        return {}
    return {name: Result.from_json(found) for name, found in json.loads(file.read_text("utf-8")).items()}


def save(found: Mapping[str, Result], file: Path = FILE) -> None:
    """Write all results, in the order of their names."""
    rows = {name: found[name].to_json() for name in sorted(found)}
    file.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")
