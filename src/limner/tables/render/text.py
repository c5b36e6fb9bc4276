"""Tables for a terminal: as wide as it is, in blocks of columns where that is not wide enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text

from ..console import PLAIN_WIDTH, console
from ..model import Cell, Column, Group, Line, Sheet, Table
from ..paper.captions import STORE
from .parts import aside, clean, interval, spans, titled
from .wrapping import wrap

GAP = 2
HEAD = 12
"""Heads are broken into lines about this long; a word up to `WORD` stays whole."""
WORD = 16
OWN = "• "
"""Before a store's rows, where published ones stand beside them: not everyone sees the grey."""
HANG = "  "
"""Before the further lines of a long label."""
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def show(table: Table) -> None:
    """Print to standard output, with styles where it is a terminal."""
    out = console()
    for line in lines(table, out.width):
        out.print(line, soft_wrap=True)


def plain(table: Table) -> str:
    """The same without styles, as wide as tables are in files."""
    return "".join(f"{line.plain}\n" for line in lines(table, PLAIN_WIDTH))


def lines(table: Table, width: int) -> Iterator[Text]:
    """The table line by line."""
    mixed = any(_mixed(sheet) for sheet in table.sheets)
    for said in table.caption:
        yield from _prose(f"{OWN}{said}" if mixed and said.startswith(STORE) else said, width, "italic")
    for sheet in table.sheets:
        yield Text()
        if sheet.title:
            yield Text(clean(sheet.title), "bold")
        yield from _Layouter(sheet, width).lines()
    if table.notes or table.footnotes:
        yield Text()
    for number, note in enumerate(table.footnotes, 1):
        yield from _prose(f"{_raised((number,))} {note}", width, "dim")
    for note in table.notes:
        yield from _prose(note, width, "dim")


def _mixed(sheet: Sheet) -> bool:
    """Whether published rows, blocks or columns stand beside a store's."""
    for parts in (list(sheet.lines()), sheet.columns, sheet.groups):
        if len({part.published for part in parts}) > 1:
            return True
    return False


def _prose(text: str, width: int, style: str) -> Iterator[Text]:
    for line in wrap(text, width, at=" "):
        yield Text(line, style)


def _raised(notes: Sequence[int]) -> str:
    return " ".join(str(note) for note in notes).translate(SUPERSCRIPT)


@dataclass
class _Block:
    """Columns that stand side by side."""

    places: list[int]
    widths: list[int]


