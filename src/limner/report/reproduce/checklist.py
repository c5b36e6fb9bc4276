"""The checklist of a paper: what the store has and lacks for each table and figure, and what the rest costs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ... import exams
from ...calls.budget import Budget, BudgetReached
from ...core import settings
from ...core.errors import LimnerError, StoreError, UsageError
from ...core.evaluator import Evaluator, without_options
from ...core.exam import Exam
from ...exams import ExamSource, paper
from ...running.estimate import total
from ...running.progress import Progress
from ...running.runner import Runner
from ...running.setup import load_exam_or_data
from ...scoring import Group
from ...scoring.deviations import drawn_elsewhere
from ...scoring.entries import evaluators_of
from ...scoring.groups import find_groups, stored_exam
from ...store import Store
from ...store.records import Drawing, load_drawings
from ...store.store import hide_password
from ..paper import Layout, TableChoice, build
from ..paper.holdings import plain_name
from ..paper.schema import JUDGES
from .items import (
    CellCount,
    ItemRequest,
    RequestedCell,
    TableCounter,
    count_rows,
    one_cell,
    request_of,
    row_names,
    shown_questions,
    why_not_made,
)
from .request import PaperList, Reproduction, chosen_items, paper_list
from .rows import RowFinder, StoredPainter, row_finder
from .steps import Planner, RunStep, StepState, make_step

Number = TypeVar("Number", int, float)


def sum_known(numbers: Iterable[Number | None]) -> Number | None:
    """Return the sum; None if any number is unknown."""
    known = list(numbers)
    return None if None in known else sum(number for number in known if number is not None)


@dataclass(frozen=True)
class ItemState:
    """The state of one table or figure: what the store has of it.

    Attributes:
        cells: The counts of its cells; None if it cannot be reproduced.
        steps: The steps that make its rows, by the keys of `ItemRequest`.
        by_hand: Commands to run by hand.
        not_made: Why its plots cannot be made from the store yet.
    """

    wants: ItemRequest
    cells: CellCount | None
    steps: Mapping[RequestedCell, StepState]
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
        item = self.wants.item
        return {
            "name": item.name, "title": self.wants.title, "ablation": item.ablation, "cannot": item.cannot,
            "cells": None if self.cells is None else self.cells.to_json(), "calls": self.calls,
            "dollars": self.dollars, "rows": [row for row, _ in self.wants.wants.values()], "people": item.people,
            "by_hand": list(self.by_hand), "note": item.note or None, "not_made": self.not_made,
        }  # fmt: skip


@dataclass(frozen=True)
class Checklist:
    """The state of a whole paper: what the store has of it.

    Attributes:
        cite: The paper's citation.
        steps: The steps in order, including those that cannot be run.
        groups: The marked drawings in the store.
        opened: The kind of the stored exam, with which they were read; None without them.
        evaluators: Their evaluators.
        planner: The maker of the plans.
        notes: Notes for the user.
    """

    asked: Reproduction
    listing: PaperList
    cite: str
    reading: str
    items: tuple[ItemState, ...]
    steps: tuple[StepState, ...]
    groups: tuple[Group, ...]
    evaluators: tuple[Evaluator, ...]
    planner: Planner
    finder: RowFinder
    notes: tuple[str, ...] = ()
    there: bool = False
    opened: exams.Kind[Any] | None = None

    @property
    def exam(self) -> Exam[Any] | None:
        """The exam with its questions; None if unknown."""
        return self.planner.loaded[1] if self.planner.loaded else None

    @property
    def selected(self) -> Exam[Any]:
        """The exam with the requested questions."""
        assert self.exam is not None
        return _selected(self.asked, self.exam)

    @property
    def cells(self) -> CellCount:
        """The cell counts of all tables and figures together."""
        return sum((item.cells for item in self.items if item.cells is not None), CellCount())

    @property
    def runnable(self) -> list[StepState]:
        """The unfinished steps that a command can do."""
        return [step for step in self.steps if step.step.cannot is None and step.to_do != 0]

    @property
    def dollars(self) -> tuple[float | None, list[str]]:
        """The known cost of the rest (None if nothing is known), and the names of those without a known price."""
        if any(step.found is None for step in self.runnable):
            return None, []
        return total([estimate for step in self.runnable for estimate in step.found or ()])

    @property
    def calls(self) -> int | None:
        """The number of paid calls for the rest; None if unknown."""
        return sum_known(step.calls for step in self.runnable)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        dollars, unknown = self.dollars
        return {
            "exam": self.asked.name, "paper": self.cite, "store": hide_password(self.asked.store),
            "reading": self.reading,
            "items": [item.to_json() for item in self.items], "steps": [step.to_json() for step in self.steps],
            "cells": self.cells.to_json(), "calls": self.calls, "dollars": dollars,
            "unknown_prices": list(dict.fromkeys(unknown)), "notes": list(self.notes),
        }  # fmt: skip

    def groups_of(self, step: StepState) -> list[Group]:
        """Return the store's groups for a step's row; if there are none, those drawn elsewhere under its name."""
        exact = [
            group
            for group in self.groups
            if (group.painter, group.strategy) == (step.label, step.strategy) and group.evaluator.id in step.evaluators
        ]
        name = plain_name(step.step.row.name)
        return exact or [
            group
            for group in self.groups
            if drawn_elsewhere(group)
            and plain_name(without_options(group.painter)) == name
            and group.judge in step.judges
        ]

    def refused(self, group: Group) -> bool:
        """Return whether a group has the name of a row of the paper, but was drawn in another way."""
        return not drawn_elsewhere(group) and self.finder.misnamed(_stored_painter(group.entries[0].drawing))

    def covered(self, step: StepState) -> float:
        """Return the share of the step's questions for which its row has a score."""
        groups = self.groups_of(step)
        if ids := step.step.questions:
            groups = [group.select(ids) for group in groups]
            return max((len({e.question.id for e in group.scored}) / len(ids) for group in groups), default=0.0)
        return max((group.coverage for group in groups), default=0.0)

    def choice(self, wants: ItemRequest, steps: Mapping[RequestedCell, StepState], **how: Any) -> TableChoice:
        """Return the choice for a table: the store's rows that its judges marked."""
        which: dict[str, Any] = {"selection": self.asked.selection, "wanted": lambda group: not self.refused(group)}
        layout = wants.layout
        if layout is not None and layout.rows == "painters" and not _by_judge(wants):
            names = {judge for step in steps.values() for judge in step.judges}
            which["judges"] = [evaluator.id for evaluator in self.evaluators if evaluator.judge in names]
        # The training part is a build's, under the build's own name.
        exam = self.asked.name if self.there and (layout is None or layout.rows != "training") else None
        return TableChoice(reading=self.reading, exam=exam, section=wants.item.section, which=which, full=True, **how)


