"""Tables as Markdown, for readers that know pipe tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..model import Cell, Column, Sheet, Table
from .parts import PUBLISHED, aside, clean, interval

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|~#$&])")


def escape(text: str) -> str:
    """Text that no reader of Markdown takes for markup."""
    return _SPECIAL.sub(r"\\\1", clean(text))


def render(table: Table) -> str:
    """The table with its caption above and its notes below."""
    parts = [" ".join(f"**{escape(said)}**" if not n else escape(said) for n, said in enumerate(table.caption))]
    for sheet in table.sheets:
        if sheet.title:
            parts.append(f"**{escape(sheet.title)}**")
        parts.append("\n".join(_sheet(sheet)))
    told = [f"{_raised((number,))} {escape(note)}" for number, note in enumerate(table.footnotes, 1)]
    told += [escape(note) for note in table.notes]
    if told:
        parts.append("\n".join(f"- {note}" for note in told))
    return "\n\n".join(parts) + "\n"


def _sheet(sheet: Sheet) -> Iterator[str]:
    yield _row([escape(sheet.stub), *(_head(column) for column in sheet.columns)])
    yield _row([":---", *(":---" if column.words else "---:" for column in sheet.columns)])
    for group in sheet.groups:
        if group.title:
            told = f"**{escape(group.title)}**{_raised(group.notes)}" + (f" ({PUBLISHED})" if group.published else "")
            yield _row([told, *[""] * len(sheet.columns)])
        for line in group.lines:
            label = escape(line.label) + _raised(line.notes)
            # A block's title has said already that it is published.
            asides = [PUBLISHED] if line.published and not group.published else []
            asides += [aside(line)] if aside(line) else []
            yield _row([_with(label, asides), *map(_cell, line.cells)])


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
