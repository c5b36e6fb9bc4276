"""The Python API: the few functions that the command line calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from . import exams
from .core import settings
from .core.errors import NoStore, UsageError
from .core.evaluator import SHOWN_KINDS
from .core.exam import Selection
from .core.protocol import parse_reading
from .core.registry import lazy_attributes
from .report.tables.agreement import JudgeAgreement
from .report.tables.comparison import Comparisons, ExamComparison
from .report.tables.model import Table
from .report.tables.question import QuestionView, describe_question, small_pictures
from .report.tables.scores import Standings
from .scoring import comparables, standings
from .scoring import compare as comparing
from .scoring.corrected import with_corrections
from .scoring.groups import checked_on
from .scoring.groups import find_groups as groups
from .store import DEFAULT, Store
from .store.store import open_store, using_store

if TYPE_CHECKING:
    from .report.plots import PlotFigure
    from .running.modes import ModeSorter
    from .running.progress import Progress
    from .running.setup import Asking
    from .running.setup import make_plan as plan

# Scores alone need not import everything that a run needs.
__getattr__, __dir__ = lazy_attributes(__name__, {"Asking": ".running.setup", "plan": ".running.setup:make_plan"})

__all__ = [
    "Asking", "agree", "compare", "groups", "mode_sorter", "open_store", "plan", "plot", "run", "scores", "show",
    "table",
]  # fmt: skip


def run(
    exam: str,
    *,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
    data: Path | str | None = None,
    store: Store | str | Path = DEFAULT,
    selection: Selection | None = None,
    asking: Asking | None = None,
    watch: Callable[[Progress], None] = lambda _: None,
    **how: Any,
) -> Progress:
    """Draw and mark what is missing; run it again to resume.

    Args:
        exam: An installed exam's name, ``sample/NAME``, or the path of an exam.toml.
        painters: Such as ``folder/./images`` or ``mine=folder/./images``; without judges they only draw.
        judges: Such as ``ocr`` or ``openai/gpt-6.1-sol``.
        data: The exam's data folder; not needed once the store has the exam.
        store: A folder or database URL.
        selection: Which questions; all by default.
        asking: The judges' settings; `judges` replace its own.
        watch: Called after every step.
        **how: ``strategies``, ``strategy_options``, ``seeds``, ``repeats``, ``concurrency``, ``retry_failed``,
            ``draw``, ``batch``; see `plan` and `limner.running.plan.Plan`.
    """
    from .running.batch import make_runner
    from .running.setup import Asking, make_plan

    with using_store(store, create=True) as opened:
        asking = asking or Asking()
        if judges:
            asking = replace(asking, judges=judges)
        plan = make_plan(exam, opened, data=data, painters=painters, asking=asking, selection=selection, **how)
        return make_runner(plan, opened, watch).run()


def scores(
    exam: str,
    *,
    by: Sequence[str] = (),
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    on: str = "common",
    sort: str | None = None,
    study: str | None = None,
    store: Store | str | Path = DEFAULT,
    **which: Any,
) -> Standings:
    """Return every painter's numbers under every evaluator, the best first and controls last: a list of `Standing`.

    A notebook shows it like `limner scores`; ``to_polars()`` and ``to_pandas()`` return its numbers as frames.

    Args:
        exam: The exam's name in the store.
        by: Tags to break the numbers down by; ``dimension`` lists the exam's dimensions.
        reading: How stored replies are read: ``careful``, ``paper`` or ``release``.
        constants: Constants of the exam's scores, in place of the defaults.
        on: The questions painters are compared on: those all of them have (``common``), or each its own (``all``).
        sort: The order of the rows, in place of the main score: another score, ``name``, ``coverage`` or ``cost``.
        study: Also correct the judges' scores with people's marks in this study; see `limner.scoring.corrected`.
        store: Where the results are.
        **which: ``painters``, ``without``, ``judges``, ``variant``, ``selection``, …; see `groups`.
    """
    with using_store(store) as opened:
        how: dict[str, Any] = {"reading": reading, "constants": constants}
        if study is not None:
            from .study.answers import people_of

            people, frame = people_of(opened, exam, study, reading, constants)
        kind, marked = groups(exam, store=opened, brief=True, **how, **which)
        tags = {tag for group in marked for entry in group.entries for tag in entry.question.tags} if by else set()
        tags |= {"dimension"} if kind.protocol.dimensions else set()
        for tag in by:
            if marked and tag not in tags:
                raise UsageError(f"--by {tag}: no such tag; available: {', '.join(sorted(tags))}")
        name, read = exams.stored_name(exam), parse_reading(reading)
        rows = standings(name, marked, kind.protocol, read, by, checked_on(on), sort)
    if study is None:
        return Standings(rows, kind.name)
    shown = [row for row in rows if row.evaluator.kind in SHOWN_KINDS]
    return Standings(with_corrections(shown, people, frame), kind.name, corrected=True)


@overload
def compare(exam: str, *, store: Store | str | Path = DEFAULT, **how: Any) -> Comparisons: ...


@overload
def compare(
    exam: list[str] | tuple[str, ...], *, store: Store | str | Path = DEFAULT, **how: Any
) -> ExamComparison: ...


def compare(
    exam: str | list[str] | tuple[str, ...], *, store: Store | str | Path = DEFAULT, **how: Any
) -> Comparisons | ExamComparison:
    """Compare painters on the questions that all of them have: return a list with a `Comparison` per evaluator.

    Args:
        exam: The exam's name in the store. With several names: do these exams rank painters in the same order?
        store: Where the results are.
        **how: ``score``, ``by``, ``gap``, ``reading``, ``constants``, ``on``, ``painters``, ``without``, ``judges``,
            ``selection``, …; see `limner.scoring.compare.painters`. For several exams ``score``, ``reading``,
            ``painters`` and ``judges``.
    """
    with using_store(store) as opened:
        if isinstance(exam, str):
            return Comparisons(comparing.painters(exam, store=opened, **how))
        return ExamComparison(**vars(comparing.exams(list(exam), store=opened, **how)))


def agree(exam: str, *, store: Store | str | Path = DEFAULT, **how: Any) -> JudgeAgreement:
    """Measure how far judges, people and metrics agree on the same drawings.

    Args:
        exam: The exam's name in the store.
        store: Where the marks are.
        **how: ``score``, ``reading``, ``constants``, ``study``, ``by``, ``judges``, ``painters``, ``variant``,
            ``options``, ``selection``, …; see `limner.scoring.compare.judges`.
    """
    return JudgeAgreement(**vars(comparing.judges(exam, store=store, **how)))


def table(
    name: str,
    *,
    store: Store | str | Path | None = None,
    published: bool = True,
    **choice: Any,
) -> Table:
    """Return a table of a benchmark's paper: the published figures with those of a store beside them.

    Args:
        name: Such as ``genexam:table2``; `limner table` lists them all.
        store: Where the results are; by default ``limner-store``, which need not exist.
        published: Whether to show the paper's figures.
        **choice: ``exam``, ``intervals``, ``reading``, ``on``, ``section``, ``study``, ``full``, see
            `limner.report.paper.TableChoice`; or ``painters``, ``without``, ``judges``, ``variant``, …, see
            `limner.groups`.
    """
    from .report.paper import TableChoice, build, find

    layout = find(name)
    own = {field.name: choice.pop(field.name) for field in fields(TableChoice) if field.name in choice}
    chosen = TableChoice(published, which=choice, **own)
    try:
        with using_store(DEFAULT if store is None else store) as opened:
            return build(layout, opened, chosen)
    except NoStore:
        if store is not None or not published:
            raise
    return build(layout, None, chosen)


def plot(name: str, *exams: str, width: str = "double", **choice: Any) -> PlotFigure:
    """Return a plot of an exam's scores, several exams below each other; a notebook shows it.

    Args:
        name: Such as ``categories`` or ``heatmap``; `limner plot` lists them all.
        *exams: Their names in the store.
        width: ``double`` or ``single``: both columns of a paper, or one.
        **choice: ``store``, ``judges``, ``painters``, ``without``, ``reading``, ``score``, ``by``, ``on``, …; see
            `limner.report.plots.PlotChoice`.

    Raises:
        UsageError: There is nothing to show, or matplotlib is missing; says what to do.
    """
    from .report.plots import PlotChoice, make_figure

    if not exams:
        raise UsageError(f"name the exam: limner.plot({name!r}, EXAM)")
    return make_figure(name, exams, PlotChoice(**choice), width)


def show(exam: str, id: str, *, store: Store | str | Path = DEFAULT, **which: Any) -> QuestionView:
    """Return one question with its prompt, every drawing, and every mark with its reason.

    A notebook shows it with the pictures.

    Args:
        exam: The exam's name in the store.
        id: The question's id.
        store: Where the results are.
        **which: ``painters``, ``judges``, ``reading``, ``variant``, …; see `limner.groups`.
    """
    with using_store(store) as opened:
        body = describe_question(exam, id, store=opened, **which)
        return QuestionView(body, small_pictures(body, opened))


def mode_sorter(
    exam: str,
    store: Store,
    *,
    model: str,
    args: Mapping[str, Any] | None = None,
    prompts: Path | None = None,
    reading: str = "careful",
    on: str = "common",
    **which: Any,
) -> ModeSorter:
    """Return the sorter of wrong answers about painters' drawings; nothing is called yet.

    Raises:
        UsageError: The exam has no failure modes, several evaluators have marked, or nothing is wrong.
    """
    from .core.asks import Prompts
    from .core.images import Preparer
    from .models import open_model
    from .running.modes import ModeSorter, WrongDrawing
    from .running.setup import service_limits

    kind, marked = groups(exam, store=store, reading=reading, **which)
    if kind.modes is None:
        names = [each.name for each in exams.each() if each.modes is not None]
        raise UsageError(f"{exam} has no failure modes; exams that have some: {', '.join(names) or 'none'}")
    sides = comparables(marked, kind.protocol, checked_on(on))
    if len(sides) != 1:
        listed = ", ".join(f"'{side.evaluator.name}'" for side in sides)
        problem = f"was marked by several evaluators; name one with --judge: {listed}" if sides else "has no marks yet"
        raise UsageError(f"{exam} {problem}")
    (side,) = sides
    asked, wrong = [], []
    for group, entries in zip(side.groups, side.inside, strict=True):
        asked.append((group.name, sum(mark.value is not None for entry in entries for mark in entry.marks)))
        for entry in entries:
            if marks := tuple(kind.modes.wrong(entry.marks)):
                drawing = entry.drawing
                wrong.append(WrongDrawing(group.name, drawing.painter, entry.question, drawing.image, marks))
    if not wrong:
        raise UsageError(f"{exam}: no question was answered wrongly; there is nothing to sort")
    loaded = settings.load()
    chat_model = open_model(model, dict(args or {}), loaded, Preparer(store.blobs.get))
    return ModeSorter(
        exams.stored_name(exam), kind.modes, chat_model, Prompts(kind.modes.prompts, prompts), store,
        side.evaluator.name, asked, wrong, service_limits(loaded), side.notes,
    )  # fmt: skip
