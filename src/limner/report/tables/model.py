"""The model of a table before it is rendered: rows of cells under heads, with captions and notes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...core.data_rows import write_csv
from ...core.errors import need_extra, need_polars
from ...core.redaction import escape_controls, without_secrets
from ...scoring.stats import MIN_CLUSTERS, Interval

if TYPE_CHECKING:
    import pandas
    import polars

MISSING = "–"
BETWEEN = " … "
"""The separator between the lowest and the highest possible value of a score."""
STORE = "This store"
"""The beginning of lines about a store's numbers, in tables that also have published ones."""
Cells = list["str | Cell"]
"""A row's cells, the name first; a string becomes a cell with that text."""


@dataclass(frozen=True)
class Cell:
    """One number or word, as shown.

    Attributes:
        value: Its number, if it can be ranked.
        low: The lower end of its interval, as shown; `high` is the upper end.
        rank: 1 for the best, 2 for the second best, 0 for the others.
        least: The lowest possible value of a score if the judge abstained; `most` is the highest.
        few: The number of its questions, if they are too few for an interval.
    """

    text: str = MISSING
    value: float | None = None
    low: str | None = None
    high: str | None = None
    rank: int = 0
    published: bool = False
    least: str | None = None
    most: str | None = None
    few: int | None = None


@dataclass(frozen=True)
class Column:
    """A column's heads.

    Attributes:
        over: The head above it, shared with its neighbours.
        path: Its full name, which is unique.
        words: Whether it holds words rather than numbers.
        name: Whether these words belong to the row's name.
        prose: Whether these words are sentences, which may be broken into several lines.
        whole: Whether its numbers are on all questions of the exam or of the table, not on one category.
        notes: The numbers of the footnotes on the whole column.
        block: The index of its value; `figure` is the index of its figure.
    """

    head: str
    over: str = ""
    path: str = ""
    words: bool = False
    name: bool = False
    prose: bool = False
    whole: bool = True
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    better: str = "high"
    block: int = 0
    figure: int = 0
    value_head: str = ""
    figure_head: str = ""
    figure_over: str = ""

    @property
    def covered(self) -> str:
        """Its coverage in words; empty if nothing is missing."""
        return covered(self.coverage)


@dataclass(frozen=True)
class TableRow:
    """A row: its label, its cells, and whether it is published.

    Attributes:
        coverage: The share of questions with a score, of those drawn or attempted; None for published rows.
        about: Further data for programs: painter, strategy, judge, reading, number of questions.
    """

    label: str
    cells: tuple[Cell, ...]
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    about: dict[str, str] = field(default_factory=dict)

    @property
    def covered(self) -> str:
        """Its coverage in words; empty if nothing is missing."""
        return covered(self.coverage)


def covered(coverage: float | None) -> str:
    """Return a coverage in words; empty if it is complete or unknown.

    >>> covered(0.996), covered(1.0)
    ('99% covered', '')
    """
    # An incomplete coverage must not be rounded up to 100%.
    return "" if coverage is None or coverage >= 1 else f"{min(99, round(100 * coverage))}% covered"


@dataclass(frozen=True)
class RowBlock:
    """Rows under one title, which may be empty; `notes` are footnotes of the title.

    Attributes:
        board: Whether the rows are of a release's leaderboard, not of the paper.
    """

    title: str
    rows: tuple[TableRow, ...]
    ranked: bool = True
    published: bool = False
    notes: tuple[int, ...] = ()
    board: bool = False


@dataclass(frozen=True)
class Sheet:
    """One rectangle of cells.

    Attributes:
        stub: The head above the rows' labels.
        prose: Whether these labels are sentences.
    """

    title: str
    stub: str
    columns: tuple[Column, ...]
    blocks: tuple[RowBlock, ...]
    prose: bool = False

    def rows(self) -> Iterator[TableRow]:
        """Yield the rows of all blocks, without their titles."""
        for block in self.blocks:
            yield from block.rows


