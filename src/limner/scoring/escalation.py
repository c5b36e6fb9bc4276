"""Where a judge may decide alone, and which drawings are left to people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..core.errors import UsageError
from ..core.evaluator import Evaluator
from ..core.protocol import Protocol, Score
from .confidence import confidences
from .entries import Group
from .human_marks import Frame, marked_by_people
from .stats.selective import Threshold, threshold
from .stats.types import NEAR

EPS = 0.15
"""What people may be better by: the paper's number for skilled raters; 0.2 for experts, 0.1 for crowds."""


@dataclass(frozen=True)
class Wanted:
    """What is asked of a judge.

    Attributes:
        score: The score of drawings; the exam's first by default.
        eps: See `EPS`.
        agreement: How often it is to agree with people where it decides alone.
        certainty: How sure that is to be.
        within: The judge agrees on a drawing where its score is within this share of the scale of people's median.
    """

    score: str | None = None
    eps: float = EPS
    agreement: float = 0.9
    certainty: float = 0.95
    within: float = 0.1


@dataclass(frozen=True)
class Escalation:
    """Where one evaluator may decide, and which drawings are left to people.

    Attributes:
        confidence: Drawing -> how sure the evaluator is.
        basis: What that rests on.
    """

    threshold: Threshold
    confidence: Mapping[str, float]
    basis: str

    @property
    def left(self) -> list[str]:
        """The drawings on which it may not decide alone, the least sure first."""
        least = self.threshold.value
        ids = sorted(self.confidence, key=lambda id: (self.confidence[id], id))
        return [id for id in ids if least is None or self.confidence[id] < least]


def chosen_score(protocol: Protocol[Any], wanted: str | None) -> Score:
    """The score that drawings are compared by.

    Raises:
        UsageError: There is none of that name.
    """
    known = {score.name: score for score in protocol.scored}
    if wanted is not None and wanted not in known:
        raise UsageError(f"--score {wanted}: there is: {', '.join(known)}")
    return known[wanted] if wanted is not None else next(iter(known.values()))


def escalation(
    evaluator: Evaluator,
    everyone: Sequence[Group],
    people: Sequence[Group],
    frame: Frame,
    protocol: Protocol[Any],
    wanted: Wanted,
) -> Escalation:
    """Where the evaluator may decide alone, by what people marked of the same drawings.

    Args:
        evaluator: Whose marks.
        everyone: What evaluators marked; a panel's members must be among them.
        people: What people marked.
        frame: How their drawings were chosen.
        protocol: The exam's.
        wanted: What is asked of it.
    """
    score = chosen_score(protocol, wanted.score)
    mine = [group for group in everyone if group.evaluator.id == evaluator.id]
    members = [group for group in everyone if group.evaluator.id in (evaluator.setup.get("members") or ())]
    sure, basis = confidences(mine, members, score, protocol)
    first = {entry.drawing.id: entry for group in mine for entry in reversed(group.scored)}
    certain, same, questions, weights = list[float](), list[bool](), list[str](), list[float]()
    for id, theirs in sorted(marked_by_people(people, frame).items()):
        given = [value for entry in theirs if (value := entry.scores.get(score.name)) is not None]
        its = first[id].scores.get(score.name) if id in first else None
        if given and its is not None:
            certain.append(sure[id])
            same.append(abs(its - median(given)) <= wanted.within * score.top + NEAR)
            questions.append(protocol.cluster(first[id].question))
            weights.append(1 / frame.inclusion.get(id, 1.0))
    least = threshold(certain, same, questions, weights, wanted.agreement, wanted.certainty)
    return Escalation(least, sure, basis)
