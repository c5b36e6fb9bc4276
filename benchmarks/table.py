"""What a benchmark gives: a table, and single figures by name; and the clocks that it measures with."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

Cell = str | int | float | None


class CannotRun(Exception):
    """What a benchmark needs is not here, such as a GPU; its message says what."""


@dataclass(frozen=True)
class Table:
    """What was measured.

    Attributes:
        columns: Heads in plain words with their units.
        rows: As measured; numbers are rounded where they are shown.
        figures: Single numbers by name, to which aims and the plan refer.
        note: A sentence on what was run: how many, how often.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    figures: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"{len(row)} cells under {len(self.columns)} heads: {row}")


class Clock:
    """Wall and CPU time of what happens inside, ended child processes included."""

    seconds: float
    cpu: float

    def __enter__(self) -> Clock:
        self._wall, self._cpu = time.perf_counter(), cpu_seconds()
        return self

    def __exit__(self, *exc: object) -> None:
        self.seconds, self.cpu = time.perf_counter() - self._wall, cpu_seconds() - self._cpu


def cpu_seconds() -> float:
    """CPU time of this process and its ended children so far."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def peak_mib() -> float:
    """The most memory that this process has had."""
    # Not ru_maxrss: a process begins with that of the one that started it, which may have filled a store.
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def shown(cell: Cell) -> str:
    """A cell as pages have it: numbers with three digits that count, whole ones with all of theirs.

    >>> shown(0.0012345), shown(5.0), shown(123456.7), shown(1000), shown(None)
    ('0.00123', '5.00', '123,457', '1,000', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell.replace("|", "\\|")
    if isinstance(cell, int):
        return f"{cell:,}"
    if cell == 0:
        return "0"
    size = abs(cell)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{cell:,.{digits}f}" if size >= 0.1 else f"{cell:.3g}"


def markdown(columns: tuple[str, ...], rows: tuple[tuple[Cell, ...], ...]) -> str:
    """Rows as a Markdown table; columns of numbers are set to the right."""
    right = [any(isinstance(row[n], int | float) for row in rows) for n in range(len(columns))]
    lines = [columns, tuple("--:" if one else "---" for one in right)]
    lines += [tuple(shown(cell) for cell in row) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def told(table: Table) -> str:
    """A table with its note, for a terminal and for pages."""
    return "\n\n".join(part for part in (markdown(table.columns, table.rows), table.note) if part)
