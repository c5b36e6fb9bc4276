"""The one model of a table, before it is written down: rows of cells under heads, with what a reader must know."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ...core.errors import need_extra, need_polars
from ...core.redaction import escape_controls, without_secrets
from ...scoring.stats import MIN_CLUSTERS, Interval

if TYPE_CHECKING:
    import pandas
    import polars

MISSING = "–"
BETWEEN = " … "
"""Stands between the least and the most a score could be."""
STORE = "This store"
"""How a line begins that is about a store's own numbers, where published ones are beside them."""
Cells = list["str | Cell"]
"""A row's cells, the name first; a plain text is a cell of it."""


@dataclass(frozen=True)
class Cell:
    """One number or word, as shown.

    Attributes:
        value: The number behind it, where it can be ranked.
        low: The lower end of its interval, as shown; `high` the upper one.
        rank: 1 for the best, 2 for the second best, 0 for the others.
        least: The least a score could be where the judge abstained; `most` the most.
        few: How many questions it rests on, where they are too few for an interval.
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
        path: Its full name, unlike that of any other column.
        words: Whether it holds words rather than numbers.
        name: Whether these words belong to the row's name.
        prose: Whether these words are sentences, which may go over several lines.
        notes: Numbers of the footnotes that belong to all of it.
        block: Which value it belongs to, and `figure` which figure, counted from 0.
    """

    head: str
    over: str = ""
    path: str = ""
    words: bool = False
    name: bool = False
    prose: bool = False
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    better: str = "high"
    block: int = 0
    figure: int = 0
    value_head: str = ""
    figure_head: str = ""
    figure_over: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row: its label, its cells, where it comes from.

    Attributes:
        coverage: Questions with a score of those drawn or tried; None for published rows.
        about: What else a program wants to know of it: painter, strategy, judge, reading, number of questions.
    """

    label: str
    cells: tuple[Cell, ...]
    published: bool = False
    notes: tuple[int, ...] = ()
    coverage: float | None = None
    about: dict[str, str] = field(default_factory=dict)

    @property
    def covered(self) -> str:
        """Its coverage in words, where something is missing."""
        return covered(self.coverage)


def covered(coverage: float | None) -> str:
    """Return a coverage in words; empty where it is whole or unknown.

    >>> covered(0.996), covered(1.0)
    ('99% covered', '')
    """
    # A thing that is not whole must not read as if it were.
    return "" if coverage is None or coverage >= 1 else f"{min(99, round(100 * coverage))}% covered"


@dataclass(frozen=True)
class RowBlock:
    """Rows under one title, which may be empty; where the title is about one source, it has its footnotes."""

    title: str
    rows: tuple[TableRow, ...]
    ranked: bool = True
    published: bool = False
    notes: tuple[int, ...] = ()


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
        """Yield all rows, without the titles above them."""
        for block in self.blocks:
            yield from block.rows


class Framed(ABC):
    """What has tables to be looked at and rows to be counted with."""

    @abstractmethod
    def tables(self) -> list[Table]:
        """Return the tables that the terminal shows."""

    @abstractmethod
    def frame_rows(self) -> FrameRows:
        """Return the columns and rows of ``--format csv``, before they are text."""

    def to_polars(self) -> polars.DataFrame:
        """Return the rows of ``--format csv`` as a polars frame: one number a row.

        Raises:
            UsageError: There is no polars.
        """
        need_polars("to_polars()")
        import polars

        names, rows = self.frame_rows()
        clean = without_secrets([dict(row) for row in rows])
        return polars.DataFrame({name: [row.get(name) for row in clean] for name in names}, strict=False)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of ``--format csv`` as a pandas frame.

        Raises:
            UsageError: There is no pandas.
        """
        need_extra("pandas", "notebook", "to_pandas()")
        import pandas

        names, rows = self.frame_rows()
        return pandas.DataFrame(without_secrets([dict(row) for row in rows]), columns=list(names))

    def to_csv(self) -> str:
        """Return the text of ``--format csv``."""
        from .render.csv import records

        return records(*self.frame_rows())

    def __str__(self) -> str:
        """Return the text that the terminal shows, without colours."""
        from .render import rendered

        return "\n".join(rendered(table, "text").rstrip("\n") for table in self.tables())

    def _repr_html_(self) -> str:
        from .render.html import fragments

        return fragments(self.tables())


