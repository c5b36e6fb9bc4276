"""Tables as Markdown, for viewers that support pipe tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from ..model import PUBLISHED, Cell, Column, Sheet, Table, aside, clean, interval

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#$&])")


def escape(text: str) -> str:
    """Return text escaped for Markdown."""
    return _SPECIAL.sub(r"\\\1", clean(text))


def render(table: Table) -> str:
    """Return the table under a heading, with its notes below.

    >>> from ..model import simple_table
    >>> print(render(simple_table("a", ["x", "n"], [["one|two", "3"]], ["so it is"])), end="")
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
    parts = [f"### {escape(title)}", _list(map(escape, above))]
    for sheet in table.sheets:
        parts.append(f"**{escape(sheet.title)}**" if sheet.title else "")
        parts.append("\n".join(_sheet(sheet)) if any(sheet.rows()) else "")
    remarks = [f"{_raised((number,))} {escape(note)}" for number, note in enumerate(table.footnotes, 1)]
    parts.append(_list([*remarks, *map(escape, table.notes)]))
    return "".join(f"{part}\n\n" for part in parts if part)


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield _row([escape(sheet.stub), *(_head(column) for column in sheet.columns)])
    yield "|".join(["", "---", *("---" if column.words else "--:" for column in sheet.columns), ""])
    for group in sheet.blocks:
        if group.title:
            heading = f"**{escape(group.title)}**{_raised(group.notes)}" + (
                f" ({PUBLISHED})" if group.published else ""
            )
            yield _row([heading, *[""] * len(sheet.columns)])
        for row in group.rows:
            label = escape(row.label) + _raised(row.notes)
            # The title of a published block already says so.
            asides = [PUBLISHED] if row.published and not group.published else []
            asides += [aside(row)] if aside(row) else []
            yield _row([_with(label, asides), *map(_cell, row.cells)])


def _head(column: Column) -> str:
    over = f"{escape(column.over)} " if column.over else ""
    asides = [PUBLISHED] if column.published else []
    asides += [aside(column)] if aside(column) else []
    return _with(over + escape(column.head) + _raised(column.notes), asides)


def _with(label: str, asides: Sequence[str]) -> str:
    return f"{label} ({', '.join(asides)})" if asides else label


def _raised(notes: Sequence[int]) -> str:
    return "".join(f"<sup>{note}</sup>" for note in notes)


def _cell(cell: Cell) -> str:
    text = escape(cell.text)
    text = f"**{text}**" if cell.rank == 1 else f"<u>{text}</u>" if cell.rank == 2 else text
    return f"{text} {escape(interval(cell))}" if interval(cell) else text


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