class Framed(ABC):
    """A result that can be shown as tables and exported as a data frame."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables that the terminal shows."""

    @abstractmethod
    def frame_rows(self) -> FrameRows:
        """Return the columns and rows of ``--format csv``, before conversion to text."""

    def to_polars(self) -> polars.DataFrame:
        """Return the rows of ``--format csv`` as a polars frame.

        Raises:
            UsageError: polars is missing.
        """
        need_polars("to_polars()")
        import polars

        names, rows = self.frame_rows()
        clean = without_secrets([dict(row) for row in rows])
        return polars.DataFrame({name: [row.get(name) for row in clean] for name in names}, strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of ``--format csv`` as a pandas frame.

        Raises:
            UsageError: pandas is missing.
        """
        need_extra("pandas", "notebook", "to_pandas()")
        import pandas

        names, rows = self.frame_rows()
        return pandas.DataFrame(without_secrets([dict(row) for row in rows]), columns=list(names))

    def to_csv(self) -> str:
        """Return the text of ``--format csv``."""
        return write_csv(*self.frame_rows())

    def __str__(self) -> str:
        """Return the text as shown in a terminal, without colours."""
        from .render import rendered

        return "\n".join(rendered(table, "table").rstrip("\n") for table in self.tables())

    def _repr_html_(self) -> str:
        from .html import fragments

        return fragments(self.tables())


@dataclass(frozen=True, repr=False)
class Table(Framed):
    """One or more sheets with a caption.

    Attributes:
        sheets: The sheets, oriented as in the paper.
        flat: The same data with a row for every painter, judge or exam, for programs.
        caption: The lines above: title, sources, judge and reading.
        notes: The lines below: notes for the reader.
        details: Further notes, shown on request.
        footnotes: The footnotes, to which numbers at rows and columns refer.
        framed: Whether it has a frame if there is room, and intervals next to their numbers; otherwise, as in papers,
            it has no frame, and intervals are below.
    """

    key: str
    title: str
    sheets: tuple[Sheet, ...]
    flat: tuple[Sheet, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    framed: bool = False
    details: tuple[str, ...] = ()

    def with_details(self) -> Table:
        """Return the table with all its notes shown."""
        return replace(self, notes=(*self.notes, *self.details), details=())

    def tables(self) -> list[Table]:
        """Return the table itself."""
        return [self]

    def frame_rows(self) -> FrameRows:
        """Return a row for every painter, judge or exam, with its numbers as printed."""
        from .render import HEADS, table_records

        return numbers_of(*table_records(self), HEADS)

    def __repr__(self) -> str:
        """Return the table's name and size."""
        return f"<Table: {self.key or self.title}, {sum(1 for sheet in self.flat for _ in sheet.rows())} rows>"


def simple_table(
    title: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str | Cell]],
    notes: Sequence[str] = (),
    *,
    above: Sequence[str] = (),
    names: int = 1,
    prose: Collection[str] = (),
    rules: Collection[int] = (),
    details: Sequence[str] = (),
) -> Table:
    """Return a framed table of finished cells.

    Args:
        title: The line above it.
        heads: The columns.
        rows: The cells of each row, the name first.
        notes: The notes below it.
        above: The notes above it.
        names: The number of first columns that make up the row's name.
        prose: The heads of columns that hold sentences.
        rules: The indices of rows with a line above them.
        details: Notes shown on request, as are all after the first `MAX_NOTES` if there are any.
    """
    columns = tuple(
        Column(head, path=head, words=place < names or head in prose, name=place < names, prose=head in prose)
        for place, head in enumerate(heads)
    )
    blocks: list[list[TableRow]] = []
    for number, row in enumerate(rows):
        first, *rest = (cell if isinstance(cell, Cell) else Cell(cell) for cell in row)
        if not number or number in rules:
            blocks.append([])
        blocks[-1].append(TableRow(first.text, tuple(rest)))
    stub = heads[0] if heads else ""
    sheet = Sheet("", stub, columns[1:], tuple(RowBlock("", tuple(block)) for block in blocks), stub in prose)
    caption = tuple(line for line in (title, *above) if line)
    most = MAX_NOTES if details else len(notes)
    further = (*notes[most:], *details)
    return Table("", title, (sheet,), (sheet,), caption, tuple(notes[:most]), framed=True, details=further)


def column_table(title: str, columns: Sequence[tuple[str, Cells]], notes: Sequence[str] = (), **how: Any) -> Table:
    """Return a `simple_table` of columns, each given by its head and its cells."""
    rows = list(zip(*(cells for _, cells in columns), strict=True))
    return simple_table(title, [head for head, _ in columns], rows, notes, **how)


