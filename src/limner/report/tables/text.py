"""Tables for a terminal: numbers are never cut; names shrink first, then columns move to another block below."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from ...core.redaction import printable
from .model import STORE, Column, RowBlock, Sheet, Table, TableRow, clean, interval, spans

if TYPE_CHECKING:
    from rich.console import Console

WIDE = 130
"""The least width of a screen for tables with frames."""
HEAD = 12
"""The approximate length of lines in heads; words up to `WORD` are not broken."""
WORD = 16
NAMES = 24
"""The width down to which row names shrink before columns move to another block."""
HEIGHT = 3
"""The most lines of a name; longer names are cut."""
CUT = "…"
OWN = "• "
"""The mark before a store's rows in tables with published ones, since not everyone can see the grey."""
HANG = "  "
"""The indent of continuation lines of a long label."""
SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class _Frame:
    """The characters around cells (left of, between and right of columns) and in the lines between rows."""

    head: tuple[str, str, str]
    row: tuple[str, str, str]
    top: Sequence[str] = ()
    below_heads: Sequence[str] = "────"
    between: Sequence[str] = "────"
    bottom: Sequence[str] = "────"

    @property
    def edges(self) -> int:
        return len(self.row[0] + self.row[2])

    @property
    def gap(self) -> int:
        return len(self.row[1])

    def rule(self, letters: Sequence[str], widths: Sequence[int]) -> Text:
        left, line, joint, right = letters
        if self.edges:
            return Text(left + joint.join(line * (width + 2) for width in widths) + right)
        return Text(line * (sum(widths) + self.gap * (len(widths) - 1)), "dim")


BOX = _Frame(("┃ ", " ┃ ", " ┃"), ("│ ", " │ ", " │"), "┏━┳┓", "┡━╇┩", "├─┼┤", "└─┴┘")
BARE = _Frame(("", "  ", ""), ("", "  ", ""))


def show(tables: Iterable[Table]) -> None:
    """Print tables to standard output, one below the other, with styles if it is a terminal."""
    out = console()
    for number, table in enumerate(tables):
        if number and out.width < WIDE:
            out.print()
        for line in lines(table, out.width):
            out.print(line, soft_wrap=True)


def plain(table: Table) -> str:
    """Return the table as plain text, with the width of tables in files."""
    return "".join(f"{line.plain}\n" for line in lines(table, PLAIN_WIDTH))


def lines(table: Table, width: int) -> Iterator[Text]:
    """Yield the table line by line."""
    mixed = any(_mixed(parts) for sheet in table.sheets for parts in (list(sheet.rows()), sheet.columns, sheet.blocks))
    for number, line in enumerate(table.caption):
        own = mixed and line.startswith(STORE)
        yield from _paragraph(OWN + line if own else line, width, "" if number else "italic")
    boxed = table.framed and width >= WIDE
    filled = [sheet for sheet in table.sheets if any(sheet.rows())]
    for sheet in filled:
        if not boxed:
            yield Text()
        if sheet.title:
            yield from _paragraph(sheet.title, width, "bold")
        yield from _Grid(sheet, width, BOX if boxed else BARE, beside=table.framed).lines()
    if filled and not boxed and (table.notes or table.footnotes):
        yield Text()
    for number, note in enumerate(table.footnotes, 1):
        yield from _paragraph(f"{_raised((number,))} {note}", width, "dim")
    more = [f"--notes shows {len(table.details)} more"] if table.details else []
    for note in filter(None, [*table.notes[:-1], " · ".join([*filter(None, table.notes[-1:]), *more])]):
        yield from _paragraph(note, width, "dim")


def _mixed(parts: Sequence[TableRow] | Sequence[Column] | Sequence[RowBlock]) -> bool:
    """Return whether there are both published parts and parts from a store."""
    return len({part.published for part in parts}) > 1


def _paragraph(text: str, width: int, style: str) -> list[Text]:
    return [Text(line, style) for line in wrap(text, width, at=" ")]


