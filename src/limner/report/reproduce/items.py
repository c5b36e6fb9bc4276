"""The tables and figures of a paper: what they need, how many of their cells the store fills, and their plots."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from ... import exams
from ...core.errors import LimnerError
from ...core.evaluator import without_options
from ...core.exam import Exam
from ...exams import paper
from ..paper import Layout, find
from ..paper.holdings import plain_name
from ..paper.rows import judges as published_judges
from ..paper.rows import published, published_rows
from ..paper.schema import AGREEING, COUNTED, JUDGES, ColumnSpec, Section, specs
from ..plots import PlotChoice, find_plot
from ..plots.multiples import AlignmentPanels
from ..tables.model import MISSING, Cell, Sheet, Table, TableRow, simple_table
from .request import PaperItem, PaperList, PaperPlot
from .steps import StepState

if TYPE_CHECKING:
    from .checklist import Checklist, ItemState


@dataclass(frozen=True)
class CellCount:
    """The number of cells of a table, or rows of a figure, by state.

    Attributes:
        filled: Cells in the store, over all questions.
        partial: Cells in the store, over some of the questions or with failures.
        missing: Cells that a run can fill.
        by_hand: Cells that people or further commands can fill.
        out_of_reach: Cells that cannot be filled here.
    """

    filled: int = 0
    partial: int = 0
    missing: int = 0
    by_hand: int = 0
    out_of_reach: int = 0

    @property
    def paper(self) -> int:
        """The number of all cells in the paper."""
        return sum(asdict(self).values())

    def __add__(self, other: CellCount) -> CellCount:
        return CellCount(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def to_json(self) -> dict[str, int]:
        """Return plain JSON."""
        return {"paper": self.paper, **asdict(self)}


def one_cell(state: str) -> CellCount:
    """Return the count of a single cell in this state."""
    return CellCount(**{state: 1})


def row_state(step: StepState | None, row: TableRow | None, cell: Cell | None) -> str:
    """Return the state of a paper's cell, given the step that makes its row and the store's row and cell."""
    if row is not None and cell is not None and cell.text != MISSING:
        return "filled" if row.coverage is None or row.coverage >= 1 else "partial"
    if step is None or step.step.cannot is not None:
        return "out_of_reach"
    # A finished row lacks a number if the exam has no question for it, or the judge gave no answer.
    return "missing" if step.to_do is None or step.to_do > 0 else "out_of_reach"


@dataclass(frozen=True)
class TableCounter:
    """A counter of the cells of one table.

    Attributes:
        steps: The steps by the paper's name of the row, by judge in tables of judges, by both with a judge per column.
        labels: Evaluator's id -> its label in tables.
        elsewhere: The painters whose drawings were made elsewhere.
        limited: Whether rows without a step are not requested, and not counted.
    """

    layout: Layout
    steps: Mapping[tuple[str, str], StepState]
    labels: Mapping[str, str]
    elsewhere: frozenset[str] = frozenset()
    limited: bool = False

    def count(self, table: Table, sections: Sequence[Section | None]) -> CellCount:
        """Count all published cells of a table that also shows the store's rows."""
        layout = self.layout
        if layout.rows in AGREEING:
            return self._agreeing(table)
        if any(part.values == JUDGES for part in layout.columns):
            return self._by_judge(table)
        counts = CellCount()
        for sheet in table.flat:
            blocks = sheet.blocks if layout.sections else [None]
            for place, block in enumerate(blocks):
                rows = list(sheet.rows() if block is None else block.rows)
                columns = specs(layout, sections[place] if block is not None else sections[0], [])
                for row in (row for row in rows if row.published):
                    counts += self._row(row, columns, rows)
        return counts

    def _row(self, row: TableRow, columns: Sequence[ColumnSpec], rows: Sequence[TableRow]) -> CellCount:
        step = self.steps.get(self._key(row, columns))
        own = self._own(step, rows)
        counts = CellCount()
        if self.limited and step is None and self.layout.rows not in COUNTED:
            return counts
        for place, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
            if cell.text == MISSING or (column.figure.plain and not column.figure.drawn):
                continue
            mine = own.cells[place] if own is not None else None
            state = row_state(step, own, mine)
            if self.layout.rows in COUNTED:
                present = mine is not None and mine.text != MISSING
                lacking = "missing" if self.layout.rows == "exam" else "by_hand"
                state = "filled" if present else "out_of_reach" if own or not column.figure.measure else lacking
            elif column.figure.agreement and state in ("missing", "out_of_reach"):
                state = "by_hand"
            counts += one_cell(state)
        return counts

    def _key(self, row: TableRow, columns: Sequence[ColumnSpec]) -> tuple[str, str]:
        if self.layout.rows != "judges":
            return row.about.get("model", row.label), ""
        shown = [cell.text for cell, column in zip(row.cells, columns, strict=True) if column.figure.column]
        return "", " / ".join([row.label, *shown])

    def _own(self, step: StepState | None, rows: Sequence[TableRow]) -> TableRow | None:
        mine = [row for row in rows if not row.published]
        if self.layout.rows in COUNTED:
            return mine[0] if mine else None
        return next((row for row in mine if step is not None and self.is_of(step, row.about)), None)

    def is_of(self, step: StepState, about: Mapping[str, str]) -> bool:
        """Return whether a row of the store is the one that a step makes, or drawn elsewhere under its name."""
        names = {self.labels[id] for id in step.evaluators if id in self.labels}
        if self.layout.rows == "judges":
            return about.get("evaluator") in names
        if _made_by(step, about):
            return about.get("evaluator") in names
        painter = about.get("painter", "")
        same = plain_name(without_options(painter)) == plain_name(step.step.row.name)
        return same and painter in self.elsewhere and about.get("judge") in step.judges

    def _agreeing(self, table: Table) -> CellCount:
        """Count the numbers of agreement between people and judges, without matching them by name."""
        sides = [
            [cell for row in rows for cell in row.cells if cell.text != MISSING]
            for rows in (list(_rows(table, published)) for published in (True, False))
        ]
        filled = min(map(len, sides))
        return CellCount(filled=filled, by_hand=len(sides[0]) - filled)

    def _by_judge(self, table: Table) -> CellCount:
        """Count a table with a column for each judge; the store's rows are in a separate table."""
        counts = CellCount()
        for sheet in table.flat:
            for row in (row for row in sheet.rows() if row.published):
                for cell, column in zip(row.cells, sheet.columns, strict=True):
                    step = self.steps.get((row.about["model"], column.value_head or column.head))
                    if cell.text != MISSING and (step is not None or not self.limited):
                        counts += one_cell(row_state(step, *self._judged(table.flat, step)))
        return counts

    def _judged(self, sheets: Sequence[Sheet], step: StepState | None) -> tuple[TableRow | None, Cell | None]:
        names = {self.labels[id] for id in step.evaluators if id in self.labels} if step else set()
        for sheet in sheets:
            for row in (row for row in sheet.rows() if not row.published):
                if step is not None and _made_by(step, row.about):
                    for cell, column in zip(row.cells, sheet.columns, strict=True):
                        if column.value_head in names or column.head in names:
                            return row, cell
        return None, None


