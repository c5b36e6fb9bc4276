r"""Tables as LaTeX: booktabs, the best in bold, the second best underlined, published rows in grey.

Nothing is scaled down: a table is set in ``\small`` if it fits the text width of the `article` class, otherwise in
``\footnotesize``. If it is still too wide, it is turned onto a page of its own, in ``\scriptsize``, without intervals.
If it does not fit that page either, its columns are divided among several tabulars, which repeat the row labels, and
what is too high for a page continues in a further float with the same number.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from ...core.redaction import DIRECTION, escape_controls
from .model import INTERVALS, Cell, Column, RowBlock, Sheet, Table, TableRow, interval, spans
from .text import wrap

PAGE = 345.0
"""The text width of `article` at 10 points, in points; wider tables than `COLUMN` span both columns."""
COLUMN = 229.5
HEIGHT = 484.0
"""The most estimated points of a float's height; the text of a page has 550."""
TURNED_WIDTH, TURNED_HEIGHT = 548.0, 340.0
"""The most points of a table that is turned onto a page of its own."""
FLOATS = 12
"""The number of consecutive floats after which the page is cleared: LaTeX can hold only about fifty."""
LONG = 60
"""A sheet with more rows than this becomes one table per group."""


def render(table: Table) -> str:
    """Return one or more table environments, below a comment that names the required packages."""
    sheets = [part for sheet in table.sheets for part in _parts(sheet)]
    floats = [lines for sheet in sheets for lines in _floats(table, sheet, sheet is sheets[-1])]
    body = "\n\n".join("\n".join(lines) for lines in floats)
    return "\n".join([*needs(body), "", body]) + "\n"


def _parts(sheet: Sheet) -> list[Sheet]:
    if sum(len(group.rows) for group in sheet.blocks) <= LONG or len(sheet.blocks) < 2:
        return [sheet]
    return [replace(sheet, title=group.title, blocks=(replace(group, title=""),)) for group in sheet.blocks]


def _floats(table: Table, sheet: Sheet, last: bool) -> Iterator[list[str]]:
    """Yield the environments of one sheet; rows that do not fit on a page continue in the next environment."""
    titles = [*table.caption, *([f"{sheet.title}."] if sheet.title else [])]
    for size, below in ((SMALL, False), (FOOTNOTE, False), (FOOTNOTE, True)):
        columns = strips(sheet, size, below)
        if _width(columns) <= PAGE:
            break
    else:
        if turned := _turned(table, sheet, titles, last):
            yield turned
            return
    room = HEIGHT - _high(" ".join(titles), 12)
    items = [item for block in _blocks(columns) for item in _tabulars(block, sheet.blocks, size, room)]
    items += _notes(table, FOOTNOTE) if last else []
    environment = "table*" if _width(columns) > COLUMN else "table"
    for number, places in enumerate(filled([height for _, height in items], room)):
        head = _caption(titles) if not number else r"\tablename~\thetable{} (continued)\par\medskip"
        lines = [line for place in places for line in items[place][0]]
        clear = [r"\clearpage"] if number and number % FLOATS == 0 else []
        yield [*clear, *_float(environment, head, size, GAP, lines)]


def _turned(table: Table, sheet: Sheet, titles: Sequence[str], last: bool) -> list[str]:
    """Return the sheet turned onto a page of its own, without intervals; nothing if it does not fit there."""
    bare = replace(table, notes=tuple(note for note in table.notes if note != INTERVALS))
    columns = [replace(strip, width=strip.width - 2 * (GAP - NARROW)) for strip in strips(sheet, TURNED, None)]
    items = list(_tabulars(columns, sheet.blocks, TURNED, TURNED_HEIGHT))
    items += _notes(bare, SCRIPT, TURNED_WIDTH) if last else []
    height = sum(height for _, height in items) + _high(" ".join(titles), 12, TURNED_WIDTH)
    if _width(columns) > TURNED_WIDTH or height > TURNED_HEIGHT:
        return []
    body = [r"\renewcommand{\arraystretch}{0.9}", *(line for lines, _ in items for line in lines)]
    return _float("sidewaystable*", _caption(titles), TURNED, NARROW, body)


