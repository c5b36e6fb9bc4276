"""Tables as CSV: one line per row, one column per number, with ends of intervals in separate columns."""

from __future__ import annotations

from ....core.data_rows import write_csv
from ..model import MISSING, PUBLISHED, Cell, Table, TableRow, clean

ABOUT = ("painter", "strategy", "judge", "evaluator", "reading", "n")
HEADS = ("table", "group", "row", "source", *(name for name in ABOUT if name != "n"), "differs")
"""The columns that always hold words, even if these look like numbers."""
STORE = "store"
ENDS = {"low": "low", "high": "high", "least": "least", "most": "most", "n": "few"}
"""The further columns of a number: the end of the column's name -> the cell's attribute."""


def render(table: Table) -> str:
    """Return the table as CSV, never turned; the column ``source`` distinguishes published rows from a store's."""
    return write_csv(*table_records(table))


def table_records(table: Table) -> tuple[list[str], list[dict[str, str]]]:
    """Return the names of the CSV's columns, and its rows."""
    rows = []
    ends: dict[str, None] = {}
    for sheet in table.flat:
        for group in sheet.blocks:
            for row in group.rows:
                record = _head(table, group.title, row)
                for column, cell in zip(sheet.columns, row.cells, strict=True):
                    numbers = _numbers(column.path, cell)
                    ends |= dict.fromkeys(numbers)
                    record |= numbers
                rows.append(record)
    paths = dict.fromkeys(column.path for sheet in table.flat for column in sheet.columns)
    names = ["table", "group", "row", "source", *ABOUT, "coverage", "differs"]
    for path in paths:
        names += [name for name in (path, *(f"{path} {end}" for end in ENDS)) if name in ends]
    return names, [{key: clean(value) for key, value in row.items()} for row in rows]


def _head(table: Table, group: str, row: TableRow) -> dict[str, str]:
    cells = {"table": table.key, "group": group, "row": row.label, "source": PUBLISHED if row.published else STORE}
    cells |= {name: row.about.get(name, "") for name in ABOUT}
    cells["coverage"] = "" if row.coverage is None else f"{row.coverage:.4f}"
    cells["differs"] = " ".join(table.footnotes[note - 1] for note in row.notes)
    return cells


def _numbers(path: str, cell: Cell) -> dict[str, str]:
    text = "" if cell.text == MISSING or cell.least is not None else cell.text
    cells = {path: text}
    if cell.few is not None:
        cells |= {f"{path} low": "", f"{path} high": ""}
    for end, name in ENDS.items():
        value = getattr(cell, name)
        if value is not None:
            cells[f"{path} {end}"] = str(value)
    return cells
