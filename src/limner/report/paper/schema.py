"""The schema of layouts, which the exams define in ``paper/tables.toml``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from ...core.errors import DataError, UsageError
from ...core.schema import StrictModel, first_error, read_toml
from ...exams import each, paper
from ..tables.model import Column

JUDGES = "judges"
"""A word in place of a part's values: one value for every judge."""
AGREEING = ("evaluators", "pairs", "rated")
"""The kinds of rows that are about evaluators or their ratings."""
COUNTED = {"exam": "questions", "training": "samples"}
"""The kinds of rows that are statistics of a data set, with the word for its elements."""


class Figure(StrictModel):
    """One number (or word) of a row: where the paper prints it, and how it is computed from a store.

    Attributes:
        head: The head of its column; the value's head if empty.
        over: A head above it, shared by neighbours.
        metric: The metric of the published figure, found together with `category`; ``*`` for any, ``a|b`` for either.
        column: The column of the published file to show instead of a figure, such as ``model_group``.
        noted: The pattern whose match in the published note is shown.
        score: A score of the exam, over all questions or over those with the value.
        fact: A fact about the painter.
        option: An option with which the judge was asked.
        drawn: A setting with which the painter drew.
        mean: The quantity whose mean over the row's drawings or markings is shown.
        measure: A statistic of the stored exam; see `limner.report.paper.rows`.
        agreement: A measure of the evaluator's agreement with people; see `limner.report.paper.holdings`.
        rated: The scales or metrics whose mean for the painter is shown; the first one with ratings is used.
        place: Whether to show the painter's rank by the mean of `rated`, the lowest first, instead of the mean.
        where: The tags of the questions over which a measure is computed.
        words: The words to show in place of certain facts, options, settings or published figures.
        digits: The decimals of computed numbers; published figures keep theirs.
        scale: The factor by which computed numbers are multiplied.
        better: Whether high or low numbers are better; ``none`` if they are not ranked.
    """

    head: str = ""
    over: str = ""
    category: str | None = None
    metric: str | None = None
    column: Literal["category", "judge", "model_group"] | None = None
    noted: str | None = None
    score: str | None = None
    fact: Literal["access", "kind", "parameters", "resolution"] | None = None
    option: str | None = None
    drawn: Literal["size", "steps", "guidance", "negative_prompt"] | None = None
    mean: Literal["drawing cost", "marking cost", "marking seconds"] | None = None
    measure: str | None = None
    agreement: str | None = None
    rated: tuple[str, ...] = ()
    place: bool = False
    where: dict[str, str] = Field(default_factory=dict)
    words: dict[str, str] = Field(default_factory=dict)
    digits: int | None = Field(default=None, ge=0, le=9)
    scale: float | None = None
    better: Literal["high", "low", "none"] | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Figure:
        sources = ("score", "fact", "option", "drawn", "mean", "measure", "agreement", "rated")
        computed = [name for name in sources if getattr(self, name) not in (None, ())]
        printed = [name for name in ("metric", "column", "noted") if getattr(self, name) is not None]
        for names in (computed, printed):
            if len(names) > 1:
                raise ValueError(f"{' and '.join(names)} do not go together")
        if not computed and not printed:
            raise ValueError("it says neither what is printed nor what is computed")
        return self

    @property
    def plain(self) -> bool:
        """Whether it shows words instead of a number that can be ranked."""
        fact = self.fact is not None and (self.metric is None or self.fact != "parameters")
        return bool(self.column or self.noted or self.option or self.drawn or fact)


class Value(StrictModel):
    """One value of a tag: its head, the paper's name for it (`category`), and the tag's value in the exam."""

    head: str = ""
    category: str | None = None
    value: str | None = None
    where: dict[str, str] = Field(default_factory=dict)
    judge: str | None = None

    @property
    def title(self) -> str:
        """The title above its figures, or to their left."""
        return self.head or self.category or ""


class Part(StrictModel):
    """Columns that belong together: one for each combination of a value and a figure."""

    tag: str | None = None
    subset: str | None = None
    values: tuple[Value, ...] | str = (Value(),)
    figures: tuple[Figure, ...] = Field(min_length=1)
    digits: int = 1
    scale: float = 1.0


class RowGroup(StrictModel):
    """Rows under one title: the published rows of a group, and painters with these facts."""

    title: str = ""
    published: str | None = None
    noted: str | None = None
    access: Literal["closed", "open"] | None = None
    kinds: tuple[str, ...] = ()
    only: str | None = None
    ranked: bool = True


class Section(StrictModel):
    """A repetition of the columns for one category, which replaces ``{section}`` and ``{value}`` in the values."""

    title: str
    table: str | None = None
    published: str | None = None
    value: str | None = None

    def fill(self, text: str | None) -> str | None:
        """Return a value's text with the placeholders replaced by the section's words."""
        if text is None:
            return None
        return text.replace("{section}", self.published or self.title).replace("{value}", self.value or self.title)


