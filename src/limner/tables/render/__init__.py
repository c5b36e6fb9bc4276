"""Writes filled tables down, one module per format."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Table

FORMATS = ("text", "md", "csv", "latex", "html")
SUFFIXES = {".txt": "text", ".md": "md", ".csv": "csv", ".tex": "latex", ".html": "html", ".htm": "html"}
"""The format that goes with the end of a file's name."""


def rendered(table: Table, form: str, *, page: bool = False) -> str:
    """The table in one of `FORMATS`; as HTML a fragment, or a whole page."""

    from . import csv_, html, latex, markdown, text

    ways: dict[str, Callable[[Table], str]] = {
        "text": text.plain,
        "md": markdown.render,
        "csv": csv_.render,
        "latex": latex.render,
        "html": html.page if page else html.fragment,
    }
    return ways[form](table)
