r"""Tables as LaTeX: booktabs, the best bold, the second underlined, published rows grey.

Nothing is shrunk: a table is set in ``\small`` where that fits the text of the `article` class, and otherwise in
``\footnotesize``, in several tabulars of some columns each, which repeat the labels of rows. What is too high for a
page goes on in a further float under the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..model import Sheet, Table
from .latex_grid import FOOTNOTE, GAP, SMALL, Band, Strip, TexBox, TypeSize, bands, grey, raised, side, strips
from .latex_text import ems, escape, needs, prose
from .parts import spans

PAGE = 345.0
"""The text of `article` at 10 points is so many points wide, and one of its two columns `COLUMN`."""
COLUMN = 229.5
HEIGHT = 484.0
"""How high a float may be by a rough sum; a page's text has 550 points."""
FLOATS = 12
"""After so many floats in a row pages are set: LaTeX cannot keep more than some fifty."""
LONG = 60
"""A sheet with more rows than this becomes one table per group."""


def render(table: Table) -> str:
    """One or more table environments, under a comment on what they need."""
    sheets = [part for sheet in table.sheets for part in _parts(sheet)]
    body = "\n\n".join(
        "\n".join(line)
        for number, sheet in enumerate(sheets)
        for line in _floats(table, sheet, number == len(sheets) - 1)
    )
    return "\n".join([*needs(body), "", body]) + "\n"


def _parts(sheet: Sheet) -> list[Sheet]:
    if sum(len(group.rows) for group in sheet.blocks) <= LONG or len(sheet.blocks) < 2:
        return [sheet]
    return [replace(sheet, title=group.title, blocks=(replace(group, title=""),)) for group in sheet.blocks]


def _floats(table: Table, sheet: Sheet, last: bool) -> Iterator[list[str]]:
    """The environments of one sheet: what one page cannot hold goes on in the next."""
    for size, below in ((SMALL, False), (FOOTNOTE, False), (FOOTNOTE, True)):
        columns = strips(sheet, size, below)
        if _width(columns) <= PAGE:
            break
    said = [*table.caption, *([f"{sheet.title}."] if sheet.title else [])]
    room = HEIGHT - _high(" ".join(said), 12)
    items = [item for block in _blocks(columns) for item in _tabulars(block, bands(sheet), size, room)]
    items += _notes(table) if last else []
    environment = "table*" if _width(columns) > COLUMN else "table"
    for number, places in enumerate(filled([height for _, height in items], room)):
        caption = rf"\caption[{escape(said[0]) if said else ''}]{{{' '.join(map(prose, said))}}}\medskip"
        yield [
            *([r"\clearpage"] if number and number % FLOATS == 0 else []),
            rf"\begin{{{environment}}}[tp]",
            r"\centering",
            caption if not number else r"\tablename~\thetable{} (continued)\par\medskip",
            rf"\{size.name}\setlength{{\tabcolsep}}{{{GAP:g}pt}}",
            *(line for place in places for line in items[place][0]),
            rf"\end{{{environment}}}",
        ]


def filled(sizes: Sequence[float], room: float) -> list[list[int]]:
    """Places of things in their order, as many together as there is room for, and at least one.

    >>> filled([2, 2, 3, 9, 1], 5)
    [[0, 1], [2], [3], [4]]
    """
    found: list[list[int]] = []
    left = 0.0
    for place, size in enumerate(sizes):
        if not found or size > left:
            found.append([])
            left = room
        found[-1].append(place)
        left -= size
    return found


def evenly(sizes: Sequence[float], room: float) -> list[list[int]]:
    """The same with no more parts than needed, about as large each.

    >>> filled([1, 1, 1, 1], 3), evenly([1, 1, 1, 1], 3)
    ([[0, 1, 2], [3]], [[0, 1], [2, 3]])
    """
    fewest = len(filled(sizes, room))
    limits = [*range(int(room) + 1), room]
    return next(found for limit in limits if len(found := filled(sizes, limit)) <= fewest)


def _width(columns: Sequence[Strip]) -> float:
    return sum(column.width for column in columns)