def make_checklist(asked: Reproduction, store: Store, *, counted: bool = True) -> Checklist:
    """Compare a paper with a store and return the checklist; nothing is called or stored.

    If only the steps are needed, `counted=False` skips the items.

    Raises:
        UsageError: A requested item is not in the paper, or a painter is not valid.
    """
    kind, loaded_settings = asked.kind, settings.load()
    listing = paper_list(kind)
    loaded, why = _loaded(asked, store)
    stored = _there(asked, store)
    names = row_names(listing, kind)
    finder = row_finder(
        listing, names, asked.painters, loaded_settings, exams.kind(kind).all_presets,
        judge=asked.judge, judges=asked.other_judges, helpers=asked.strategy_options,
        stored=_stored_painters(asked, store) if stored else (), painter_args=asked.painter_args,
    )  # fmt: skip
    reading = asked.reading or str(exams.kind(kind).preset(listing.preset).get("reading", "careful"))
    planner = Planner(asked, listing, store, loaded_settings, loaded, why)
    wants = [request_of(item, kind) for item in chosen_items(listing, asked.items)]
    exam = _selected(asked, loaded[1]) if loaded else None
    wanted = [_steps(each, finder, exam) for each in wants]
    states = _states(wants, wanted, planner)
    opened, groups = None, list[Group]()
    if stored and counted:
        opened, groups = find_groups(asked.name, store=store, reading=reading, selection=asked.selection)
    evaluators = evaluators_of(store, asked.name) if stored else []
    cite = next((each.layout.paper.cite for each in wants if each.layout), kind)
    notes = [f"{why}; without the questions, calls and prices are unknown"] if why else []
    notes += [f"cannot be run here: {word}" for word in _unfit(states.values()) if word != why]
    # A figure of a few questions needs no step of its own if another item needs the whole row.
    steps = [each for each in states.values() if not each.step.questions or make_step(each.step.row).key not in states]
    checklist = Checklist(
        asked, listing, cite, reading, (), tuple(steps), tuple(groups), tuple(evaluators), planner, finder,
        tuple(notes), stored, opened,
    )  # fmt: skip
    if refused := {group.entries[0].drawing.painter for group in groups if checklist.refused(group)}:
        words = f"left out: {', '.join(sorted(refused))}: not drawn as the paper's row of this name"
        checklist = replace(checklist, notes=(*notes, words))
    items = []
    for each, needed in zip(wants, wanted, strict=True) if counted else ():
        mine = {key: states[step.key] for key, step in needed.items()}
        item = ItemState(each, None, mine, tuple(_by_hand(each, asked, finder, mine.values())))
        items.append(_counted(checklist, item, store))
    return replace(checklist, items=tuple(items))


