"""Renderers of tables, one module per format."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from ....core.redaction import printable
from ..model import Table

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

    from . import csv, html, latex, markdown, text

    ways: dict[str, Callable[[Table], str]] = {
        "table": text.plain,
        "json": lambda table: _json_text([dict(row) for row in table.frame_rows()[1]]),
        "md": markdown.render,
        "csv": csv.render,
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