def _made_by(step: StepState, about: Mapping[str, str]) -> bool:
    return (about.get("painter"), about.get("strategy")) == (step.label, step.strategy)


def _rows(table: Table, published: bool) -> Iterator[TableRow]:
    return (row for sheet in table.flat for row in sheet.rows() if row.published is published)


def count_rows(steps: Iterable[StepState], covered: Callable[[StepState], float]) -> CellCount:
    """Count the rows of a figure; `covered` returns how much of a step's row the store has."""
    counts = CellCount()
    for step in steps:
        share = covered(step)
        lacking = "missing" if step.step.cannot is None else "out_of_reach"
        counts += one_cell(lacking if not share else "filled" if share >= 1 else "partial")
    return counts


RequestedCell = tuple[str, str]
"""A row by the paper's name (empty in tables of judges), and a judge (empty for the preset's judge)."""


@dataclass(frozen=True)
class ItemRequest:
    """A table or figure with the rows and judges that it needs.

    Attributes:
        layout: The layout of its table, if it has one; `sections` are the sections that it shows.
        wants: Key of a row -> the row and the judge that make it.
        own: Whether the user's own painters may be shown in it.
    """

    item: PaperItem
    title: str
    layout: Layout | None
    sections: tuple[Section | None, ...]
    wants: dict[RequestedCell, RequestedCell]
    own: bool