class Paper(StrictModel):
    """The source of the published figures."""

    cite: str
    questions: int | None = None
    note: str = ""


class Board(StrictModel):
    """The leaderboard of the benchmark's release, shown below the paper's rows in separate groups.

    Attributes:
        table: The table in ``release_board.csv`` whose rows are shown; ``rules.toml`` gives their date.
        names: The board's names of categories, if they differ from the paper's.
        groups: The groups of its rows; by default those of the table.
    """

    table: str
    names: dict[str, str] = Field(default_factory=dict)
    groups: tuple[RowGroup, ...] = ()


class Layout(StrictModel):
    """The layout of one table.

    Attributes:
        table: The table or tables of the published file that it shows.
        rows: The subject of each row. ``training``: the training part of a build; ``evaluators``: a judge's score, or a
            metric, against people's ratings; ``pairs``: two evaluators; ``rated``: a painter, only by its ratings.
        keys: The columns of the published file that identify rows, if they are not the usual ones.
        labels: Metric (or ``*``) -> the label of a published row, which may contain ``{judge}`` and ``{category}``.
        scores: The exam's scores that are compared with people's ratings, if rows are evaluators.
        against: The scale on which people rated.
        turn: The form of a row. ``rows``: a row; ``columns``: a column; ``scores`` and ``values``: a block with a line
            per figure or per value.
        rank: Whether the best is marked in the whole table (or section), in each group, or not at all.
        second: Whether the second best is marked too.
        order: The column by which a store's rows are ordered, best first; written ``over · head``.
        by_painter: Whether a store's rows are listed painter by painter, with all strategies of each.
        apart: Whether published figures and a store's are in separate tables.
        only: The only painter of a store to show; by default all.
        drawings: The number of drawings that people rated for the paper's figures.
        note: A note for the reader.
        boards: The release's leaderboard on one date or several, below the paper's rows; its rows are not ranked.
    """

    exam: str
    name: str
    paper: Paper
    title: str
    columns: tuple[Part, ...]
    table: str | tuple[str, ...] = ()
    rows: Literal["painters", "judges", "exam", "training", "evaluators", "pairs", "rated"] = "painters"
    keys: tuple[str, ...] = ()
    labels: dict[str, str] = Field(default_factory=dict)
    scores: tuple[str, ...] = ()
    against: str = ""
    turn: Literal["rows", "columns", "scores", "values"] = "rows"
    stub: str = "Model"
    groups: tuple[RowGroup, ...] = ()
    sections: tuple[Section, ...] = ()
    rank: Literal["table", "group", "none"] = "table"
    second: bool = True
    order: str | None = None
    by_painter: bool = False
    apart: bool = False
    only: str | None = None
    drawings: int | None = None
    note: str = ""
    boards: tuple[Board, ...] = ()

    @property
    def agreeing(self) -> bool:
        """Whether it shows the agreement of evaluators, or their ratings."""
        return self.rows in AGREEING or any(figure.agreement for part in self.columns for figure in part.figures)

    @property
    def about_people(self) -> bool:
        """Whether it shows nothing but agreement and ratings, which rest on drawings instead of common questions."""
        return self.rows in AGREEING or all(figure.agreement for part in self.columns for figure in part.figures)

    @property
    def by_judge(self) -> bool:
        """Whether it has a column for each judge."""
        return any(part.values == JUDGES for part in self.columns)

    @property
    def key(self) -> str:
        """Its name on the command line."""
        return f"{self.exam}:{self.name}"

    def tables(self, section: Section | None) -> tuple[str, ...]:
        """Return the names of the table, or of a section's table, in the published file."""
        named = section.table if section is not None and section.table else self.table
        return (named,) if isinstance(named, str) else named

    @model_validator(mode="after")
    def _fits(self) -> Layout:
        if self.sections and self.groups:
            raise ValueError("a table has sections or groups, not both")
        if self.boards and (self.sections or self.rows != "painters"):
            raise ValueError("a board goes into a table of painters without sections")
        return self


@dataclass(frozen=True)
class TableChoice:
    """The choice of what a table shows.

    Attributes:
        exam: The exam's name in the store; by default the exam of the layout's kind.
        on: The questions a store's painters are compared on.
        which: Filters of drawings and marks; see `limner.api.groups`.
        section: The only section to show; by default all.
        study: The only study whose people are used, with its weights.
        full: Whether to show everything: the release's boards, intervals in all columns, all notes.
    """

    published: bool = True
    intervals: bool = True
    reading: str = "careful"
    exam: str | None = None
    on: str = "common"
    which: Mapping[str, Any] = field(default_factory=dict)
    section: str | None = None
    study: str | None = None
    full: bool = False


FILE = "tables.toml"


def known() -> dict[str, Layout]:
    """Return all layouts by key, exam by exam; exams with an invalid file are left out, see `wrong`.

    >>> list(known())[:3]
    ['aibench:table2', 'aibench:table3', 'aibench:table4']
    """
    return _known()[0]