@dataclass(frozen=True, repr=False)
class Table(Framed):
    """One or more sheets with a caption.

    Attributes:
        sheets: As the paper turns them.
        flat: The same with a row for every painter, judge or exam, for programs.
        caption: The lines above: title, sources, judge and reading.
        notes: The lines below: notes for the reader.
        footnotes: What the numbers at rows point to.
        framed: Whether it has a frame where there is room for one, intervals beside their numbers; as papers
            have it, there is no frame, and intervals are below.
    """

    key: str
    title: str
    sheets: tuple[Sheet, ...]
    flat: tuple[Sheet, ...]
    caption: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    framed: bool = False

    def tables(self) -> list[Table]:
        """Return the table itself."""
        return [self]

    def frame_rows(self) -> FrameRows:
        """Return a row for every painter, judge or exam, with its numbers as printed."""
        from .render.csv import HEADS, table_records

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
) -> Table:
    """Return a framed table of finished cells.

    Args:
        title: The line above it.
        heads: The columns.
        rows: Their cells, the row's name first.
        notes: What a reader must know, below it.
        above: What a reader must know before the numbers.
        names: How many of the first columns make up the row's name.
        prose: Columns that hold sentences.
        rules: Rows with a line above them.
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
    return Table("", title, (sheet,), (sheet,), caption, tuple(notes), framed=True)


def number(value: float | None, digits: int) -> str:
    """Return a number with so many decimals; a dash for None.

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
    """Return a number with its interval; without an interval, the number alone."""
    if value is None:
        return Cell()
    text = number(value, digits)
    if low is None or high is None:
        return Cell(text, float(text), few=few)
    # What is ranked is what is printed: no reader can see which of two equal numbers is the larger.
    return Cell(text, float(text), number(low, digits), number(high, digits))


def score_cell(score: Interval | None, bounds: tuple[float, float] | None, digits: int, scale: float = 1.0) -> Cell:
    """Return a score; its bounds where it is open; how many questions where these are few."""
    if score is not None and score.value is not None:
        value, low, high = (None if end is None else end * scale for end in (score.value, score.low, score.high))
        return interval_cell(value, low, high, digits, score.n if score.n < MIN_CLUSTERS else None)
    if not bounds:
        return Cell()
    least, most = (number(end * scale, digits) for end in bounds)
    return Cell(f"{least}{BETWEEN}{most}", least=least, most=most)


def nothing_marked() -> Table:
    """Return the table of a store without marks."""
    return simple_table("nothing is marked yet; `limner run` draws and marks", [], [])


PUBLISHED = "published"


def clean(text: str) -> str:
    """Return one line without control characters or keys: names come from data and may hold anything."""
    return escape_controls(str(without_secrets(text)))


def spans(columns: Sequence[Column]) -> list[tuple[str, int]]:
    """Return the heads above and how many neighbouring columns each spans; empty without such heads.

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
    """Return ``[low, high]``; ``(n=…)`` where questions are too few for an interval; or an empty text."""
    if cell.few is not None:
        return f"(n={cell.few})"
    return f"[{cell.low}, {cell.high}]" if cell.low is not None and cell.high is not None else ""


def aside(row: TableRow | Column) -> str:
    """Return the text in brackets behind a label: how much of the exam it covers."""
    return covered(row.coverage)


def titled(sheet: Sheet) -> bool:
    """Return whether any group has a title."""
    return any(group.title for group in sheet.blocks)


FrameRows = tuple[Sequence[str], Sequence[Mapping[str, Any]]]
"""Names of columns, and rows that have some of them."""


def numbers_of(names: Sequence[str], rows: Sequence[Mapping[str, str]], words: Sequence[str]) -> FrameRows:
    """Return rows with numbers instead of texts: in every column but `words` where each text is a number or empty.

    >>> numbers_of(["row", "a"], [{"row": "1", "a": "2.5"}, {"row": "2", "a": ""}], ["row"])[1]
    [{'row': '1', 'a': 2.5}, {'row': '2', 'a': None}]
    """
    plain: set[str] = {name for name in names if name not in words}
    for row in rows:
        plain -= {name for name in plain if not _numeric(row.get(name, ""))}
    converted = [{name: _number(text) if name in plain else text for name, text in row.items()} for row in rows]
    return names, converted


def _numeric(text: str) -> bool:
    try:
        _number(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float | None:
    return float(text) if text else None