def request_of(item: PaperItem, kind: str) -> ItemRequest:
    """Return the rows and judges that an item needs, by its definition and by the published rows of its layout."""
    layout = find(f"{kind}:{item.layout}") if item.layout else None
    sections = _sections(layout, item.section)
    title = item.title or (layout.title if layout else "")
    if item.section:
        title = f"{title}: {item.section}"
    rows = item.rows
    source = find(f"{kind}:{item.rows_of}") if item.rows_of else layout
    if not rows and source is not None and source.rows in ("painters", "rated"):
        rows = tuple(_models(source, _sections(source, item.section if source is layout else None)))
    if layout is not None and layout.rows == "judges":
        keys = item.judges or tuple(_judges(layout))
        wants = {("", key): (row, key) for key in keys for row in rows[:1]}
    elif layout is not None and any(part.values == JUDGES for part in layout.columns):
        keys = item.judges or tuple(published_judges(published(layout, None)))
        wants = {(row, key): (row, key) for row in rows for key in keys}
    else:
        wants = {(row, key): (row, key) for row in rows for key in item.judges or ("",)}
    own = bool(rows) and not item.judges and (layout is None or layout.rows not in (*AGREEING, *COUNTED, "judges"))
    return ItemRequest(item, title, layout, sections, wants, own)


def row_names(listing: PaperList, kind: str) -> list[str]:
    """Return all rows that the paper's tables and figures need, by the paper's names."""
    wants = [request_of(item, kind) for item in listing.items]
    return list(dict.fromkeys(row for each in wants for row, _ in each.wants.values() if row))


def _sections(layout: Layout | None, title: str | None) -> tuple[Section | None, ...]:
    if layout is None or not layout.sections:
        return (None,)
    return tuple(section for section in layout.sections if title in (None, section.title))


def _models(layout: Layout, sections: Iterable[Section | None]) -> Iterable[str]:
    models = [row["model"] for section in sections for row in published(layout, section) if row["model"]]
    return dict.fromkeys(models)


def _judges(layout: Layout) -> list[str]:
    """Return the rows of a table of judges, each named by the judge and what it was shown."""
    columns = specs(layout, None, [])
    names = []
    for _, row in published_rows(layout, None, columns):
        shown = [cell.text for cell, column in zip(row.cells, columns, strict=True) if column.figure.column]
        names.append(" / ".join([row.label, *shown]))
    return names


DATA, PEOPLE = "data", "people"
"""Plots that are not about painters' rows."""


@dataclass(frozen=True)
class Figure:
    """A plot of a figure, ready to be made.

    Attributes:
        part: Its name within the figure; empty if it is the only one.
    """

    plot: PaperPlot
    choice: PlotChoice
    part: str = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """A key that equal plots share."""
        choice = self.choice
        rows = [(group.name, group.evaluator.id) for group in choice.loaded[1]] if choice.loaded else []
        return (self.plot.plot, choice.by, choice.score, choice.question, *sorted(rows))