def _loaded(asked: Reproduction, store: Store) -> tuple[tuple[ExamSource, Exam[Any]] | None, str | None]:
    try:
        return load_exam_or_data(asked.exam, asked.data, store), None
    except UsageError as error:
        if asked.data is not None:
            raise
        return None, str(error)


def _there(asked: Reproduction, store: Store) -> bool:
    try:
        stored_exam(asked.exam, store)
    except StoreError:
        return False
    return True


def _stored_painters(asked: Reproduction, store: Store) -> list[StoredPainter]:
    drawings = load_drawings(store, asked.name)
    painters = {(each.label, each.spec, each.strategy): _stored_painter(each) for each in drawings}
    return [painters[key] for key in sorted(painters)]


def _stored_painter(drawing: Drawing) -> StoredPainter:
    return StoredPainter(drawing.painter, drawing.spec, drawing.strategy, drawing.options)


def _selected(asked: Reproduction, exam: Exam[Any]) -> Exam[Any]:
    return exam.select(asked.selection, exams.kind(exam.kind).protocol.breakdowns)


def _steps(wants: ItemRequest, finder: RowFinder, exam: Exam[Any] | None) -> dict[RequestedCell, RunStep]:
    questions = shown_questions(wants.item, exam) if exam is not None else ()
    steps, study = {}, wants.item.people if wants.item.sampled else None
    for key, (name, judge) in wants.wants.items():
        if finder.wanted(name):
            steps[key] = make_step(finder.find(name), finder.judge(judge) if judge else None, study, questions, judge)
    if wants.own:
        steps |= {(row.name, ""): make_step(row, questions=questions) for row in finder.mine()}
    return steps


def _states(
    wants: list[ItemRequest], steps: list[dict[RequestedCell, RunStep]], planner: Planner
) -> dict[str, StepState]:
    """Return the steps by key, with the items that need each; steps that draw precede those that only mark."""
    by_key: dict[str, RunStep] = {}
    items: dict[str, list[str]] = {}
    for each, mine in zip(wants, steps, strict=True):
        for step in mine.values():
            needed = [make_step(step.row), step] if (step.marks or step.study) and step.cannot is None else [step]
            for needed_step in needed:
                by_key.setdefault(needed_step.key, needed_step)
                items.setdefault(needed_step.key, []).append(each.item.name)
    for key, step in by_key.items():
        if step.questions and (whole := make_step(step.row).key) in by_key:
            items[whole] += items[key]
    order = sorted(by_key, key=lambda key: by_key[key].marks or by_key[key].study is not None)
    return {key: planner.state(by_key[key], tuple(dict.fromkeys(items[key]))) for key in order}


def _unfit(states: Iterable[StepState]) -> list[str]:
    """Return the reasons why steps have no plan, except those of steps that no command can do."""
    return list(dict.fromkeys(state.why for state in states if state.step.cannot is None and state.why))


def _counted(checklist: Checklist, item: ItemState, store: Store) -> ItemState:
    """Return the item with the counts of its cells; a figure that cannot be made yet has no filled cell."""
    wants, written, layout = item.wants, item.wants.item, item.wants.layout
    if written.cannot is not None:
        return item
    if layout is not None:
        return replace(item, cells=_table_cells(checklist, wants, layout, item.steps, store))
    if written.categories is not None:
        count = len(paper.rows(checklist.asked.kind, written.categories.file))
        return replace(item, cells=CellCount(**{"filled" if checklist.exam is not None else "missing": count}))
    if written.page is not None:
        return replace(item, cells=one_cell("filled" if checklist.there else "missing"))
    if not wants.wants:
        why = why_not_made(checklist, item)
        return replace(item, cells=one_cell("missing" if why else "filled"), not_made=why)
    cells = count_rows((step for step in item.steps.values() if not step.step.row.own), checklist.covered)
    why = why_not_made(checklist, item) if cells.filled or cells.partial else None
    if why is not None:
        made = cells.filled + cells.partial
        state = "by_hand" if item.by_hand else "missing"
        cells = replace(cells, filled=0, partial=0, **{state: getattr(cells, state) + made})
    return replace(item, cells=cells, not_made=why)


