"""The Python API: what the command line calls, in a few functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import exams
from .calls import Limits
from .core import settings
from .core.errors import UsageError
from .core.evaluator import SHOWN
from .core.exam import Selection
from .core.images import Preparer
from .core.prompts import Prompts
from .core.protocol import checked_reading
from .models import open_model
from .running.modes import ModeSorter, WrongDrawing
from .running.progress import Progress
from .running.runner import Runner
from .running.setup import Asking, service_limits
from .running.setup import make_plan as plan
from .scoring import Standing, comparables, standings
from .scoring.compare import judges as agree
from .scoring.corrected import with_corrections
from .scoring.groups import find_groups as groups
from .scoring.groups import which_questions
from .store import DEFAULT, Store
from .store.open import open_store
from .study.people import people_of

__all__ = ["Asking", "Sorting", "agree", "groups", "plan", "run", "scores", "sorting"]


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
        judges: Such as ``ocr`` or ``openai/gpt-6-sol``.
        data: The exam's data folder; not needed once the store has the exam.
        store: A folder or database URL.
        selection: Which questions; all by default.
        asking: Everything about the judges beyond their names; `judges` go before its own.
        watch: Called after every step.
        **how: ``strategies``, ``strategy_options``, ``seeds``, ``repeats``, ``concurrency``, ``retry_failed``,
            ``draw``; see `plan` and `limner.running.plan.Plan`.
    """
    with open_store(store, create=True) as found:
        asking = asking or Asking()
        if judges:
            asking = replace(asking, judges=judges)
        made = plan(exam, found, data=data, painters=painters, asking=asking, selection=selection, **how)
        return Runner(made, found, watch).run()


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
) -> list[Standing]:
    """Every painter's numbers under every evaluator, the best first and controls last.

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
    if study is not None:
        with open_store(store) as opened:
            people, frame = people_of(opened, exam, study, reading, constants)
            rows = scores(exam, by=by, reading=reading, constants=constants, on=on, sort=sort, store=opened, **which)
        return with_corrections([row for row in rows if row.evaluator.kind in SHOWN], people, frame)
    kind, found = groups(exam, reading=reading, constants=constants, store=store, **which)
    protocol = exams.kind(kind).protocol.tuned(constants or {})
    tags = {tag for group in found for entry in group.entries for tag in entry.question.tags}
    for tag in by:
        if found and tag not in tags and not (tag == "dimension" and protocol.dimensions):
            raise UsageError(f"--by {tag}: there is: {', '.join(sorted(tags | {'dimension'}))}")
    return standings(exams.name_of(exam), found, protocol, checked_reading(reading), by, which_questions(on), sort)


@dataclass(frozen=True)
class Sorting:
    """What is to be sorted into an exam's modes of failure, and who sorts it.

    Attributes:
        asked: Painters in their order, each with how many questions its judge answered.
        drawings: The drawings with wrong answers.
        judge: Who answered.
        notes: On which questions painters are compared, and who is left out.
    """

    sorter: ModeSorter
    asked: tuple[tuple[str, int], ...]
    drawings: tuple[WrongDrawing, ...]
    judge: str
    limits: Mapping[str, Limits]
    notes: tuple[str, ...] = ()


def sorting(
    exam: str,
    store: Store,
    *,
    model: str,
    args: Mapping[str, Any] | None = None,
    prompts: Path | None = None,
    reading: str = "careful",
    on: str = "common",
    **which: Any,
) -> Sorting:
    """The wrong answers about painters' drawings, and what sorts them by mode; nothing is called yet.

    Raises:
        UsageError: The exam has no modes of failure, several evaluators have marked, or nothing is wrong.
    """
    kind_name, found = groups(exam, store=store, reading=reading, **which)
    kind = exams.kind(kind_name)
    if kind.modes is None:
        there = [each.name for each in exams.each() if each.modes is not None]
        raise UsageError(f"{exam} has no modes of failure; there are some in {', '.join(there) or 'no exam'}")
    sides = comparables(found, kind.protocol, which_questions(on))
    if len(sides) != 1:
        listed = ", ".join(f"'{side.evaluator.name}'" for side in sides)
        said = f"was marked by several evaluators; name one with --judge: {listed}" if sides else "has no marks yet"
        raise UsageError(f"{exam} {said}")
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
    known = settings.load()
    mind = open_model(model, dict(args or {}), known, Preparer(store.blobs.get))
    sorter = ModeSorter(exams.name_of(exam), kind.modes, mind, Prompts(kind.modes.prompts, prompts), store)
    return Sorting(sorter, tuple(asked), tuple(wrong), side.evaluator.name, service_limits(known), tuple(side.notes))