def shown_questions(item: PaperItem, exam: Exam[Any]) -> tuple[str, ...]:
    """Return the ids of the questions that a figure of drawings shows; empty for other items."""
    if item.layout or not item.plots or not all(find_plot(plot.plot).of_question for plot in item.plots):
        return ()
    protocol = exams.kind(exam.kind).protocol
    shown = {id for plot in item.plots for id in _chosen(plot, exam).values()}
    clusters = {protocol.cluster(question) for question in exam.questions if question.id in shown}
    return tuple(question.id for question in exam.questions if protocol.cluster(question) in clusters)


def _chosen(plot: PaperPlot, exam: Exam[Any]) -> dict[str, str]:
    """Return the question of each of a plot's galleries by part: one, or one for each value of a tag."""
    fitting = [question for question in exam.questions if plot.where.items() <= question.tags.items()]
    if plot.each is not None:
        first: dict[str, str] = {}
        for question in fitting:
            first.setdefault(question.tags.get(plot.each, ""), question.id)
        return first
    protocol = exams.kind(exam.kind).protocol
    clusters = list({protocol.cluster(question): question.id for question in reversed(fitting)}.values())[::-1]
    return {plot.part: clusters[plot.nth - 1]} if len(clusters) >= plot.nth else {}


def figures_of(checklist: Checklist, item: ItemState) -> Iterator[Figure]:
    """Yield an item's plots with the choice of rows, judge and question for each."""
    for plot in item.wants.item.plots:
        if checklist.exam is None or not find_plot(plot.plot).of_question:
            yield Figure(plot, _choice(checklist, item, plot), plot.part)
            continue
        for part, question in _chosen(plot, checklist.selected).items():
            yield Figure(plot, _choice(checklist, item, plot, question), part)


def categories_table(checklist: Checklist, item: PaperItem) -> Table:
    """Return the table of an item's categories: the paper's number of questions of each, and the exam's."""
    assert item.categories is not None
    columns, rows = item.categories.tags, []
    questions = checklist.exam.questions if checklist.exam is not None else ()
    for row in paper.rows(checklist.asked.kind, item.categories.file):
        wanted = {tag: row[column] for column, tag in columns.items() if row[column]}
        own = sum(wanted.items() <= question.tags.items() for question in questions)
        rows.append([*(row[column] for column in columns), row["count"], f"{own:,}" if questions else MISSING])
    return simple_table(item.title, [*columns, "paper", "exam"], rows, names=len(columns))


def why_not_made(checklist: Checklist, item: ItemState) -> str | None:
    """Return why one of an item's plots cannot be made from the store; None if all can."""
    figures = list(figures_of(checklist, item))
    if len({figure.plot.model_dump_json() for figure in figures}) < len(item.wants.item.plots):
        return "the exam, or the questions chosen, have none that it shows"
    try:
        for figure in figures:
            if not checklist.there and figure.plot.plot != DATA:
                return "the store has no drawings yet"
            frame = find_plot(figure.plot.plot).frame(checklist.asked.exam, figure.choice)
            if isinstance(frame, AlignmentPanels) and frame.lacking:
                return f"it has no numbers of {', '.join(frame.lacking)} yet"
    except LimnerError as error:
        return str(error)
    return None


def _choice(checklist: Checklist, item: ItemState, plot: PaperPlot, question: str | None = None) -> PlotChoice:
    """Return the choice of a figure's rows under the paper's judge, if the store has them."""
    groups = [group for step in item.steps.values() for group in checklist.groups_of(step)]
    rows = list({(group.name, group.evaluator.id): group for group in groups}.values())
    if not find_plot(plot.plot).compared:
        rows = [group for group in rows if group.evaluator.id == rows[0].evaluator.id]
    loaded = (checklist.opened, rows) if rows and checklist.opened and plot.plot not in (DATA, PEOPLE) else None
    data = checklist.asked.data if plot.plot == DATA and not checklist.there else None
    store = checklist.planner.store if checklist.there else checklist.asked.store
    return PlotChoice(store, (), checklist.reading, plot.score, by=plot.by, question=question, data=data, loaded=loaded)