def _table_cells(
    checklist: Checklist, wants: ItemRequest, layout: Layout, steps: Mapping[RequestedCell, StepState], store: Store
) -> CellCount:
    choice = checklist.choice(wants, steps, on="all", intervals=False)
    stored = checklist.there and choice.which.get("judges") != []
    layout = layout.model_copy(update={"boards": ()})
    table = build(layout, store if stored else None, choice, checklist.exam)
    labels = {evaluator.id: evaluator.label for evaluator in checklist.evaluators}
    elsewhere = frozenset(group.painter for group in checklist.groups if drawn_elsewhere(group))
    counter = TableCounter(layout, steps, labels, elsewhere, checklist.finder.only is not None)
    return counter.count(table, wants.sections)


def _by_judge(wants: ItemRequest) -> bool:
    return wants.layout is not None and any(part.values == JUDGES for part in wants.layout.columns)


def _by_hand(wants: ItemRequest, asked: Reproduction, finder: RowFinder, steps: Iterable[StepState]) -> list[str]:
    item = wants.item
    commands = [word.format(exam=asked.exam, store=asked.store) for word in item.by_hand]
    if item.people is not None:
        words = ["limner", "study", "new", item.people, "--exam", asked.exam, "--design", item.people]
        names = dict.fromkeys(finder.plain_label(step.label) for step in steps if step.label) if item.rows else ()
        words += [word for name in names for word in ("--painter", name)]
        commands.append(shlex.join([*words, "--store", asked.store]))
    return commands


@dataclass
class RunOutcome:
    """The outcome of running the steps.

    Attributes:
        progress: What each step did.
        not_run: The steps that could not be run, each with the reason.
        stopped: The message if the budget was reached and the run stopped early.
    """

    progress: list[Progress] = field(default_factory=list)
    not_run: list[tuple[StepState, str]] = field(default_factory=list)
    stopped: str | None = None
    interrupted: bool = False

    @property
    def exit_code(self) -> int:
        """The exit code, as in other commands: 0 done, 3 partly done, 4 budget reached, 130 interrupted."""
        if self.interrupted:
            return 130
        if self.stopped is not None:
            return BudgetReached.exit_code
        return 3 if self.not_run or any(part.failed for part in self.progress) else 0

    @property
    def failures(self) -> Progress:
        """The failures of all steps together."""
        together = Progress()
        for part in self.progress:
            together.add_causes(part)
        return together

    def total(self, name: str) -> Any:
        """Return the sum of a number over all steps."""
        return sum(getattr(part, name) for part in self.progress)


def run_steps(
    checklist: Checklist,
    *,
    budget: float | None,
    purse: str | None = None,
    change_purse: bool = False,
    concurrency: int = 64,
    retry_failed: bool = False,
    begin: Callable[[StepState], Callable[[Progress], None]] = lambda _: lambda _: None,
) -> RunOutcome:
    """Run every unfinished step.

    A step that cannot start, because a key, a price or a package is missing, is skipped and reported.

    Args:
        checklist: The checklist with the steps.
        budget: Dollars that all steps may spend in total.
        purse: The purse they spend from; see `limner.calls.budget`.
        change_purse: Whether `budget` becomes the purse's limit.
        concurrency: The maximum number of concurrent calls.
        retry_failed: Whether to retry refusals and unreadable replies.
        begin: Called before each step; returns the function to call after each of its parts.
    """
    outcome, shared = RunOutcome(), Budget(budget, purse)
    how: dict[str, Any] = {"budget": budget, "purse": purse, "concurrency": concurrency, "retry_failed": retry_failed}
    steps = checklist.steps if retry_failed else checklist.runnable
    for step in (step for step in steps if step.step.cannot is None):
        if step.plan is None:
            outcome.not_run.append((step, step.why or "its questions are unknown"))
            continue
        # The drawings of a study are known once the steps before have drawn.
        made = step.plan if step.step.study is None else checklist.planner.plan(step.step)
        plan = replace(made, **how, change_purse=change_purse and not outcome.progress)
        runner = Runner(plan, checklist.planner.store, budget=shared)
        try:
            runner.check()
            runner.watch = begin(step)
            progress = runner.run()
        except BudgetReached as error:
            outcome.progress.append(runner.progress)
            outcome.stopped = str(error)
            break
        except LimnerError as error:
            outcome.progress.append(runner.progress)
            outcome.not_run.append((step, str(error)))
            continue
        outcome.progress.append(progress)
        if progress.interrupted:
            outcome.interrupted = True
            break
    return outcome