def wrong() -> dict[str, DataError]:
    """Return the exams whose layouts cannot be read, with the errors."""
    return _known()[1]


@cache
def _known() -> tuple[dict[str, Layout], dict[str, DataError]]:
    layouts: dict[str, Layout] = {}
    bad: dict[str, DataError] = {}
    for kind in each():
        path = paper.paper_file(kind.name, FILE)
        try:
            with paper.naming_exam(kind.name):
                layouts |= {layout.key: layout for layout in (read(path, kind.name) if path else ())}
        except DataError as error:
            bad[kind.name] = error
    return layouts, bad


def read(path: Path, exam: str) -> list[Layout]:
    """Return the layouts in one file, for this kind of exam.

    Raises:
        DataError: The file is invalid; the message says where.
    """
    body = read_toml(path)
    layouts = []
    for name, fields in _table(body, "tables", path).items():
        _table(body["tables"], name, path)
        given = {"groups": body.get("groups", []) if not fields.get("sections") else [], **fields}
        if isinstance(given.get("columns"), list):
            given["columns"] = [_named(part, _table(body, "values", path), path) for part in given["columns"]]
        try:
            layouts.append(Layout.model_validate({**given, "exam": exam, "name": name, "paper": body.get("paper")}))
        except ValidationError as error:
            raise DataError(f"tables.{name}.{first_error(error)}", file=path) from error
    return layouts


def _table(body: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    part = body.get(name, {})
    if not isinstance(part, dict):
        raise DataError(f"{name} is not a table", file=path)
    return part


def _named(part: Any, lists: dict[str, Any], path: Path) -> Any:
    """Return the part with the name of a list of values replaced by the list."""
    name = part.get("values") if isinstance(part, dict) else None
    if not isinstance(name, str) or name == JUDGES:
        return part
    if name not in lists:
        raise DataError(f"no list of values {name!r}; the file has: {', '.join(lists) or 'none'}", file=path)
    return {**part, "values": lists[name]}


def find(key: str) -> Layout:
    """Return the layout named ``EXAM:TABLE``; the word ``table`` may be omitted.

    Raises:
        UsageError: There is none; the message lists the existing ones.
        DataError: The exam's file of layouts is invalid.
    """
    exam, _, name = key.casefold().partition(":")
    for layout in known().values():
        if layout.exam == exam and layout.name.casefold() in (name, f"table{name}"):
            return layout
    if exam in wrong():
        raise wrong()[exam]
    own = [layout for layout in known() if layout.startswith(f"{exam}:")]
    raise UsageError(f"no table {key!r}; choose from {', '.join(own or known())}")


@dataclass(frozen=True)
class ColumnSpec:
    """One column before it is filled: its heads, and the source of its cells."""

    figure: Figure
    value: Value
    part: Part
    column: Column

    @property
    def digits(self) -> int:
        """The decimals of computed numbers."""
        return self.part.digits if self.figure.digits is None else self.figure.digits

    @property
    def scale(self) -> float:
        """The factor by which computed numbers are multiplied."""
        return self.part.scale if self.figure.scale is None else self.figure.scale

    @property
    def category(self) -> str | None:
        """The published category."""
        return self.figure.category or self.value.category

    @property
    def tagged(self) -> str | None:
        """The tag's value in the exam."""
        return self.value.value if self.value.value is not None else self.value.category


def specs(layout: Layout, section: Section | None, judges: Sequence[str]) -> list[ColumnSpec]:
    """Return the columns in order; if the layout has a column per judge, there is one for each of `judges`."""
    blocks = [(part, value) for part in layout.columns for value in _values(part, section, judges)]
    return [
        ColumnSpec(figure, value, part, _column(figure, value, part, block, number))
        for block, (part, value) in enumerate(blocks)
        for number, figure in enumerate(part.figures)
    ]


def _values(part: Part, section: Section | None, judges: Sequence[str]) -> Sequence[Value]:
    if part.values == JUDGES:
        return [Value(head=judge, judge=judge) for judge in judges]
    assert not isinstance(part.values, str), "named lists are put in when a layout is read"
    if section is None:
        return part.values
    return [
        value.model_copy(update={"category": section.fill(value.category), "value": section.fill(value.value)})
        for value in part.values
    ]


def _column(figure: Figure, value: Value, part: Part, block: int, number: int) -> Column:
    better = "none" if figure.plain and figure.better is None else figure.better or "high"
    arrow = " ↓" if better == "low" else ""
    title = value.title if value.head or not figure.head else ""
    head, over = (figure.head, title or figure.over) if figure.head else (title, figure.over)
    path = " · ".join(word for word in (title, figure.over, figure.head) if word)
    return Column(
        head=head + arrow,
        over=over,
        path=path,
        words=figure.plain,
        whole=part.subset is None and not isinstance(part.values, str) and len(part.values) == 1,
        better=better,
        block=block,
        figure=number,
        value_head=title,
        figure_head=figure.head + arrow,
        figure_over=figure.over,
    )
