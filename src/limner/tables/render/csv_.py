"""Tables as CSV: one line per row of the table, one column per number, ends of intervals in columns of their own."""

from __future__ import annotations

import csv
import io

from ..model import MISSING, Cell, Line, Table
from .parts import PUBLISHED, clean

ABOUT = ("painter", "strategy", "judge", "evaluator", "reading", "n")
STORE = "store"
ENDS = {"low": "low", "high": "high", "least": "least", "most": "most", "n": "few"}
"""What stands beside a number in columns of their own, where there is any: its head, and what the cell calls it."""


def render(table: Table) -> str:
    """The table as CSV, never turned. `source` tells published rows from a store's."""
    rows = []
    ends: dict[str, None] = {}
    for sheet in table.flat:
        for group in sheet.groups:
            for line in group.lines:
                row = _head(table, group.title, line)
                for column, cell in zip(sheet.columns, line.cells, strict=True):
                    numbers = _numbers(column.path, cell)
                    ends |= dict.fromkeys(numbers)
                    row |= numbers
                rows.append(row)
    paths = dict.fromkeys(column.path for sheet in table.flat for column in sheet.columns)
    names = ["table", "group", "row", "source", *ABOUT, "coverage", "differs"]
    for path in paths:
        names += [name for name in (path, *(f"{path} {end}" for end in ENDS)) if name in ends]
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows({key: clean(value) for key, value in row.items()} for row in rows)
    return buffer.getvalue()


def _head(table: Table, group: str, line: Line) -> dict[str, str]:
    found = {"table": table.key, "group": group, "row": line.label, "source": PUBLISHED if line.published else STORE}
    found |= {name: line.about.get(name, "") for name in ABOUT}
    found["coverage"] = "" if line.coverage is None else f"{line.coverage:.4f}"
    found["differs"] = " ".join(table.footnotes[note - 1] for note in line.notes)
    return found


def _numbers(path: str, cell: Cell) -> dict[str, str]:
    text = "" if cell.text == MISSING or cell.least is not None else cell.text
    found = {path: text}
    if cell.few is not None:
        found |= {f"{path} low": "", f"{path} high": ""}
    for end, name in ENDS.items():
        value = getattr(cell, name)
        if value is not None:
            found[f"{path} {end}"] = str(value)
    return found