def number(value: float | None, digits: int) -> str:
    """Return a number with `digits` decimals, or a dash for None.

    >>> number(2.345, 1), number(None, 1), number(-0.0001, 2)
    ('2.3', '–', '0.00')
    """
    if value is None:
        return MISSING
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def interval_cell(
    value: float | None, low: float | None, high: float | None, digits: int, few: int | None = None
) -> Cell:
    """Return a cell with a number, and its interval if there is one."""
    if value is None:
        return Cell()
    text = number(value, digits)
    if low is None or high is None:
        return Cell(text, float(text), few=few)
    # Rank the printed number: readers cannot see a difference between numbers that are equal when rounded.
    return Cell(text, float(text), number(low, digits), number(high, digits))


def percent_cell(share: Interval, digits: int = 1, few: int | None = None) -> Cell:
    """Return a cell with a share in percent; see `interval_cell`."""
    value, low, high = (None if end is None else 100 * end for end in (share.value, share.low, share.high))
    return interval_cell(value, low, high, digits, few)


def score_cell(score: Interval | None, bounds: tuple[float, float] | None, digits: int, scale: float = 1.0) -> Cell:
    """Return a cell with a score, its number of questions if they are few, or its bounds if it is undecided."""
    if score is not None and score.value is not None:
        value, low, high = (None if end is None else end * scale for end in (score.value, score.low, score.high))
        return interval_cell(value, low, high, digits, score.n if score.n < MIN_CLUSTERS else None)
    if not bounds:
        return Cell()
    least, most = (number(end * scale, digits) for end in bounds)
    return Cell(f"{least}{BETWEEN}{most}", least=least, most=most)


def nothing_marked() -> Table:
    """Return the table for a store without marks."""
    return simple_table("nothing is marked yet; `limner run` draws and marks", [], [])


INTERVALS = "[low, high]: 95% interval over questions."
"""The note on intervals; left out where there is no room for them."""
MAX_NOTES = 3
"""The most notes below a table; `Table.details` has the rest."""
PUBLISHED = "published"


def clean(text: str) -> str:
    """Return text in one line, without control characters or keys, since names come from data."""
    return escape_controls(str(without_secrets(text)))


def spans(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the spanning heads, each with its number of columns; empty if there are none.

    >>> spans([Column("a"), Column("b", "over"), Column("c", "over")])
    [('', 1), ('over', 2)]
    """
    if not any(column.over for column in columns):
        return []
    heads: list[tuple[str, int]] = []
    for over, inside in groupby(columns, key=lambda column: column.over):
        count = len(list(inside))
        heads += [(over, count)] if over else [("", 1)] * count
    return heads


def interval(cell: Cell) -> str:
    """Return ``[low, high]``, or an empty text."""
    return f"[{cell.low}, {cell.high}]" if cell.low is not None and cell.high is not None else ""


def raised(notes: Sequence[int]) -> str:
    """Return the numbers of footnotes for HTML and Markdown."""
    return "".join(f"<sup>{note}</sup>" for note in notes)


def html_notes(table: Table, escape: Callable[[str], str]) -> list[str]:
    """Return the footnotes with their numbers, then the notes, for HTML and Markdown."""
    footnotes = [f"{raised((number,))} {escape(note)}" for number, note in enumerate(table.footnotes, 1)]
    return [*footnotes, *map(escape, table.notes)]


FrameRows = tuple[Sequence[str], Sequence[Mapping[str, Any]]]
"""The names of columns, and rows that have values for some of them."""


def numbers_of(names: Sequence[str], rows: Sequence[Mapping[str, str]], words: Sequence[str]) -> FrameRows:
    """Return rows with texts converted to numbers, in columns with only numbers or empty texts; `words` stay texts.

    >>> numbers_of(["row", "a"], [{"row": "1", "a": "2.5"}, {"row": "2", "a": ""}], ["row"])[1]
    [{'row': '1', 'a': 2.5}, {'row': '2', 'a': None}]
    """
    numbers: dict[str, list[float | None]] = {}
    for name in (name for name in names if name not in words):
        with suppress(ValueError):
            numbers[name] = [float(text) if (text := row.get(name)) else None for row in rows]
    converted = [
        {name: numbers[name][place] if name in numbers else text for name, text in row.items()}
        for place, row in enumerate(rows)
    ]
    return names, converted
