"""What painters got wrong, to be sorted into an exam's modes of failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import exams
from ..calls import Limits
from ..core import settings
from ..core.errors import UsageError
from ..core.images import Preparer
from ..core.prompts import Prompts
from ..models import open_model
from ..running.modes import ModeSorter, WrongDrawing
from ..running.setup import service_limits
from ..scoring import comparables
from ..scoring.groups import find_groups, which_questions
from ..store import Store


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
    kind_name, found = find_groups(exam, store=store, reading=reading, **which)
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
