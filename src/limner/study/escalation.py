"""Which drawings a judge leaves to people: those on which it is not proved to agree with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .. import exams
from ..core.errors import UsageError
from ..core.evaluator import by_evaluator
from ..scoring.advice import Advice, advise
from ..scoring.entries import Group
from ..scoring.escalation import Wanted, escalation
from ..scoring.groups import find_groups
from ..store import DEFAULT, Store
from ..store.open import open_store
from .people import people_of


@dataclass(frozen=True)
class Escalated:
    """A drawing that is left to people, and why."""

    drawing: str
    reason: str


def escalated(
    exam: str,
    evaluator: str,
    *,
    store: Store | str | Path = DEFAULT,
    study: str | None = None,
    reading: str = "careful",
    wanted: Wanted | None = None,
) -> list[Escalated]:
    """The drawings on which an evaluator may not decide alone and that nobody has marked yet, the least sure first.

    Args:
        exam: The exam's name in the store.
        evaluator: A judge or a panel, as ``--judge`` names it.
        store: Where the marks are.
        study: Whose marks say how far it may be trusted; by default those of all studies of the exam.
        reading: How stored replies are read.
        wanted: What is asked of it.

    Raises:
        UsageError: The name stands for several evaluators, or people have marked nothing yet.
    """
    wanted = wanted or Wanted()
    with open_store(store) as opened:
        people, frame = people_of(opened, exam, study, reading)
        kind, named = find_groups(exam, store=opened, reading=reading, judges=[evaluator])
        _, everyone = find_groups(exam, store=opened, reading=reading)
    sides = by_evaluator(named)
    if len(sides) != 1:
        listed = ", ".join(repr(side[0].evaluator.name) for side in sides)
        raise UsageError(f"--escalated {evaluator}: name one evaluator: {listed}")
    found = escalation(sides[0][0].evaluator, _whole(everyone, named), people, frame, exams.kind(kind).protocol, wanted)
    marked = {entry.drawing.id for group in people for entry in group.scored}
    least = found.threshold.value
    why = found.threshold.reason or f"below {least:.2f}, from where on it agrees with people on {wanted.agreement:.0%}"
    return [Escalated(id, f"{found.basis} {found.confidence[id]:.2f}: {why}") for id in found.left if id not in marked]


def _whole(everyone: list[Group], named: list[Group]) -> list[Group]:
    """Both together, each once."""
    ids = {group.evaluator.id for group in everyone}
    return [*everyone, *(group for group in named if group.evaluator.id not in ids)]


def advice(
    exam: str,
    study: str,
    *,
    store: Store | str | Path = DEFAULT,
    reading: str = "careful",
    judges: tuple[str, ...] = (),
    wanted: Wanted | None = None,
) -> list[Advice]:
    """What a study says about each judge and panel: may it replace people, what to buy next, where to ask a person.

    Raises:
        UsageError: People have marked nothing in the study, or there is no such score or judge.
    """
    with open_store(store) as opened:
        people, frame = people_of(opened, exam, study, reading)
        kind, everyone = find_groups(exam, store=opened, reading=reading)
        named = find_groups(exam, store=opened, reading=reading, judges=judges)[1] if judges else everyone
    shown = {group.evaluator.id for group in named}
    found = advise(_whole(everyone, named), people, frame, exams.kind(kind).protocol, wanted or Wanted(), shown)
    return found
