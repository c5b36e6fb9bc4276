"""CSV as Limner writes it: text that a spreadsheet would run as a formula is marked as text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet takes for a formula."""
MARK = "'"
"""The first character by which a spreadsheet knows text."""


def write_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], line_end: str = "\n") -> str:
    """Return rows as CSV with these columns; values that a row lacks are empty, and columns not named are left out."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, extrasaction="ignore", lineterminator=line_end)
    writer.writerow({name: safe_cell(name) for name in names})
    writer.writerows({name: safe_cell(value) for name, value in row.items()} for row in rows)
    return buffer.getvalue()


def safe_cell(value: Any) -> Any:
    """Return the value of a cell, marked as text if it would be a formula; numbers are kept.

    >>> [safe_cell(value) for value in ("=1+1", "-0.5", "@a", "plain", -2)]
    ["'=1+1", '-0.5', "'@a", 'plain', -2]
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return MARK + value
    return value


def plain_cell(value: Any) -> Any:
    """Return the value of a cell that `write_csv` wrote, without its mark.

    >>> [plain_cell(value) for value in ("'=1+1", "'tis", None)]
    ['=1+1', "'tis", None]
    """
    marked = isinstance(value, str) and value.startswith(MARK) and value[1:].startswith(FORMULA)
    return value[1:] if marked else value