def _blocks(columns: Sequence[Strip]) -> list[list[Strip]]:
    """The columns side by side that fit a page, about as many in each; heads above several are not torn apart."""
    labels, *others = columns
    room = PAGE - labels.width
    bundles: list[list[Strip]] = []
    place = 0
    for _, count in spans([strip.column for strip in others]) or [("", 1)] * len(others):
        bundle = others[place : place + count]
        bundles += [bundle] if _width(bundle) <= room else [[strip] for strip in bundle]
        place += count
    blocks = evenly([_width(bundle) for bundle in bundles], room) or [[]]
    return [[labels, *(strip for place in places for strip in bundles[place])] for places in blocks]


def _tabulars(
    columns: Sequence[Strip], groups: Sequence[Band], size: TypeSize, room: float
) -> Iterator[tuple[list[str], float]]:
    """One, or several of some rows each where it is too high; with their heights. Groups are kept whole if possible."""
    heads = [*_overs(columns, size), *_rows([column.head for column in columns], bottom=True)]
    left = room / size.leading - len(heads) - 2
    atoms = []
    for band in groups:
        title = _title(band, columns, size)
        rows = [_rows([column.cells[row] for column in columns]) for row in band.rows]
        for places in evenly([len(row) for row in rows], left - len(title)):
            atoms.append([r"\midrule", *title, *(line for place in places for line in rows[place])])
    for places in evenly([len(atom) - 0.5 for atom in atoms], left) or [[]]:
        body = [line for place in places for line in atoms[place]]
        written = [
            rf"\begin{{tabular}}{{{''.join(side(column.column) for column in columns)}}}",
            r"\toprule",
            *heads,
            *body,
            r"\bottomrule",
            r"\end{tabular}\par\medskip",
        ]
        yield written, size.leading * (len(heads) + 2 + len(body) - 0.5 * len(places))


def _overs(columns: Sequence[Strip], size: TypeSize) -> list[str]:
    """The heads above several columns, with the rules below them."""
    boxes, rules, place = [], "", 1
    spanned = spans([strip.column for strip in columns])
    for over, count in spanned:
        lines = size.lines(over, _width(columns[place - 1 : place - 1 + count]) - 2 * GAP, " ")
        boxes.append(TexBox(tuple(map(escape, lines)), 0.0))
        rules += rf"\cmidrule(lr){{{place}-{place + count - 1}}}" if over else ""
        place += count
    counts = [count for _, count in spanned]
    return [*_rows(boxes, counts, bottom=True), rules] if spanned else []


def _rows(boxes: Sequence[TexBox], counts: Sequence[int] = (), bottom: bool = False) -> list[str]:
    """Cells side by side, in as many rows as the highest has lines; some may span several columns."""
    high = max(len(box.lines) for box in boxes)
    found = []
    for number in range(high):
        cells = []
        for box, count in zip(boxes, counts or [0] * len(boxes), strict=True):
            at = number - (high - len(box.lines) if bottom else 0)
            cell = box.lines[at] if 0 <= at < len(box.lines) else ""
            cells.append(rf"\multicolumn{{{count}}}{{c}}{{{cell}}}" if count > 1 or (count and cell) else cell)
        found.append(" & ".join(cells) + r" \\")
    return found


def _title(band: Band, columns: Sequence[Strip], size: TypeSize) -> list[str]:
    group = band.group
    if not group.title:
        return []
    lines = [rf"\textit{{{escape(line)}}}" for line in size.lines(group.title, _width(columns) - 2 * GAP)]
    lines[-1] += raised(group.notes)
    return [rf"\multicolumn{{{len(columns)}}}{{l}}{{{grey(line, group.published)}}} \\" for line in lines]


def _notes(table: Table) -> Iterator[tuple[list[str], float]]:
    notes = [(raised((number,)) + " ", note) for number, note in enumerate(table.footnotes, 1)]
    for mark, note in [*notes, *(("", note) for note in table.notes)]:
        yield [rf"\par\footnotesize\raggedright {mark}{prose(note)}"], _high(note, FOOTNOTE.leading)


def _high(text: str, leading: float) -> float:
    """How high running text is; its letters are as high as its lines but for a sixth."""
    return leading * (1 + ems(text) * leading / 1.2 // PAGE)
