"""What an exam's paper reports beyond its scores, as tables: any plain JSON of one or two levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core.evaluator import by_evaluator
from ..scoring import Standing
from .model import MISSING, Table, simple_table

Numbers = tuple[str | None, Mapping[str, Any]]
"""A row's own name, where it has one, and its numbers."""


def analysis_tables(standings: Sequence[Standing]) -> list[Table]:
    """One table for every analysis under every evaluator, with all its painters."""
    tables = []
    for rows in by_evaluator(standings):
        for name in dict.fromkeys(name for row in rows for name in row.analyses):
            title = f"{rows[0].exam} · judge {rows[0].evaluator.name} · {name.replace('_', ' ')}"
            having = [row for row in rows if name in row.analyses]
            called = rows[0].compared.protocol.called
            tables.append(_table(title, [(row.name, row.analyses[name]) for row in having], called))
    return tables


def _table(title: str, bodies: Sequence[tuple[str, Any]], called: Callable[[str], str] = str) -> Table:
    lines = [(painter, key, item) for painter, body in bodies for key, item in _lines(body)]
    columns = list(dict.fromkeys(name for _, _, item in lines for name in item))
    if not columns:
        return simple_table(title, [], [], ["nothing to show: what it is made of is not known"])
    keyed = any(key is not None for _, key, _ in lines)
    rows = [
        [painter, *([key or ""] if keyed else []), *(_cell(item.get(name)) for name in columns)]
        for painter, key, item in lines
    ]
    heads = ["painter", *([""] if keyed else []), *map(called, columns)]
    return simple_table(title, heads, rows, _notes(lines, columns, called), names=1 + keyed)


def _lines(body: Any) -> list[Numbers]:
    if isinstance(body, Mapping) and body and all(isinstance(item, Mapping) for item in body.values()):
        return [(str(key), item) for key, item in body.items()]
    if isinstance(body, Mapping):
        return [(None, body)]
    if isinstance(body, Sequence) and not isinstance(body, str) and all(isinstance(item, Mapping) for item in body):
        return [(None, item) for item in body]
    return [(None, {"value": body})]


def _notes(
    lines: Sequence[tuple[str, str | None, Mapping[str, Any]]], columns: Sequence[str], called: Callable[[str], str]
) -> list[str]:
    """What stands in cells of several numbers, in their order."""
    inner: dict[str, list[str]] = {}
    for column in columns:
        found = [item[column] for _, _, item in lines if isinstance(item.get(column), Mapping)]
        if found:
            inner.setdefault(" / ".join(map(str, found[0])), []).append(called(column))
    return [f"{', '.join(names)}: {words}" for words, names in inner.items()]


def _cell(value: Any) -> str:
    """A number, a range, or several numbers in short.

    >>> _cell(0.12345), _cell([3, 8]), _cell({"mean": 0.5, "median": 0.25}), _cell(None)
    ('0.123', '3 to 8', '0.500 / 0.250', '–')
    """
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return " / ".join(map(_cell, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return (" to " if len(value) == 2 else ", ").join(map(_cell, value))
    return str(value)