def _caption(titles: Sequence[str]) -> str:
    return rf"\caption[{escape(titles[0]) if titles else ''}]{{{' '.join(map(prose, titles))}}}\medskip"


def _float(environment: str, head: str, size: TypeSize, gap: float, lines: Sequence[str]) -> list[str]:
    return [
        rf"\begin{{{environment}}}" + ("" if environment == "sidewaystable*" else "[tp]"),
        r"\centering",
        head,
        rf"\{size.name}\setlength{{\tabcolsep}}{{{gap:g}pt}}",
        *lines,
        rf"\end{{{environment}}}",
    ]


def filled(sizes: Sequence[float], room: float) -> list[list[int]]:
    """Divide items into consecutive parts, each as full as `room` allows, and return the indices in each part.

    >>> filled([2, 2, 3, 9, 1], 5)
    [[0, 1], [2], [3], [4]]
    """
    parts: list[list[int]] = []
    left = 0.0
    for place, size in enumerate(sizes):
        if not parts or size > left:
            parts.append([])
            left = room
        parts[-1].append(place)
        left -= size
    return parts


def evenly(sizes: Sequence[float], room: float) -> list[list[int]]:
    """Divide items as `filled` does, into as few parts but of about equal size.

    >>> filled([1, 1, 1, 1], 3), evenly([1, 1, 1, 1], 3)
    ([[0, 1, 2], [3]], [[0, 1], [2, 3]])
    """
    fewest = len(filled(sizes, room))
    limits = [*range(int(room) + 1), room]
    return next(parts for limit in limits if len(parts := filled(sizes, limit)) <= fewest)


def _width(columns: Sequence[Strip]) -> float:
    return sum(column.width for column in columns)


def _blocks(columns: Sequence[Strip]) -> list[list[Strip]]:
    """Divide the columns into evenly filled blocks that fit a page; columns under a common head stay together."""
    labels, *others = columns
    room = PAGE - labels.width
    bundles: list[list[Strip]] = []
    for _, bundle in _spanned(others):
        bundles += [bundle] if _width(bundle) <= room else [[strip] for strip in bundle]
    blocks = evenly([_width(bundle) for bundle in bundles], room) or [[]]
    return [[labels, *(strip for place in places for strip in bundles[place])] for places in blocks]


def _spanned(columns: Sequence[Strip]) -> list[tuple[str, list[Strip]]]:
    """Return the heads that span several columns with these; for other columns, each alone."""
    rest = iter(columns)
    counts = spans([strip.column for strip in columns]) or [("", 1)] * len(columns)
    return [(over, list(islice(rest, count))) for over, count in counts]


def _tabulars(
    columns: Sequence[Strip], groups: Sequence[RowBlock], size: TypeSize, room: float
) -> Iterator[tuple[list[str], float]]:
    """Yield the rows as one tabular or several, each with its height; groups are kept whole if possible."""
    heads = [*_overs(columns, size), *_rows([column.head for column in columns], bottom=True)]
    left = room / size.leading - len(heads) - 2
    atoms = []
    cells = zip(*(column.cells for column in columns), strict=True)
    for group in groups:
        title = _title(group, columns, size)
        rows = [_rows(row) for row in islice(cells, len(group.rows))]
        for places in evenly([len(row) for row in rows], left - len(title)):
            atoms.append([r"\midrule", *title, *(line for place in places for line in rows[place])])
    for places in evenly([len(atom) - 0.5 for atom in atoms], left) or [[]]:
        body = [line for place in places for line in atoms[place]]
        written = [
            rf"\begin{{tabular}}{{{''.join('l' if strip.column.words else 'r' for strip in columns)}}}",
            r"\toprule",
            *heads,
            *body,
            r"\bottomrule",
            r"\end{tabular}\par\medskip",
        ]
        yield written, size.leading * (len(heads) + 2 + len(body) - 0.5 * len(places))


