"""What the formats share: heads that span columns, labels with their marks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ...core.redaction import visible, without_secrets
from ..model import Cell, Column, Sheet, TableRow, covered

PUBLISHED = "published"


def clean(text: str) -> str:
    """One line without control characters or keys: names come from data and may hold anything."""
    return visible(str(without_secrets(text)))


def spans(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """The heads above and how many neighbouring columns each spans; nothing where there is none.

    >>> spans([Column("a"), Column("b", "over"), Column("c", "over")])
    [('', 1), ('over', 2)]
    """
    if not any(column.over for column in columns):
        return []
    found: list[tuple[str, int]] = []
    for over, inside in groupby(columns, key=lambda column: column.over):
        count = len(list(inside))
        found += [(over, count)] if over else [("", 1)] * count
    return found


def interval(cell: Cell) -> str:
    """``[low, high]``; how many questions there are where these are too few for it; or nothing."""
    if cell.few is not None:
        return f"(n={cell.few})"
    return f"[{cell.low}, {cell.high}]" if cell.low is not None and cell.high is not None else ""


def aside(row: TableRow | Column) -> str:
    """What stands behind a label in brackets: how much of the exam it covers."""
    return covered(row.coverage)


def titled(sheet: Sheet) -> bool:
    """Whether any group has a title."""
    return any(group.title for group in sheet.blocks)
