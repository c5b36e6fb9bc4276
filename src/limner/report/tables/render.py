"""Rendering of tables in each format; the layout of text, LaTeX and HTML is in modules of their own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ...core.data_rows import write_csv
from ...core.redaction import printable
from .model import MISSING, PUBLISHED, Cell, Column, Sheet, Table, TableRow, clean, html_notes, interval, raised

FORMATS = ("table", "json", "csv", "md", "latex", "html")
SUFFIXES = {
    ".txt": "table",
    ".json": "json",
    ".md": "md",
    ".csv": "csv",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
}
"""The format for each suffix of a file name."""


def rendered(table: Table, form: str, *, page: bool = False) -> str:
    """Return the table in one of `FORMATS`; HTML is a fragment, or with `page` a complete page."""

    from . import html, latex, text

    ways: dict[str, Callable[[Table], str]] = {
        "table": text.plain,
        "json": lambda table: _json_text([dict(row) for row in table.frame_rows()[1]]),
        "md": markdown,
        "csv": csv_text,
        "latex": latex.render,
        "html": html.page if page else html.fragment,
    }
    return ways[form](table)


def show(
    form: str,
    tables: Callable[[], Iterable[Table]],
    *,
    body: Callable[[], Any] | None = None,
    records: Callable[[], str] | None = None,
    notes: bool = False,
) -> None:
    """Print the result in the requested form; only that form is computed.

    Args:
        form: One of `FORMATS`.
        tables: Returns the tables.
        body: Returns the result as plain JSON; by default the rows of the tables' CSV.
        records: Returns the result as CSV, with a number per line; by default the tables' CSV.
        notes: Whether to show all notes on tables.
    """
    shown = (lambda: [table.with_details() for table in tables()]) if notes else tables
    if form == "table":
        from .text import show as show_text

        show_text(shown())
    elif form == "json" and body is not None:
        print(printable(_json_text(body())), end="", flush=True)
    elif form == "csv" and records is not None:
        print(printable(records()), end="", flush=True)
    else:
        print(printable("".join(rendered(table, form) for table in shown())), end="", flush=True)


def _json_text(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


ABOUT = ("painter", "strategy", "judge", "evaluator", "reading", "n")
HEADS = ("table", "group", "row", "source", *(name for name in ABOUT if name != "n"), "differs")
"""The columns that always hold words, even if these look like numbers."""
STORE = "store"
ENDS = {"low": "low", "high": "high", "least": "least", "most": "most", "n": "few"}
"""The further columns of a number: the end of the column's name -> the cell's attribute."""


def csv_text(table: Table) -> str:
    """Return the table as CSV, never turned; the column ``source`` distinguishes published rows from a store's."""
    return write_csv(*table_records(table))


def table_records(table: Table) -> tuple[list[str], list[dict[str, str]]]:
    """Return the names of the CSV's columns, and its rows."""
    rows = []
    ends: dict[str, None] = {}
    for sheet in table.flat:
        for group in sheet.blocks:
            for row in group.rows:
                record = _record_head(table, group.title, row)
                for column, cell in zip(sheet.columns, row.cells, strict=True):
                    numbers = _csv_numbers(column.path, cell)
                    ends |= dict.fromkeys(numbers)
                    record |= numbers
                rows.append(record)
    paths = dict.fromkeys(column.path for sheet in table.flat for column in sheet.columns)
    names = ["table", "group", "row", "source", *ABOUT, "coverage", "differs"]
    for path in paths:
        names += [name for name in (path, *(f"{path} {end}" for end in ENDS)) if name in ends]
    return names, [{key: clean(value) for key, value in row.items()} for row in rows]


def _record_head(table: Table, group: str, row: TableRow) -> dict[str, str]:
    cells = {"table": table.key, "group": group, "row": row.label, "source": PUBLISHED if row.published else STORE}
    cells |= {name: row.about.get(name, "") for name in ABOUT}
    cells["coverage"] = "" if row.coverage is None else f"{row.coverage:.4f}"
    cells["differs"] = " ".join(table.footnotes[note - 1] for note in row.notes)
    return cells


def _csv_numbers(path: str, cell: Cell) -> dict[str, str]:
    text = "" if cell.text == MISSING or cell.least is not None else cell.text
    cells = {path: text}
    if cell.few is not None:
        cells |= {f"{path} low": "", f"{path} high": ""}
    ends = {f"{path} {end}": getattr(cell, name) for end, name in ENDS.items()}
    return cells | {name: str(value) for name, value in ends.items() if value is not None}


_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#$&])")


def escape_markdown(text: str) -> str:
    """Return text escaped for Markdown."""
    return _SPECIAL.sub(r"\\\1", clean(text))


def markdown(table: Table) -> str:
    """Return the table under a heading, with its notes below.

    >>> from .model import simple_table
    >>> print(markdown(simple_table("a", ["x", "n"], [["one|two", "3"]], ["so it is"])), end="")
    ### a
    <BLANKLINE>
    | x | n |
    |---|--:|
    | one\\|two | 3 |
    <BLANKLINE>
    - so it is
    <BLANKLINE>
    """
    title, *above = table.caption or (table.title,)
    parts = [f"### {escape_markdown(title)}", _list(map(escape_markdown, above))]
    for sheet in table.sheets:
        parts.append(f"**{escape_markdown(sheet.title)}**" if sheet.title else "")
        parts.append("\n".join(_markdown_sheet(sheet)) if any(sheet.rows()) else "")
    parts.append(_list(html_notes(table, escape_markdown)))
    return "".join(f"{part}\n\n" for part in parts if part)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _markdown_sheet(sheet: Sheet) -> Iterator[str]:
    heads = [(f"{column.over} {column.head}" if column.over else column.head, column) for column in sheet.columns]
    yield _row([escape_markdown(sheet.stub), *(_labelled(head, column, column.published) for head, column in heads)])
    yield "|".join(["", "---", *("---" if column.words else "--:" for column in sheet.columns), ""])
    for group in sheet.blocks:
        if group.title:
            heading = f"**{escape_markdown(group.title)}**{raised(group.notes)}"
            yield _row([heading + f" ({PUBLISHED})" * group.published, *[""] * len(sheet.columns)])
        for row in group.rows:
            # The title of a published block already says so.
            label = _labelled(row.label, row, row.published and not group.published)
            yield _row([label, *map(_cell, row.cells)])


def _labelled(text: str, part: TableRow | Column, published: bool) -> str:
    """Return a label with its footnotes, whether it is published, and its coverage."""
    asides = ", ".join([PUBLISHED] * published + [part.covered] * bool(part.covered))
    return escape_markdown(text) + raised(part.notes) + (f" ({asides})" if asides else "")


def _cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    text = f"**{text}**" if cell.rank == 1 else f"<u>{text}</u>" if cell.rank == 2 else text
    return f"{text} {escape_markdown(interval(cell))}" if interval(cell) else text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