def _overs(columns: Sequence[Strip], size: TypeSize) -> list[str]:
    """Return the heads that span several columns, with the rules below them."""
    if not any(strip.column.over for strip in columns):
        return []
    boxes, counts, rules, place = [], [], "", 1
    for over, inside in _spanned(columns):
        lines = size.lines(over, _width(inside) - 2 * GAP, " ")
        boxes.append(TexBox(tuple(map(escape, lines)), 0.0))
        counts.append(len(inside))
        rules += rf"\cmidrule(lr){{{place}-{place + len(inside) - 1}}}" if over else ""
        place += len(inside)
    return [*_rows(boxes, counts, bottom=True), rules]


def _rows(boxes: Sequence[TexBox], counts: Sequence[int] = (), bottom: bool = False) -> list[str]:
    """Return cells side by side, with a row for each line of the tallest cell; cells may span several columns."""
    high = max(len(box.lines) for box in boxes)
    columns = []
    for box, count in zip(boxes, counts or [0] * len(boxes), strict=True):
        empty = [""] * (high - len(box.lines))
        lines = [*empty, *box.lines] if bottom else [*box.lines, *empty]
        columns.append(
            [rf"\multicolumn{{{count}}}{{c}}{{{line}}}" if count > 1 or (count and line) else line for line in lines]
        )
    return [" & ".join(cells) + r" \\" for cells in zip(*columns, strict=True)]


def _title(group: RowBlock, columns: Sequence[Strip], size: TypeSize) -> list[str]:
    if not group.title:
        return []
    lines = [rf"\textit{{{escape(line)}}}" for line in size.lines(group.title, _width(columns) - 2 * GAP)]
    lines[-1] += raised(group.notes)
    return [rf"\multicolumn{{{len(columns)}}}{{l}}{{{grey(line, group.published)}}} \\" for line in lines]


def _notes(table: Table, size: TypeSize, width: float = PAGE) -> Iterator[tuple[list[str], float]]:
    notes = [(raised((number,)) + " ", note) for number, note in enumerate(table.footnotes, 1)]
    for mark, note in [*notes, *(("", note) for note in table.notes)]:
        yield [rf"\par\{size.name}\raggedright {mark}{prose(note)}"], _high(note, size.leading, width)


