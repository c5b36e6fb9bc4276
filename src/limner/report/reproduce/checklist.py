"""The checklist of a paper: what the store has and lacks for each table and figure, and what the rest costs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

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
from ..tables.model import Table
from .items import (
    CellCount,
    ItemState,
    RequestedCell,
    TableCells,
    request_of,
    row_names,
    row_states,
    shown_questions,
    sum_known,
    why_not_made,
)
from .request import PaperList, Reproduction, chosen_items, paper_list
from .rows import RowFinder, StoredPainter
from .steps import Planner, RunStep, StepState, make_step


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
        cells = CellCount()
        for item in self.items:
            cells.update(item.cells or {})
        return cells

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
        row, name = (step.label, step.strategy), plain_name(step.step.row.name)
        exact = [group for group in self.groups if (group.painter, group.strategy) == row]
        named = [group for group in self.groups if plain_name(without_options(group.painter)) == name]
        return [group for group in exact if group.evaluator.id in step.evaluators] or [
            group for group in named if drawn_elsewhere(group) and group.judge in step.judges
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

    def choice(self, item: ItemState, **how: Any) -> TableChoice:
        """Return the choice for a table: the store's rows that its judges marked."""
        which: dict[str, Any] = {"selection": self.asked.selection, "wanted": lambda group: not self.refused(group)}
        layout = item.layout
        if layout is not None and layout.rows == "painters" and not layout.by_judge:
            names = {judge for step in item.steps.values() for judge in step.judges}
            which["judges"] = [evaluator.id for evaluator in self.evaluators if evaluator.judge in names]
        # The training part is a build's, under the build's own name.
        exam = self.asked.name if self.there and (layout is None or layout.rows != "training") else None
        return TableChoice(reading=self.reading, exam=exam, section=item.item.section, which=which, full=True, **how)

    def table(self, item: ItemState, layout: Layout, **how: Any) -> Table:
        """Return an item's table with the store's rows."""
        choice = self.choice(item, **how)
        store = self.planner.store if self.there and choice.which.get("judges") != [] else None
        return build(layout, store, choice, self.exam)


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
    finder = RowFinder.make(asked, listing, row_names(listing, kind), loaded_settings, _painters(asked, store, stored))
    reading = asked.reading or str(exams.kind(kind).preset(listing.preset).get("reading", "careful"))
    planner = Planner(asked, listing, store, loaded_settings, loaded, why)
    items = [request_of(item, kind) for item in chosen_items(listing, asked.items)]
    exam = _selected(asked, loaded[1]) if loaded else None
    wanted = [_steps(item, finder, exam) for item in items]
    states = _states(items, wanted, planner)
    opened, groups = None, list[Group]()
    if stored and counted:
        opened, groups = find_groups(asked.name, store=store, reading=reading, selection=asked.selection)
    evaluators = evaluators_of(store, asked.name) if stored else []
    cite = next((item.layout.paper.cite for item in items if item.layout), kind)
    notes = [f"{why}; without the questions, calls and prices are unknown"] if why else []
    unfit = dict.fromkeys(state.why for state in states.values() if state.step.cannot is None and state.why)
    notes += [f"cannot be run here: {word}" for word in unfit if word != why]
    # A figure of a few questions needs no step of its own if another item needs the whole row.
    steps = [each for each in states.values() if not each.step.questions or make_step(each.step.row).key not in states]
    checklist = Checklist(
        asked, listing, cite, reading, (), tuple(steps), tuple(groups), tuple(evaluators), planner, finder,
        tuple(notes), stored, opened,
    )  # fmt: skip
    if refused := {group.entries[0].drawing.painter for group in groups if checklist.refused(group)}:
        words = f"left out: {', '.join(sorted(refused))}: not drawn as the paper's row of this name"
        checklist = replace(checklist, notes=(*notes, words))
    if not counted:
        return checklist
    made = []
    for item, needed in zip(items, wanted, strict=True):
        mine = {key: states[step.key] for key, step in needed.items()}
        by_hand = tuple(_by_hand(item, asked, finder, mine.values()))
        made.append(_counted(checklist, replace(item, steps=mine, by_hand=by_hand)))
    return replace(checklist, items=tuple(made))


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


def _painters(asked: Reproduction, store: Store, stored: bool) -> list[StoredPainter]:
    """Return the painters whose drawings the store has, in order."""
    drawings = load_drawings(store, asked.name) if stored else []
    painters = {(each.label, each.spec, each.strategy): _stored_painter(each) for each in drawings}
    return [painters[key] for key in sorted(painters)]


def _stored_painter(drawing: Drawing) -> StoredPainter:
    return StoredPainter(drawing.painter, drawing.spec, drawing.strategy, drawing.options)


def _selected(asked: Reproduction, exam: Exam[Any]) -> Exam[Any]:
    return exam.select(asked.selection, exams.kind(exam.kind).protocol.breakdowns)


def _steps(item: ItemState, finder: RowFinder, exam: Exam[Any] | None) -> dict[RequestedCell, RunStep]:
    questions = shown_questions(item.item, exam) if exam is not None else ()
    steps, study = {}, item.item.people if item.item.sampled else None
    for key, (name, judge) in item.wants.items():
        if finder.wanted(name):
            steps[key] = make_step(finder.find(name), finder.judge(judge) if judge else None, study, questions, judge)
    if item.own:
        steps |= {(row.name, ""): make_step(row, questions=questions) for row in finder.mine()}
    return steps


def _states(
    wants: list[ItemState], steps: list[dict[RequestedCell, RunStep]], planner: Planner
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


def _counted(checklist: Checklist, item: ItemState) -> ItemState:
    """Return the item with the counts of its cells; a figure that cannot be made yet has no filled cell."""
    written, layout = item.item, item.layout
    if written.cannot is not None:
        return item
    if layout is not None:
        shown = layout.model_copy(update={"boards": ()})
        table = checklist.table(item, shown, on="all", intervals=False)
        return replace(item, cells=CellCount(TableCells(checklist, item, shown).states(table)))
    if written.categories is not None:
        count = len(paper.rows(checklist.asked.kind, written.categories.file))
        return replace(item, cells=CellCount({"filled" if checklist.exam is not None else "missing": count}))
    if written.page is not None:
        return replace(item, cells=CellCount(["filled" if checklist.there else "missing"]))
    cells = CellCount(row_states(checklist, item))
    made = cells["filled"] + cells["partial"]
    why = why_not_made(checklist, item) if made or not item.wants else None
    if not item.wants:
        return replace(item, cells=CellCount(["missing" if why else "filled"]), not_made=why)
    if why is not None:
        cells["filled"] = cells["partial"] = 0
        cells["by_hand" if item.by_hand else "missing"] += made
    return replace(item, cells=cells, not_made=why)


def _by_hand(item: ItemState, asked: Reproduction, finder: RowFinder, steps: Iterable[StepState]) -> list[str]:
    written = item.item
    commands = [word.format(exam=asked.exam, store=asked.store) for word in written.by_hand]
    if written.people is not None:
        words = ["limner", "study", "new", written.people, "--exam", asked.exam, "--design", written.people]
        names = dict.fromkeys(finder.plain_label(step.label) for step in steps if step.label) if written.rows else ()
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
