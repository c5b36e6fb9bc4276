"""Rows of a query as records: quickly, and with what many have in common held once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, TypeVar

import sqlalchemy as sa

from .schema import drawings, markings
from .store import parsed

T = TypeVar("T")
AT_ONCE = 500
"""So many rows of many are fetched at a time."""
TEXTS = frozenset(one.name for table in (drawings, markings) for one in table.c if isinstance(one.type, sa.JSON))
"""Fields of drawings and markings that tables keep as JSON."""
SHARED = ("exam", "question_id", "question_hash", "painter", "spec", "strategy", "status", "origin")
"""Words of a drawing that many others have too."""


def columns(table: sa.Table, *names: str) -> list[sa.ColumnElement[Any]]:
    """Some columns of a table, with JSON as the text it is: whoever needs what it says reads it (`parsed`)."""
    chosen = [table.c[name] for name in names] if names else table.c
    return [sa.cast(one, sa.Text).label(one.name) if isinstance(one.type, sa.JSON) else one for one in chosen]


def made(
    record: type[T], connection: sa.Connection, query: sa.Select[Any], rest: Mapping[str, Any] | None = None
) -> Iterator[T]:
    """The records behind a query that selects `columns`; `rest` is what it leaves out."""
    rows = connection.execution_options(yield_per=AT_ONCE).execute(query)
    names, always = tuple(rows.keys()), (rest or {}).items()
    turns = [parsed if name in TEXTS else intern if name in SHARED else None for name in names]
    # Every field is set, one by one, and the class not called: far quicker, and records share the room for their names.
    put = object.__setattr__
    for some in rows.partitions():
        for row in some:
            one = object.__new__(record)
            for name, turn, value in zip(names, turns, row, strict=True):
                put(one, name, value if turn is None or value is None else turn(value))
            for name, value in always:
                put(one, name, value)
            yield one