def _high(text: str, leading: float, width: float = PAGE) -> float:
    """Return the estimated height of running text, whose type size is the leading divided by 1.2."""
    return leading * (1 + ems(text) * leading / 1.2 // width)


GAP = 3.0
"""The space on either side of a column; like all lengths here, in points."""
NARROW = 1.5
"""This space in a turned table."""
LABEL = 125.0
"""The approximate length of lines in labels and words."""
HEAD = 42.0
"""The approximate length of lines in heads; words up to `WORD` are not broken."""
WORD = 64.0
BOLD = 1.12
HANG = "\N{EM SPACE}"
"""The indent of continuation lines of a long label."""


@dataclass(frozen=True)
class TypeSize:
    """A type size: its name in LaTeX, its points, and its leading."""

    name: str
    points: float
    leading: float

    def width(self, text: str) -> float:
        """Return the approximate width of the text in points."""
        return self.points * ems(text)

    def lines(self, text: str, room: float, at: str = " -/_") -> list[str]:
        """Return the text broken into lines of at most `room` points."""
        return wrap(text, room / self.points, at, ems)


SMALL, FOOTNOTE, SCRIPT = TypeSize("small", 9, 11), TypeSize("footnotesize", 8, 9.5), TypeSize("scriptsize", 7.6, 8)
TURNED = TypeSize("scriptsize", 7.6, 7.2)


@dataclass(frozen=True)
class TexBox:
    """Lines of LaTeX with their width in points."""

    lines: tuple[str, ...]
    width: float


@dataclass(frozen=True)
class Strip:
    """A column with the cells of all groups."""

    column: Column
    head: TexBox
    cells: tuple[TexBox, ...]
    width: float


def strips(sheet: Sheet, size: TypeSize, below: bool | None) -> list[Strip]:
    """Return the columns, starting with the row labels; intervals are `below` their numbers, beside, or left out."""
    lines = list(sheet.rows())
    labels = []
    for line in lines:
        first, *further = size.lines(line.label, LABEL)
        labels.append(_named([first, *(f"{HANG}{more}" for more in further)], line, size, LABEL))
    columns = [_strip(Column(sheet.stub, words=True), labels, size)]
    for place, column in enumerate(sheet.columns):
        columns.append(_strip(column, [_cell(line.cells[place], size, below) for line in lines], size))
    return _widened(columns, size)


def grey(text: str, published: bool) -> str:
    """Return the text in grey if it is published, otherwise unchanged."""
    return rf"\textcolor{{gray}}{{{text}}}" if published and text else text


def raised(notes: Sequence[int]) -> str:
    """Return the footnote numbers as superscripts."""
    return "".join(rf"\textsuperscript{{{note}}}" for note in notes)


def _strip(column: Column, cells: Sequence[TexBox], size: TypeSize) -> Strip:
    inside = max((cell.width for cell in cells), default=0.0)
    words = [width for word in re.split("(?<=[ /_-])", column.head) if (width := size.width(word)) <= WORD]
    head = _named(size.lines(column.head, max([inside, HEAD, *words])), column, size)
    return Strip(column, head, tuple(cells), max(inside, head.width) + 2 * GAP)


def _widened(columns: list[Strip], size: TypeSize) -> list[Strip]:
    """Return the strips, widened for the longest word of each head that spans them."""
    widened = []
    for over, inside in _spanned(columns):
        longest = min(LABEL, max(map(size.width, over.split()), default=0.0)) + 2 * GAP
        last = inside[-1]
        widened += [*inside[:-1], replace(last, width=last.width + max(0.0, longest - _width(inside)))]
    return widened


def _named(lines: Sequence[str], row: TableRow | Column, size: TypeSize, room: float = 0.0) -> TexBox:
    """Return a label or head with its footnotes, and its coverage after it if there is room, otherwise below."""
    tex, widths = [escape(line).replace(HANG, r"\quad ") for line in lines], [size.width(line) for line in lines]
    tex[-1] += raised(row.notes)
    widths[-1] += SCRIPT.width("0" * len(row.notes))
    if coverage := row.covered:
        small, beside = _small(f"({coverage})"), widths[-1] + SCRIPT.width(f" ({coverage})")
        if beside <= max(room, *widths):
            tex[-1] += f" {small}"
            widths[-1] = beside
        else:
            tex.append(small if not room else rf"\quad {small}")
            widths.append(SCRIPT.width(f"{HANG}({coverage})"))
    return TexBox(tuple(grey(line, row.published) for line in tex), max(widths))


def _cell(cell: Cell, size: TypeSize, below: bool | None) -> TexBox:
    lines = size.lines(cell.text, LABEL)
    tex, width = [escape(line) for line in lines], max(map(size.width, lines))
    if cell.rank == 1:
        tex, width = [rf"\textbf{{{line}}}" for line in tex], BOLD * width
    elif cell.rank == 2:
        tex = [rf"\underline{{{line}}}" for line in tex]
    ends = "" if below is None else interval(cell)
    if ends and below:
        tex, width = [*tex, _small(ends)], max(width, SCRIPT.width(ends))
    elif ends:
        tex[-1] += f" {_small(ends)}"
        width += SCRIPT.width(f" {ends}")
    return TexBox(tuple(grey(line, cell.published) for line in tex), width)


def _small(text: str) -> str:
    return rf"{{\{SCRIPT.name} {escape(text)}}}"


_SIGNS = {
    "×": "times", "·": "cdot", "↓": "downarrow", "↑": "uparrow", "←": "leftarrow", "→": "rightarrow",
    "≤": "leq", "≥": "geq", "≈": "approx", "≠": "neq", "∞": "infty", "λ": "lambda", "Λ": "Lambda", "ς": "varsigma",
    **{letter: unicodedata.name(letter).split()[-1].lower() for letter in "αβγδεζηθικμνξπρστυφχψω"},
    **{letter: unicodedata.name(letter).split()[-1].capitalize() for letter in "ΓΔΘΞΠΣΥΦΨΩ"},
}  # fmt: skip
"""Symbols with their names in LaTeX's math mode."""
_LETTERS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    '"': "''", "|": r"\textbar{}", "`": r"\textasciigrave{}",
    # After the end of a row, LaTeX would read a square bracket as an option and an asterisk as the starred form.
    "[": "{[}", "]": "{]}", "*": r"\textasteriskcentered{}",
    "–": "--", "—": "---", "…": r"\ldots{}", "−": r"\textminus{}", "•": r"\textbullet{}",
    "‘": r"\textquoteleft{}", "’": r"\textquoteright{}", "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}",
    "\N{REPLACEMENT CHARACTER}": "?",
    **{letter: rf"$\{name}$" for letter, name in _SIGNS.items()},
}  # fmt: skip
# LaTeX would join two of these in a row, for example to a dash or a quotation mark.
_SPECIAL = re.compile(r"([-,<>'])(?=\1)|[" + re.escape("".join(_LETTERS)) + "]")
_APART = r"{\kern0pt}"
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ACCENTED = re.compile("[\u00a0-\u0125\u0128-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0165\u0168-\u017e]")
"""The letters that pdflatex can set with T1 fonts."""
_EMS = {
    0.3: "!',.:;[]`il|", 0.35: "fj- ", 0.42: "()Irst", 0.47: "cez", 0.53: "$*/0123456789^ago?_", 0.56: "Jkqvxy",
    0.59: "Sbdhnpu", 0.66: "ZL", 0.72: "EFP", 0.78: "BCTRw", 0.83: "ADGHKNOQUVXY&+=@<>~", 0.89: "#%m", 0.97: "M",
    1.09: "W—…",
}  # fmt: skip
"""The widths of Computer Modern's letters at 8 points, in ems."""
_WIDTHS = {letter: width for width, letters in _EMS.items() for letter in letters}


