"""The figures of a paper: the questions that they show, and their plots."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ... import exams
from ...core.errors import LimnerError
from ...core.exam import Exam
from ...exams import paper
from ..plots import PlotChoice, find_plot
from ..plots.multiples import AlignmentPanels
from ..tables.model import MISSING, Table, simple_table
from .request import PaperItem, PaperPlot

if TYPE_CHECKING:
    from .checklist import Checklist, ItemState

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
