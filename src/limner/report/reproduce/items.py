"""The tables and figures of a paper: what they need, how many of their cells the store fills, and their plots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from ... import exams
from ...core.errors import LimnerError
from ...core.evaluator import without_options
from ...core.exam import Exam
from ...exams import paper
from ...scoring.deviations import drawn_elsewhere
from ..paper import Layout, find
from ..paper.holdings import plain_name
from ..paper.rows import judges as published_judges
from ..paper.rows import published, published_rows
from ..paper.schema import AGREEING, COUNTED, ColumnSpec, Section, specs
from ..plots import PlotChoice, find_plot
from ..plots.multiples import AlignmentPanels
from ..tables.model import MISSING, Cell, Table, TableRow, simple_table
from .request import PaperItem, PaperList, PaperPlot
from .steps import StepState

if TYPE_CHECKING:
    from .checklist import Checklist

STATES = {
    "filled": "filled", "partial": "in part", "missing": "missing", "by_hand": "by hand",
    "out_of_reach": "out of reach",
}  # fmt: skip
"""The states of a paper's cells, with the words for them: in the store over all questions, or over some of them or with
failures; those that a run can fill; those for people or further commands; and those that cannot be filled here."""
RequestedCell = tuple[str, str]
"""A row by the paper's name (empty in tables of judges), and a judge (empty for the preset's judge)."""
Number = TypeVar("Number", int, float)


class CellCount(Counter[str]):
    """The number of cells of a table, or rows of a figure, by state."""

    def to_json(self) -> dict[str, int]:
        """Return plain JSON; ``paper`` is the number of all cells in the paper."""
        return {"paper": self.total(), **{state: self[state] for state in STATES}}


def sum_known(numbers: Iterable[Number | None]) -> Number | None:
    """Return the sum; None if any number is unknown."""
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


@dataclass(frozen=True)
class ItemState:
    """A table or figure with the rows and judges that it needs, and what the store has of it.

    Attributes:
        layout: The layout of its table, if it has one; `sections` are the sections that it shows.
        wants: Key of a row -> the row and the judge that make it.
        own: Whether the user's own painters may be shown in it.
        steps: The steps that make its rows, by the keys of `wants`.
        cells: The counts of its cells; None if it cannot be reproduced.
        by_hand: Commands to run by hand.
        not_made: Why its plots cannot be made from the store yet.
    """

    item: PaperItem
    title: str
    layout: Layout | None
    sections: tuple[Section | None, ...]
    wants: dict[RequestedCell, RequestedCell]
    own: bool
    steps: Mapping[RequestedCell, StepState] = field(default_factory=dict)
    cells: CellCount | None = None
    by_hand: tuple[str, ...] = ()
    not_made: str | None = None

    @property
    def dollars(self) -> float | None:
        """The cost of the missing parts of its rows; None if any price is unknown."""
        return sum_known(step.dollars for step in self.runnable)

    @property
    def calls(self) -> int | None:
        """The number of paid calls that its rows still need; None if unknown."""
        return sum_known(step.calls for step in self.runnable)

    @property
    def runnable(self) -> list[StepState]:
        """Its steps that a command can do, without duplicates."""
        return list({step.step.key: step for step in self.steps.values() if step.step.cannot is None}.values())

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        item = self.item
        return {
            "name": item.name, "title": self.title, "ablation": item.ablation, "cannot": item.cannot,
            "cells": None if self.cells is None else self.cells.to_json(), "calls": self.calls,
            "dollars": self.dollars, "rows": [row for row, _ in self.wants.values()], "people": item.people,
            "by_hand": list(self.by_hand), "note": item.note or None, "not_made": self.not_made,
        }  # fmt: skip


def request_of(item: PaperItem, kind: str) -> ItemState:
    """Return the rows and judges that an item needs, by its definition and by the published rows of its layout."""
    layout = find(f"{kind}:{item.layout}") if item.layout else None
    sections = _sections(layout, item.section)
    title = item.title or (layout.title if layout else "")
    if item.section:
        title = f"{title}: {item.section}"
    rows, judges = item.rows, item.judges
    source = find(f"{kind}:{item.rows_of}") if item.rows_of else layout
    if not rows and source is not None and source.rows in ("painters", "rated"):
        shown = sections if source is layout else _sections(source, None)
        models = (row["model"] for section in shown for row in published(source, section) if row["model"])
        rows = tuple(dict.fromkeys(models))
    if layout is not None and layout.rows == "judges":
        columns = specs(layout, None, [])
        judges = judges or tuple(
            _judge_key(row, columns) for _, row in published_rows(layout, columns, published(layout, None))
        )
        wants = {("", judge): (row, judge) for judge in judges for row in rows[:1]}
    else:
        if layout is not None and layout.by_judge:
            judges = judges or tuple(published_judges(published(layout, None)))
        wants = {(row, judge): (row, judge) for row in rows for judge in judges or ("",)}
    own = bool(rows) and not item.judges and (layout is None or layout.rows not in (*AGREEING, *COUNTED, "judges"))
    return ItemState(item, title, layout, sections, wants, own)


def row_names(listing: PaperList, kind: str) -> list[str]:
    """Return all rows that the paper's tables and figures need, by the paper's names."""
    wants = [request_of(item, kind) for item in listing.items]
    return list(dict.fromkeys(row for each in wants for row, _ in each.wants.values() if row))


def _sections(layout: Layout | None, title: str | None) -> tuple[Section | None, ...]:
    if layout is None or not layout.sections:
        return (None,)
    return tuple(section for section in layout.sections if title in (None, section.title))


def _judge_key(row: TableRow, columns: Sequence[ColumnSpec]) -> str:
    """Return the name of a row in a table of judges: the judge and what it was shown."""
    shown = [cell.text for cell, column in zip(row.cells, columns, strict=True) if column.figure.column]
    return " / ".join([row.label, *shown])


@dataclass(frozen=True)
class TableCells:
    """The published cells of one item's table that also shows the store's rows."""

    checklist: Checklist
    item: ItemState
    layout: Layout

    def states(self, table: Table) -> Iterator[str]:
        """Yield the state of every published cell."""
        if self.layout.rows in AGREEING:
            yield from self._agreeing(table)
        elif self.layout.by_judge:
            yield from self._by_judge(table)
        else:
            columns = specs(self.layout, self.item.sections[0], [])
            for sheet in table.flat:
                for rows in [block.rows for block in sheet.blocks] if self.layout.sections else [[*sheet.rows()]]:
                    for row in (row for row in rows if row.published):
                        yield from self._row(row, columns, [row for row in rows if not row.published])

    def _row(self, row: TableRow, columns: Sequence[ColumnSpec], mine: Sequence[TableRow]) -> Iterator[str]:
        counted = self.layout.rows in COUNTED
        of_judge = self.layout.rows == "judges"
        key = ("", _judge_key(row, columns)) if of_judge else (row.about.get("model", row.label), "")
        step = self.item.steps.get(key)
        if self._unwanted(step) and not counted:
            return
        own = next((each for each in mine if counted or (step is not None and self._is_of(step, each.about))), None)
        for place, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
            if cell.text == MISSING or (column.figure.plain and not column.figure.drawn):
                continue
            filled = own is not None and own.cells[place].text != MISSING
            state = _state(step, own, own.cells[place] if own is not None else None)
            if counted:
                lacking = "missing" if self.layout.rows == "exam" else "by_hand"
                state = "filled" if filled else "out_of_reach" if own or not column.figure.measure else lacking
            elif column.figure.agreement and not filled:
                state = "by_hand"
            yield state

    def _unwanted(self, step: StepState | None) -> bool:
        """Return whether a row has no step because the user asked for other rows."""
        return step is None and self.checklist.finder.only is not None

    def _evaluators(self, step: StepState) -> set[str]:
        """Return the labels of the evaluators that mark for a step."""
        return {evaluator.label for evaluator in self.checklist.evaluators if evaluator.id in step.evaluators}

    def _is_of(self, step: StepState, about: Mapping[str, str]) -> bool:
        """Return whether a row of the store is the one that a step makes, or drawn elsewhere under its name."""
        if self.layout.rows == "judges" or _made_by(step, about):
            return about.get("evaluator") in self._evaluators(step)
        painter = about.get("painter", "")
        same = plain_name(without_options(painter)) == plain_name(step.step.row.name)
        return (
            same
            and about.get("judge") in step.judges
            and any(group.painter == painter and drawn_elsewhere(group) for group in self.checklist.groups)
        )

    def _agreeing(self, table: Table) -> Iterator[str]:
        """Yield states of the numbers of agreement between people and judges, without matching them by name."""
        rows = [row for sheet in table.flat for row in sheet.rows()]
        cells = Counter(row.published for row in rows for cell in row.cells if cell.text != MISSING)
        for place in range(cells[True]):
            yield "filled" if place < cells[False] else "by_hand"

    def _by_judge(self, table: Table) -> Iterator[str]:
        """Yield the states of a table with a column for each judge; the store's rows are in a separate table."""
        for sheet in table.flat:
            for row in (row for row in sheet.rows() if row.published):
                for cell, column in zip(row.cells, sheet.columns, strict=True):
                    step = self.item.steps.get((row.about["model"], column.value_head or column.head))
                    if cell.text != MISSING and not self._unwanted(step):
                        yield _state(step, *self._judged(table, step))

    def _judged(self, table: Table, step: StepState | None) -> tuple[TableRow | None, Cell | None]:
        if step is not None:
            names = self._evaluators(step)
            for sheet in table.flat:
                for row in (row for row in sheet.rows() if not row.published and _made_by(step, row.about)):
                    for cell, column in zip(row.cells, sheet.columns, strict=True):
                        if column.value_head in names or column.head in names:
                            return row, cell
        return None, None


def _state(step: StepState | None, row: TableRow | None, cell: Cell | None) -> str:
    """Return the state of a paper's cell, given the step that makes its row and the store's row and cell."""
    if row is not None and cell is not None and cell.text != MISSING:
        return "filled" if row.coverage is None or row.coverage >= 1 else "partial"
    if step is None or step.step.cannot is not None:
        return "out_of_reach"
    # A finished row lacks a number if the exam has no question for it, or the judge gave no answer.
    return "missing" if step.to_do is None or step.to_do > 0 else "out_of_reach"


def _made_by(step: StepState, about: Mapping[str, str]) -> bool:
    return (about.get("painter"), about.get("strategy")) == (step.label, step.strategy)


def row_states(checklist: Checklist, item: ItemState) -> Iterator[str]:
    """Yield the states of a figure's rows."""
    for step in item.steps.values():
        if not step.step.row.own:
            share = checklist.covered(step)
            lacking = "missing" if step.step.cannot is None else "out_of_reach"
            yield lacking if not share else "filled" if share >= 1 else "partial"


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
    for plot in item.item.plots:
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
    if len({figure.plot.model_dump_json() for figure in figures}) < len(item.item.plots):
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