def shown(text: str) -> str:
    """Return the text as it is set: in one line, without control characters, with composed accents."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", escape_controls(unicodedata.normalize("NFC", text), DIRECTION))


def escape(text: str) -> str:
    r"""Return text escaped for LaTeX.

    >>> escape("50% [a_b]")
    '50\\% {[}a\\_b{]}'
    """
    return _SPECIAL.sub(lambda found: _LETTERS.get(found[0], found[0]) + (_APART if found[1] else ""), shown(text))


def prose(text: str) -> str:
    r"""Return running text escaped for LaTeX, with breaks allowed inside long names.

    >>> prose("openai/gpt_5")
    'openai/\\allowbreak{}gpt\\_\\allowbreak{}5'
    """
    return re.sub(r"/|\\_", r"\g<0>\\allowbreak{}", escape(text))


def ems(text: str) -> float:
    """Return the approximate width of the text in ems, using the widths of Computer Modern.

    East Asian letters are one em wide, combining marks take no room, and other letters are estimated generously.
    """
    return sum(map(_em, shown(text)))


def _em(letter: str) -> float:
    if letter in _WIDTHS:
        return _WIDTHS[letter]
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0.0
    return 1.0 if unicodedata.east_asian_width(letter) in "WF" else 0.83


def needs(body: str) -> Iterator[str]:
    """Yield the comment above a table: the packages that it needs, and what each engine needs for its letters."""
    rotating = ",rotating" if "sidewaystable" in body else ""
    yield rf"% Needs \usepackage{{booktabs,xcolor{rotating}}}."
    letters = sorted({letter for letter in body if letter > "\x7f"})
    beyond = [letter for letter in letters if not _ACCENTED.match(letter)]
    if len(beyond) < len(letters):
        yield r"% pdflatex needs \usepackage[T1]{fontenc} too, for letters with accents."
    if not beyond:
        yield "% lualatex and pdflatex both set it."
        return
    codes = ", ".join(f"U+{ord(letter):04X}{f' {letter}' if letter.isprintable() else ''}" for letter in beyond)
    yield "% Letters that the usual fonts lack:"
    yield from textwrap.wrap(codes, 100, initial_indent="%   ", subsequent_indent="%   ")
    yield r"% lualatex leaves them out unless its font has them: \usepackage{fontspec}\setmainfont{...}."
    yield rf"% pdflatex stops at them unless each is declared: \DeclareUnicodeCharacter{{{ord(beyond[0]):04X}}}{{...}}."