def _raised(notes: Sequence[int]) -> str:
    return " ".join(str(note) for note in notes).translate(SUPERSCRIPT)


class _Grid:
    """The layout of a sheet's columns at a given width; the row labels are column 0."""

    def __init__(self, sheet: Sheet, width: int, frame: _Frame, beside: bool) -> None:
        self.sheet, self.width, self.frame, self.beside = sheet, width, frame, beside
        self.columns = [Column(sheet.stub, words=True, name=True, prose=sheet.prose), *sheet.columns]
        self.mixed_rows, self.mixed_columns = _mixed(list(sheet.rows())), _mixed(sheet.columns)
        self.indent = "  " if any(block.title for block in sheet.blocks) or self.mixed_rows else ""
        self.names = [place for place, column in enumerate(self.columns) if column.name]
        self.want, self.need = self._sizes()

    def lines(self) -> Iterator[Text]:
        for number, places in enumerate(self._blocks()):
            widths, frame = self._fit(places), self.frame
            if number and not frame.edges:
                yield Text()
            if frame.top:
                yield frame.rule(frame.top, widths)
            yield from self._heads(places, widths)
            yield frame.rule(frame.below_heads, widths)
            for place, block in enumerate(self.sheet.blocks):
                if block.title:
                    yield from self._title(block, widths)
                elif place:
                    yield frame.rule(frame.between, widths)
                for row in block.rows:
                    cells = [self._folded(row, place, width) for place, width in zip(places, widths, strict=True)]
                    yield from self._joined(cells, [*map(self._soft, places)], widths, frame.row)
            yield frame.rule(frame.bottom, widths)

    def _sizes(self) -> tuple[list[int], list[int]]:
        """Return the columns' preferred and least widths; columns of numbers shrink only by breaking their heads."""
        want, need = [], []
        for place, column in enumerate(self.columns):
            pieces = [piece for row in self.sheet.rows() for piece in self._cell(row, place)]
            inside = max((piece.cell_len for piece in pieces), default=0)
            head = self._head(column)
            if self._soft(place):
                want.append(max(inside, cell_len(head)))
                need.append(min(want[-1], NAMES))
                continue
            whole = [size for word in re.split("[ /-]", head) if (size := cell_len(word)) <= WORD]
            need.append(max([inside, *map(cell_len, wrap(head, max([inside, HEAD, *whole])))]))
            want.append(max(inside, cell_len(head)) if self.beside else need[-1])
        names = {one: need[one] for one in self.names}
        _shrink(names, self.names, dict.fromkeys(names, 1), sum(names.values()) - min(NAMES, self.width // 2))
        need = [names.get(place, least) for place, least in enumerate(need)]
        place = 1
        for over, count in spans(self.sheet.columns):
            # A spanning head must have room for its longest word.
            longest = max((cell_len(word) for word in over.split()), default=0)
            for sizes in (want, need):
                room = sum(sizes[place : place + count]) + self.frame.gap * (count - 1)
                sizes[place + count - 1] += max(0, min(longest, 2 * HEAD) - room)
            place += count
        return want, need

    def _soft(self, place: int) -> bool:
        """Return whether a column may shrink: it holds names or sentences."""
        return self.columns[place].name or self.columns[place].prose

    def _size(self, widths: Sequence[int]) -> int:
        return self.frame.edges + sum(widths) + self.frame.gap * (len(widths) - 1)

    def _blocks(self) -> list[list[int]]:
        """Divide the columns into blocks that fit the width; columns under a common head stay together if possible."""
        parts: list[list[int]] = []
        place = 1

        def fits(places: Sequence[int]) -> bool:
            return self._size([self.need[place] for place in places]) <= self.width

        for _, count in spans(self.sheet.columns) or [("", 1)] * len(self.sheet.columns):
            bundle = [one for one in range(place, place + count) if one not in self.names]
            place += count
            whole = bundle and fits([*self.names, *bundle])
            for part in [bundle] if whole else [[one] for one in bundle]:
                if not parts or not fits([*parts[-1], *part]):
                    parts.append([*self.names])
                parts[-1] += part
        return [sorted(places) for places in parts] or [self.names]

    def _fit(self, places: Sequence[int]) -> list[int]:
        """Return widths that fit: first heads take more lines, then names and prose shrink, the widest first."""
        widths = {place: self.want[place] for place in places}
        over = self._size(list(widths.values())) - self.width
        soft = [place for place in places if self._soft(place)]
        firm = [place for place in places if place not in soft]
        need = dict(enumerate(self.need))
        squeezed = {place: 1 if place else 1 + len(self.indent) for place in soft}
        for pool, least in ((firm, need), (soft, need), (soft, squeezed)):
            over = _shrink(widths, pool, least, over)
        return list(widths.values())

    def _joined(
        self, cells: Sequence[Sequence[Text]], left: Sequence[bool], widths: Sequence[int], edges: tuple[str, str, str]
    ) -> Iterator[Text]:
        """Yield the lines of cells side by side, to the `left` or right; a cell may have several lines."""
        for number in range(max(map(len, cells))):
            pieces = []
            for cell, at_left, width in zip(cells, left, widths, strict=True):
                piece = cell[number].copy() if number < len(cell) else Text()
                pad = " " * (width - piece.cell_len)
                pieces.append(piece.append(pad) if at_left else Text(pad).append_text(piece))
            out = Text(edges[0]).append_text(Text(edges[1]).join(pieces)).append(edges[2])
            out.rstrip()
            yield out

    def _title(self, block: RowBlock, widths: Sequence[int]) -> Iterator[Text]:
        mark = OWN if _mixed(self.sheet.blocks) and not block.published else ""
        style = "italic dim" if block.published else "italic"
        inside = self._size(widths) - self.frame.edges
        left, _, right = self.frame.row
        for line in wrap(mark + block.title + _raised(block.notes), inside if right else self.width, at=" "):
            pad = " " * (inside - cell_len(line)) if right else ""
            yield Text(left).append(line, style).append(pad + right)

    def _cell(self, row: TableRow, place: int) -> list[Text]:
        """Return a cell's lines before they are broken to the column's width."""
        if not place:
            label = Text(self._mark(row)).append(clean(row.label) + _raised(row.notes), "dim" if row.published else "")
            return [label.append(f" ({row.covered})", "dim") if row.covered else label]
        cell = row.cells[place - 1]
        if self.columns[place].prose:
            return [Text(clean(line)) for line in cell.text.expandtabs().split("\n")]
        style = {1: "bold", 2: "underline"}.get(cell.rank, "") + (" dim" if cell.published else "")
        text, ends = Text(clean(cell.text), style.strip()), Text(interval(cell), "dim")
        if self.beside:
            return [Text(" ").join([text, ends]) if ends else text]
        return [text, ends] if ends else [text]

    def _mark(self, row: TableRow) -> str:
        blocks = any(block.published for block in self.sheet.blocks)
        return OWN if self.mixed_rows and not row.published and not blocks else self.indent

    def _folded(self, row: TableRow, place: int, width: int) -> list[Text]:
        """Return a cell's lines, broken to the column's width."""
        text, column = self._cell(row, place), self.columns[place]
        if column.prose:
            return [piece for line in text for piece in _fold(line, width, at=" ")]
        if not column.name or text[0].cell_len <= width:
            return text
        mark = "" if place else self._mark(row)
        hang = HANG if width > HEAD // 2 else ""
        room = width - len(mark + hang)
        pieces = _fold(text[0][len(mark) :], room)
        if len(pieces) > HEIGHT:
            pieces = pieces[:HEIGHT]
            pieces[-1].truncate(room - 1)
            pieces[-1].append(CUT)
        further = [Text(" " * len(mark) + hang).append_text(piece) for piece in pieces[1:]]
        return [Text(mark).append_text(pieces[0]), *further]

    def _heads(self, places: Sequence[int], widths: Sequence[int]) -> Iterator[Text]:
        """Yield the spanning heads, then the columns' heads, aligned at the bottom."""
        columns = [self.columns[place] for place in places]
        rooms, overs, place = [], [], 0
        for over, count in spans(columns):
            rooms.append(sum(widths[place : place + count]) + self.frame.gap * (count - 1))
            lines = [(" " * ((rooms[-1] - cell_len(line)) // 2) + line) for line in wrap(over, rooms[-1])]
            overs.append([Text(line, "bold") for line in lines])
            place += count
        if overs:
            yield from self._joined(_at_bottom(overs), [True] * len(rooms), rooms, self.frame.head)
        heads = [
            [Text(line, "dim" if column.published else "bold") for line in wrap(self._head(column), width)]
            for column, width in zip(columns, widths, strict=True)
        ]
        yield from self._joined(_at_bottom(heads), [*map(self._soft, places)], widths, self.frame.head)

    def _head(self, column: Column) -> str:
        head = (OWN if self.mixed_columns and not column.published and not column.name else "") + column.head
        head += _raised(column.notes)
        return f"{head} ({column.covered})" if column.covered else head


def _at_bottom(cells: Sequence[list[Text]]) -> list[list[Text]]:
    """Return cells with empty lines above those that are less high."""
    height = max(map(len, cells))
    return [[*[Text()] * (height - len(cell)), *cell] for cell in cells]


def _shrink(widths: dict[int, int], places: Sequence[int], least: Mapping[int, int], over: int) -> int:
    """Reduce the widest widths first, and return the excess that remains."""
    while over > 0 and (loose := [place for place in reversed(places) if widths[place] > least[place]]):
        widths[max(loose, key=lambda place: widths[place])] -= 1
        over -= 1
    return over


def _fold(text: Text, width: int, at: str = " -/") -> list[Text]:
    """Return styled text broken into lines of at most `width`."""
    folded, start = [], 0
    for line in wrap(text.plain, width, at):
        start = text.plain.index(line, start)
        folded.append(text[start : start + len(line)] if line else Text())
        start += len(line)
    return folded


def wrap(text: str, width: float, at: str = " -/", measure: Callable[[str], float] = cell_len) -> list[str]:
    """Break text into lines of at most `width`: after a character in `at` if possible, otherwise anywhere.

    >>> wrap("gemini/gemini-3-pro", 12), wrap("abcdef", 4)
    (['gemini/', 'gemini-3-pro'], ['abcd', 'ef'])
    """
    wrapped, line = [], ""
    for piece in re.findall(rf"[^{re.escape(at)}]*[{re.escape(at)}]|[^{re.escape(at)}]+", clean(text)):
        if line and measure((line + piece).rstrip()) > width:
            wrapped.append(line.rstrip())
            line = ""
        line += piece
        while measure(line.rstrip()) > width:
            cut = 1
            while measure(line[: cut + 1]) <= width:
                cut += 1
            wrapped.append(line[:cut])
            line = line[cut:]
    return [*wrapped, line.rstrip()] if line.rstrip() or not wrapped else wrapped


PLAIN_WIDTH = 160
"""The width of tables outside a terminal, such as in a file or a pipe."""
NARROWEST = 40


def escape(text: str) -> str:
    """Return text from data or a model, made safe for a terminal: no markup, control characters or keys."""
    from rich.markup import escape as plain

    return plain(printable(text))


def console() -> Console:
    """Return a console on standard output, as wide as the terminal or COLUMNS; otherwise wide enough for tables."""
    from rich.console import Console

    class Quiet(Console):
        """A console that exits cleanly when its reader is gone, as in ``limner show … | head``."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0)

    columns = os.environ.get("COLUMNS", "")
    plain = max(NARROWEST, int(columns)) if columns.isdecimal() else PLAIN_WIDTH
    return Quiet(highlight=False, width=None if sys.stdout.isatty() else plain)