class _Layouter:
    def __init__(self, sheet: Sheet, width: int) -> None:
        self.sheet, self.width = sheet, width
        self.mixed = [len({part.published for part in parts}) > 1 for parts in (list(sheet.lines()), sheet.columns)]
        self.indent = "  " if titled(sheet) or self.mixed[0] else ""
        labels = [cell_len(self._mark(line)) + self._label(line).cell_len for line in sheet.lines()]
        longest = max([*labels, cell_len(clean(sheet.stub))])
        self.stub = min(longest, max(24, width // 2))

    def lines(self) -> Iterator[Text]:
        for number, block in enumerate(self._blocks()):
            if number:
                yield Text()
            total = self.stub + sum(block.widths) + GAP * len(block.widths)
            yield from self._heads(block)
            yield Text("─" * total, "dim")
            for group in self.sheet.groups:
                yield from self._group(group, block)
            yield Text("─" * total, "dim")

    def _group(self, group: Group, block: _Block) -> Iterator[Text]:
        if group.title:
            blocks = len({one.published for one in self.sheet.groups}) > 1
            mark = OWN if blocks and not group.published else ""
            title = Text(mark + clean(group.title) + _raised(group.notes), "italic")
            if group.published:
                title.stylize("dim")
            yield title
        for line in group.lines:
            yield from self._line(line, block)

    def _mark(self, line: Line) -> str:
        blocks = any(group.published for group in self.sheet.groups)
        return OWN if self.mixed[0] and not line.published and not blocks else self.indent

    def _label(self, line: Line) -> Text:
        label = Text(clean(line.label) + _raised(line.notes), "dim" if line.published else "")
        return label.append(f" ({aside(line)})", "dim") if aside(line) else label

    def _labels(self, line: Line) -> list[Text]:
        """The label as lines of the stub's width; further ones hang."""
        label, mark = self._label(line), self._mark(line)
        room = self.stub - cell_len(mark)
        rows = wrap(label.plain, room if label.cell_len <= room else room - len(HANG))
        found, start = [], 0
        for number, row in enumerate(rows):
            start = label.plain.index(row, start) if row else start
            before = mark if not number else " " * len(mark) + HANG
            found.append(Text(before).append_text(label[start : start + len(row)] if row else Text()))
            start += len(row)
        return found

    def _line(self, line: Line, block: _Block) -> Iterator[Text]:
        labels = self._labels(line)
        cells = [_cell(line.cells[place]) for place in block.places]
        for number in range(max([len(labels), *(len(cell) for cell in cells)])):
            out = labels[number] if number < len(labels) else Text()
            out.append(" " * (self.stub - out.cell_len))
            for cell, width in zip(cells, block.widths, strict=True):
                piece = cell[number] if number < len(cell) else Text()
                out.append(" " * (GAP + width - piece.cell_len)).append_text(piece)
            out.rstrip()
            yield out

    def _blocks(self) -> list[_Block]:
        """As many columns side by side as fit; heads that span several are not torn apart where that can be."""
        columns, widths = self.sheet.columns, self._widths()
        left = self.width - self.stub
        found: list[_Block] = []
        place = 0
        for _, count in spans(columns) or [("", 1)] * len(columns):
            bundle = list(range(place, place + count))
            place += count
            size = sum(widths[one] + GAP for one in bundle)
            for part in [bundle] if size <= left else [[one] for one in bundle]:
                size = sum(widths[one] + GAP for one in part)
                used = sum(width + GAP for width in found[-1].widths) if found else left + 1
                if used + size > left:
                    found.append(_Block([], []))
                found[-1].places += part
                found[-1].widths += [widths[one] for one in part]
        return found or [_Block([], [])]

    def _widths(self) -> list[int]:
        columns = self.sheet.columns
        widths = []
        for place, column in enumerate(columns):
            cells = [_cell(line.cells[place]) for line in self.sheet.lines()]
            inside = max((piece.cell_len for cell in cells for piece in cell), default=0)
            words = [cell_len(word) for word in re.split("[ /-]", self._head(column))]
            heads = wrap(self._head(column), max([inside, HEAD, *(word for word in words if word <= WORD)]))
            widths.append(max([inside, *map(cell_len, heads)]))
        place = 0
        for over, count in spans(columns):
            # A head above must have room for its longest word.
            room = sum(widths[place : place + count]) + GAP * (count - 1)
            longest = max((cell_len(word) for word in over.split()), default=0)
            widths[place + count - 1] += max(0, min(longest, 2 * HEAD) - room)
            place += count
        return widths

    def _heads(self, block: _Block) -> Iterator[Text]:
        columns = [self.sheet.columns[place] for place in block.places]
        yield from self._overs(columns, block)
        heads = [
            (wrap(self._head(column), width), "dim" if column.published else "")
            for column, width in zip(columns, block.widths, strict=True)
        ]
        height = max([1, *(len(rows) for rows, _ in heads)])
        for number in range(height):
            stub = clean(self.sheet.stub) if number == height - 1 else ""
            out = Text(stub + " " * (self.stub - cell_len(stub)), "bold")
            for (rows, style), width in zip(heads, block.widths, strict=True):
                place = number - (height - len(rows))
                word = rows[place] if place >= 0 else ""
                out.append(" " * (GAP + width - cell_len(word))).append(word, style or "bold")
            out.rstrip()
            yield out

    def _head(self, column: Column) -> str:
        head = (OWN if self.mixed[1] and not column.published else "") + column.head + _raised(column.notes)
        return f"{head} ({aside(column)})" if aside(column) else head

    def _overs(self, columns: Sequence[Column], block: _Block) -> Iterator[Text]:
        found, place = [], 0
        for over, count in spans(columns):
            room = sum(block.widths[place : place + count]) + GAP * (count - 1)
            found.append((wrap(over, room), room))
            place += count
        height = max((len(rows) for rows, _ in found), default=0)
        for number in range(height):
            out = Text(" " * self.stub)
            for rows, room in found:
                at = number - (height - len(rows))
                word = rows[at] if at >= 0 else ""
                before = (room - cell_len(word)) // 2
                out.append(" " * (GAP + before) + word + " " * (room - before - cell_len(word)), "bold")
            out.rstrip()
            yield out


def _cell(cell: Cell) -> list[Text]:
    style = {1: "bold", 2: "underline"}.get(cell.rank, "") + (" dim" if cell.published else "")
    found = [Text(clean(cell.text), style.strip())]
    return [*found, Text(interval(cell), "dim")] if interval(cell) else found
