"""A table with a title and notes, for a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from .console import console, escape

WIDE = 130
"""Terminals narrower than this get tables without frames."""
NOTHING = "–"


@dataclass(frozen=True)
class Sheet:
    """A table of finished cells.

    Attributes:
        words: How many of its first columns are words, set to the left; the last column is too, where `last` says so.
        notes: What a reader must know, below it.
        extra: Columns that narrow terminals leave out.
        first: What a reader must know before the numbers, above it.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    words: int = 1
    last: bool = False
    extra: frozenset[int] = frozenset()
    first: Sequence[str] = ()

    def left(self, place: int) -> bool:
        """Whether a column is set to the left."""
        return place < self.words or (self.last and place == len(self.columns) - 1)


def print_sheets(sheets: Iterable[Sheet]) -> None:
    """The sheets one below the other on the terminal."""
    from rich import box
    from rich.table import Table

    out = console()
    for sheet in sheets:
        out.print(escape(sheet.title), style="italic", soft_wrap=True)
        for note in sheet.first:
            out.print(escape(note))
        if sheet.rows:
            wide = out.width >= WIDE
            table = Table(box=box.HEAVY_HEAD if wide else box.SIMPLE_HEAD)
            kept = _kept(sheet, out.width)
            for place in kept:
                left = sheet.left(place)
                justify: Literal["left", "right"] = "left" if left else "right"
                table.add_column(escape(sheet.columns[place]), justify=justify, overflow="fold", no_wrap=not left)
            for row in sheet.rows:
                table.add_row(*(escape(row[place]) for place in kept))
            out.print(table)
        for note in sheet.notes:
            out.print(f"[dim]{escape(note)}[/dim]")
        if sheet.rows and len(kept) < len(sheet.columns):
            out.print("[dim]more columns on a wider screen, or with --format csv[/dim]")


def _kept(sheet: Sheet, width: int) -> list[int]:
    """The columns that are shown: all, or without the extra ones where the screen is narrow or words would break."""
    every = list(range(len(sheet.columns)))
    fewer = [place for place in every if place not in sheet.extra]
    return fewer if width < WIDE or (_needed(sheet, every) > width >= _needed(sheet, fewer)) else every


def _needed(sheet: Sheet, kept: Sequence[int]) -> int:
    """How wide the table is with these columns; only a last column of words may break, between words."""
    from rich.cells import cell_len

    widths = []
    for place in kept:
        cells = [sheet.columns[place], *(row[place] for row in sheet.rows)]
        broken = sheet.last and place == len(sheet.columns) - 1
        widths.append(max(cell_len(word) for cell in cells for word in (cell.split() if broken else [cell]) or [""]))
    return 1 + sum(3 + width for width in widths)


def markdown(sheets: Iterable[Sheet]) -> str:
    """The sheets as Markdown, each under a heading.

    >>> print(markdown([Sheet("a", ["x", "n"], [["one|two", "3"]], ["so it is"])]), end="")
    ### a
    <BLANKLINE>
    | x | n |
    |---|--:|
    | one\\|two | 3 |
    <BLANKLINE>
    - so it is
    <BLANKLINE>
    """
    lines = []
    for sheet in sheets:
        lines += [f"### {_cell(sheet.title)}", ""]
        lines += [f"- {_cell(note)}" for note in sheet.first] + ([""] if sheet.first else [])
        if sheet.rows:
            lines.append("| " + " | ".join(map(_cell, sheet.columns)) + " |")
            lines.append("|" + "|".join("---" if sheet.left(n) else "--:" for n in range(len(sheet.columns))) + "|")
            lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in sheet.rows] + [""]
        if sheet.notes:
            lines += [f"- {_cell(note)}" for note in sheet.notes] + [""]
    return "".join(line + "\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def number(value: float | None, digits: int) -> str:
    """A number with so many decimals, or a dash.

    >>> number(2.345, 1), number(None, 1), number(-0.0001, 2)
    ('2.3', '–', '0.00')
    """
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def between(value: float | None, low: float | None, high: float | None, digits: int) -> str:
    """A number with its interval, or what there is of it.

    >>> between(2.0, 1.0, 3.0, 1), between(2.0, None, None, 1), between(None, None, None, 1)
    ('2.0 [1.0, 3.0]', '2.0', '–')
    """
    if value is None or low is None or high is None:
        return number(value, digits)
    return f"{number(value, digits)} [{number(low, digits)}, {number(high, digits)}]"
