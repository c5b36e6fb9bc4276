"""What the marks say, from Python: the same numbers as on the terminal, as tables, frames and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from .. import exams
from ..core.errors import NoStore, UsageError
from ..core.evaluator import SHOWN
from ..core.protocol import checked_reading
from ..report.tables.model import Table
from ..report.tables.question import describe_question, small_pictures
from ..report.tables.results import (
    Comparisons,
    ExamComparison,
    JudgeAgreement,
    QuestionView,
    Standings,
    exam_comparison,
    judge_agreement,
)
from ..scoring import compare as comparing
from ..scoring import standings
from ..scoring.corrected import with_corrections
from ..scoring.groups import find_groups, stored_exam, which_questions
from ..store import DEFAULT, Store
from ..store.store import open_store as opened

if TYPE_CHECKING:
    from ..report.plots import PlotFigure


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
    """Every painter's numbers under every evaluator, the best first and controls last: a list of `Standing`.

    It is shown as `limner scores` shows it; ``to_polars()`` and ``to_pandas()`` give its numbers as frames.

    Args:
        exam: The exam's name in the store.
        by: Tags to break the numbers down by; ``dimension`` lists the exam's dimensions.
        reading: How stored replies are read: ``careful``, ``paper`` or ``release``.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        on: The questions painters are compared on: those all of them have (``common``), or each its own (``all``).
        sort: What rows are ordered by in place of the main score: another, ``name``, ``coverage`` or ``cost``.
        study: Also correct the scores of judges by what people marked in this study; see `limner.scoring.corrected`.
        store: Where the results are.
        **which: ``painters``, ``without``, ``judges``, ``variant``, ``selection``, …; see `groups`.
    """
    with opened(store) as found_store:
        kind = stored_exam(exam, found_store).kind
        how: dict[str, Any] = {"reading": reading, "constants": constants}
        if study is not None:
            from ..study.answers import people_of

            people, frame = people_of(found_store, exam, study, reading, constants)
        _, found = find_groups(exam, store=found_store, brief=True, **how, **which)
        protocol = exams.kind(kind).protocol.tuned(constants or {})
        tags = {tag for group in found for entry in group.entries for tag in entry.question.tags} if by else set()
        for tag in by:
            if found and tag not in tags and not (tag == "dimension" and protocol.dimensions):
                raise UsageError(f"--by {tag}: there is: {', '.join(sorted(tags | {'dimension'}))}")
        name, read = exams.name_of(exam), checked_reading(reading)
        rows = standings(name, found, protocol, read, by, which_questions(on), sort)
    if study is None:
        return Standings(rows, kind)
    shown = [row for row in rows if row.evaluator.kind in SHOWN]
    return Standings(with_corrections(shown, people, frame), kind, corrected=True)


@overload
def compare(
    exam: str,
    *,
    score: str | None = None,
    by: str | None = None,
    gap: float | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    on: str = "common",
    store: Store | str | Path = DEFAULT,
    **which: Any,
) -> Comparisons: ...


@overload
def compare(
    exam: list[str] | tuple[str, ...],
    *,
    score: str | None = None,
    reading: str = "careful",
    store: Store | str | Path = DEFAULT,
    painters: Sequence[str] = (),
    judges: Sequence[str] = (),
) -> ExamComparison: ...


def compare(
    exam: str | list[str] | tuple[str, ...], *, store: Store | str | Path = DEFAULT, **how: Any
) -> Comparisons | ExamComparison:
    """Painters against each other, on the questions that all of them have: a list with a `Comparison` per evaluator.

    Args:
        exam: The exam's name in the store. Several names: do these exams put painters in the same order?
        store: Where the results are.
        **how: ``score``, ``by``, ``gap``, ``reading``, ``constants``, ``on``, ``painters``, ``without``, ``judges``,
            ``selection``, …; see `limner.scoring.compare.painters`. For several exams ``score``, ``reading``,
            ``painters`` and ``judges``.
    """
    with opened(store) as found:
        if isinstance(exam, str):
            return Comparisons(comparing.painters(exam, store=found, **how))
        return exam_comparison(comparing.exams(list(exam), store=found, **how))


def agree(
    exam: str,
    *,
    score: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    store: Store | str | Path = DEFAULT,
    study: str | None = None,
    by: Sequence[str] = (),
    judges: Sequence[str] = (),
    **which: Any,
) -> JudgeAgreement:
    """How far judges, people and metrics agree on the same drawings; see `limner.scoring.compare.judges`.

    Args:
        exam: The exam's name in the store.
        score: The score of drawings and painters; by default the first that all judges settle.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        store: Where the marks are.
        study: Only people of this study, and only its drawings.
        by: Tags for whose values there are numbers apart; ``painter`` for each painter's drawings.
        judges: Only these: judges, metrics, persons (``person/anna``), people of a study (``people/pilot``).
        **which: ``painters``, ``variant``, ``options``, ``selection``, …; see `limner.groups`.
    """
    how: dict[str, Any] = {"score": score, "reading": reading, "constants": constants, "study": study}
    return judge_agreement(comparing.judges(exam, store=store, by=by, judges=judges, **how, **which))


def table(
    name: str,
    *,
    store: Store | str | Path | None = None,
    exam: str | None = None,
    published: bool = True,
    intervals: bool = True,
    reading: str = "careful",
    on: str = "common",
    section: str | None = None,
    study: str | None = None,
    **which: Any,
) -> Table:
    """A table of a benchmark's paper: the published figures, and beside them those of a store.

    Args:
        name: Such as ``genexam:table2``; `limner table` lists them all.
        store: Where the results are; by default ``limner-store``, which need not be there.
        exam: The exam's name in the store, if it has several exams of this kind.
        published: Whether to show the paper's figures.
        intervals: Whether to show intervals.
        reading: How stored replies are read.
        on: The questions a store's painters are compared on: ``common`` or ``all``.
        section: Of a table with sections, only this one.
        study: Compare judges with the people of this study.
        **which: ``painters``, ``without``, ``judges``, ``variant``, …; see `limner.groups`.
    """
    from ..report.tables.paper import TableChoice, build, find

    layout = find(name)
    how: dict[str, Any] = {"exam": exam, "section": section, "study": study, "on": on, "reading": reading}
    choice = TableChoice(published, intervals, which=which, **how)
    try:
        with opened(DEFAULT if store is None else store) as found:
            return build(layout, found, choice)
    except NoStore:
        if store is not None or not published:
            raise
    return build(layout, None, choice)


def plot(name: str, *exams: str, width: str = "double", **choice: Any) -> PlotFigure:
    """A plot of an exam's scores, several exams below each other; in a notebook it is shown.

    Args:
        name: Such as ``categories`` or ``heatmap``; `limner plot` lists them all.
        *exams: Their names in the store.
        width: ``double`` or ``single``: both columns of a paper, or one.
        **choice: ``store``, ``judges``, ``painters``, ``without``, ``reading``, ``score``, ``by``, ``on``, …; see
            `limner.report.plots.PlotChoice`.

    Raises:
        UsageError: There is nothing to show, with what to run; or matplotlib is missing.
    """
    from ..report.plots import PlotChoice, make_figure

    if not exams:
        raise UsageError(f"name the exam: limner.plot({name!r}, EXAM)")
    return make_figure(name, exams, PlotChoice(**choice), width)


def show(exam: str, id: str, *, store: Store | str | Path = DEFAULT, **which: Any) -> QuestionView:
    """One question: its prompt, every drawing, every mark with its reason; in a notebook with the pictures.

    Args:
        exam: The exam's name in the store.
        id: The question's.
        store: Where the results are.
        **which: ``painters``, ``judges``, ``reading``, ``variant``, …; see `limner.groups`.
    """
    with opened(store) as found:
        body = describe_question(exam, id, store=found, **which)
        return QuestionView(body, small_pictures(body, found))
