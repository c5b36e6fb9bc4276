"""Has a judge moved? The same gold set asked again, looked at question by question. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..scoring.stats import Interval, clustered_share, sequential_moves
from ..scoring.stats.types import Plain

DRIFT_ALPHA = 0.01
"""How seldom a judge that has not moved is said to have, however often one looks in one re-examination."""

Answers = Mapping[tuple[str, str], bool]
"""Picture and criterion -> whether it is met; what was not decided is left out."""


@dataclass(frozen=True)
class GoldDifference:
    """What changed on one question: the mean over the answers given both times, as +1, 0 or -1 each."""

    question: str
    answers: int
    value: float


@dataclass(frozen=True)
class Drift(Plain):
    """Whether a judge has moved.

    Attributes:
        moved: Whether the test says so.
        evidence: The test's capital; a move is called at 1 / alpha.
        after: The number of questions looked at when it was called, or in all.
        yes: By how much the share of yes went up or down.
        scores: The same for each score of the exam.
    """

    moved: bool
    evidence: float
    after: int
    yes: Interval
    scores: Mapping[str, Interval]


def gold_difference(question: str, old: Answers, new: Answers) -> GoldDifference | None:
    """What changed on one question; None where nothing was answered both times."""
    both = old.keys() & new.keys()
    if not both:
        return None
    return GoldDifference(question, len(both), sum(int(new[key]) - int(old[key]) for key in both) / len(both))


def has_moved(differences: Iterable[GoldDifference]) -> tuple[bool, float, int]:
    """Whether the judge has moved, the evidence, and after how many questions; stops at the first sure sign."""
    evidence, count = 1.0, 0
    values = (one.value for one in differences)
    for count, evidence in enumerate(sequential_moves(values), 1):
        if evidence >= 1 / DRIFT_ALPHA:
            return True, evidence, count
    return False, evidence, count


def drift(
    differences: Sequence[GoldDifference], scores: Mapping[str, Sequence[tuple[str, float]]] | None = None
) -> Drift:
    """All of it: the test, the move with its interval, and what it does to scores (question and difference of each)."""
    moved, evidence, after = has_moved(differences)
    yes = clustered_share((one.question, one.value) for one in differences).interval(-1.0)
    by_score = {name: clustered_share(found).interval(-1e9, 1e9) for name, found in (scores or {}).items()}
    return Drift(moved, evidence, after, yes, by_score)
