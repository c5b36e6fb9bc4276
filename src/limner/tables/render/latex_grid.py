"""A sheet as LaTeX sets it: every cell written down, with about how wide and how high it is.

Widths are estimated from the letters, see `latex_text.ems`. Long labels, words and heads are broken into lines.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..model import Cell, Column, RowBlock, Sheet, TableRow
from .latex_text import ems, escape
from .parts import aside, interval, spans
from .wrapping import wrap

GAP = 3.0
"""On either side of a column, in points as all lengths here."""
LABEL = 125.0
"""Labels and words are broken into lines about this long."""
HEAD = 42.0
"""Heads are broken into lines about this long; a word up to `WORD` stays whole."""
WORD = 64.0
BOLD = 1.12
HANG = "\N{EM SPACE}"
"""Before the further lines of a long label."""


@dataclass(frozen=True)
class TypeSize:
    """A size of type: its name in LaTeX, its points, the distance of its lines."""

    name: str
    points: float
    leading: float

    def width(self, text: str) -> float:
        """About how wide the text is."""
        return self.points * ems(text)

    def lines(self, text: str, room: float, at: str = " -/_") -> list[str]:
        """The text broken into lines of at most so many points."""
        return wrap(text, room / self.points, at, ems)


SMALL, FOOTNOTE, SCRIPT = TypeSize("small", 9, 11), TypeSize("footnotesize", 8, 9.5), TypeSize("scriptsize", 7.6, 8)


@dataclass(frozen=True)
class TexBox:
    """Something written down, line by line, and its width in points."""

    lines: tuple[str, ...]
    width: float


@dataclass(frozen=True)
class Strip:
    """A column with its cells, those of all groups."""

    column: Column
    head: TexBox
    cells: tuple[TexBox, ...]
    width: float


@dataclass(frozen=True)
class Band:
    """Some of a group's rows: their places in the strips."""

    group: RowBlock
    rows: range


def strips(sheet: Sheet, size: TypeSize, below: bool) -> list[Strip]:
    """The columns, that of the rows' labels first; whether intervals stand below their numbers or beside them."""
    lines = list(sheet.rows())
    labels = [_named(_hung(size.lines(line.label, LABEL)), line, size, LABEL) for line in lines]
    found = [_strip(Column(sheet.stub, words=True), labels, size)]
    for place, column in enumerate(sheet.columns):
        found.append(_strip(column, [_cell(line.cells[place], size, below) for line in lines], size))
    return _widened(found, size)


def bands(sheet: Sheet) -> list[Band]:
    """The groups with the places of their rows."""
    found, start = [], 0
    for group in sheet.blocks:
        found.append(Band(group, range(start, start + len(group.rows))))
        start += len(group.rows)
    return found


def grey(text: str, published: bool) -> str:
    """What a paper printed is grey."""
    return rf"\textcolor{{gray}}{{{text}}}" if published and text else text


def raised(notes: Sequence[int]) -> str:
    """The numbers of footnotes."""
    return "".join(rf"\textsuperscript{{{note}}}" for note in notes)


def side(column: Column) -> str:
    """Where the cells of a column stand."""
    return "l" if column.words else "r"


def _strip(column: Column, cells: Sequence[TexBox], size: TypeSize) -> Strip:
    inside = max((cell.width for cell in cells), default=0.0)
    words = [width for word in re.split("(?<=[ /_-])", column.head) if (width := size.width(word)) <= WORD]
    head = _named(size.lines(column.head, max([inside, HEAD, *words])), column, size)
    return Strip(column, head, tuple(cells), max(inside, head.width) + 2 * GAP)


def _widened(found: list[Strip], size: TypeSize) -> list[Strip]:
    """A head above must have room for its longest word."""
    place = 0
    for over, count in spans([strip.column for strip in found]):
        room = sum(strip.width for strip in found[place : place + count])
        place += count
        longest = min(LABEL, max(map(size.width, over.split()), default=0.0)) + 2 * GAP
        last = found[place - 1]
        found[place - 1] = replace(last, width=last.width + max(0.0, longest - room))
    return found


def _hung(lines: Sequence[str]) -> list[str]:
    return [lines[0], *(f"{HANG}{line}" for line in lines[1:])]


def _named(lines: Sequence[str], row: TableRow | Column, size: TypeSize, room: float = 0.0) -> TexBox:
    """A label or a head with its footnotes; its coverage stands behind it where there is room, or below."""
    tex, widths = [escape(line).replace(HANG, r"\quad ") for line in lines], [size.width(line) for line in lines]
    tex[-1] += raised(row.notes)
    widths[-1] += SCRIPT.width("0" * len(row.notes))
    if said := aside(row):
        small, beside = _small(f"({said})"), widths[-1] + SCRIPT.width(f" ({said})")
        if beside <= max(room, *widths):
            tex[-1] += f" {small}"
            widths[-1] = beside
        else:
            tex.append(small if not room else rf"\quad {small}")
            widths.append(SCRIPT.width(f"{HANG}({said})"))
    return TexBox(tuple(grey(line, row.published) for line in tex), max(widths))


def _cell(cell: Cell, size: TypeSize, below: bool) -> TexBox:
    lines = size.lines(cell.text, LABEL)
    tex, width = [escape(line) for line in lines], max(map(size.width, lines))
    if cell.rank == 1:
        tex, width = [rf"\textbf{{{line}}}" for line in tex], BOLD * width
    elif cell.rank == 2:
        tex = [rf"\underline{{{line}}}" for line in tex]
    said = interval(cell)
    if said and below:
        tex, width = [*tex, _small(said)], max(width, SCRIPT.width(said))
    elif said:
        tex[-1] += f" {_small(said)}"
        width += SCRIPT.width(f" {said}")
    return TexBox(tuple(grey(line, cell.published) for line in tex), width)


def _small(text: str) -> str:
    return rf"{{\{SCRIPT.name} {escape(text)}}}"
