"""Where scores vary (painter, question, seed, rater, repeat), and what to buy next. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from ..core.evaluator import by_evaluator
from ..core.protocol import Score
from .entries import Entry, Group
from .stats.components import Components, components
from .stats.types import Plain

PAINTER, QUESTION, BOTH, SEED = "painter", "question", "painter and question", "seed"
RATER, RATER_PAINTER = "rater", "rater and painter"
REPEAT, RATER_DRAWING = "judge repeat", "rater and drawing"
EFFECTS = (PAINTER, QUESTION, BOTH, SEED, REPEAT, RATER, RATER_PAINTER, RATER_DRAWING)
"""In the order of tables."""


@dataclass(frozen=True)
class Purchase(Plain):
    """What twice as much of something would gain.

    Attributes:
        what: Such as ``questions`` or ``raters``.
        error: The standard error of a painter's score now, as painters are compared.
        then: The same with twice as much; None where nothing stored tells.
        marks: How many times as many marks that takes.
    """

    who: str
    what: str
    error: float
    then: float | None
    marks: int = 2


def _rows(groups: Sequence[Group], score: Score) -> list[tuple[Group, Entry, float]]:
    return [
        (group, entry, value)
        for group in groups
        for entry in group.scored
        if (value := entry.scores.get(score.name)) is not None
    ]


def judge_components(mine: Sequence[Group], score: Score) -> Components:
    """Where one evaluator's scores of drawings vary."""
    rows = _rows(mine, score)
    effects: dict[str, list[Hashable]] = {
        PAINTER: [group.name for group, _, _ in rows],
        QUESTION: [entry.question.id for _, entry, _ in rows],
        BOTH: [(group.name, entry.question.id) for group, entry, _ in rows],
        SEED: [entry.drawing.id for _, entry, _ in rows],
    }
    return components([value for _, _, value in rows], effects, REPEAT)


def people_components(people: Sequence[Group], score: Score) -> Components:
    """Where people's scores of drawings vary."""
    rows = _rows(people, score)
    effects: dict[str, list[Hashable]] = {
        PAINTER: [group.name for group, _, _ in rows],
        QUESTION: [entry.question.id for _, entry, _ in rows],
        BOTH: [entry.drawing.id for _, entry, _ in rows],
        RATER: [group.evaluator.id for group, _, _ in rows],
        RATER_PAINTER: [(group.evaluator.id, group.name) for group, _, _ in rows],
    }
    return components([value for _, _, value in rows], effects, RATER_DRAWING)


def purchases(
    mine: Sequence[Group], people: Sequence[Group], by_judge: Components, by_people: Components
) -> tuple[Purchase, ...]:
    """What twice as much of each would gain: the error with which painters are compared, by generalisability theory."""
    entries = [entry for group in mine for entry in group.scored]
    painters = len({group.name for group in mine if group.scored}) or 1
    drawings, questions = len({e.drawing.id for e in entries}), len({e.question.id for e in entries})
    counts = {
        "questions": questions,
        "seeds": drawings / max(1, painters * questions),
        "repeats": len(entries) / max(1, drawings),
    }
    judge = _Design(by_judge.variances, {BOTH: ("questions",), SEED: ("questions", "seeds"), REPEAT: tuple(counts)})
    theirs = [entry for group in people for entry in group.scored]
    marked, raters = len({e.drawing.id for e in theirs}), len(by_evaluator(people))
    human = {"drawings": marked / painters, "raters": len(theirs) / max(1, marked)}
    person = _Design(
        by_people.variances,
        {BOTH: ("drawings",), RATER_PAINTER: ("pool",), RATER_DRAWING: ("drawings", "raters")},
    )
    found = [
        *judge.purchases("judge", counts, by_judge.unknown),
        *person.purchases("people", human | {"pool": raters}, {}),
    ]
    return tuple(
        sorted(found, key=lambda each: (each.then is None, (each.then or 0) / each.error if each.error else 1))
    )


@dataclass(frozen=True)
class _Design:
    """Which counts each component of a painter's error is divided by."""

    variances: Mapping[str, float]
    divided: Mapping[str, tuple[str, ...]]

    def error(self, counts: Mapping[str, float]) -> float:
        total = 0.0
        for name, by in self.divided.items():
            number = 1.0
            for each in by:
                number *= max(counts[each], 1e-9)
            total += self.variances.get(name, 0.0) / number
        return sqrt(total)

    def purchases(self, who: str, counts: Mapping[str, float], unknown: Mapping[str, str]) -> list[Purchase]:
        now, found = self.error(counts), []
        for what in counts:
            if what == "pool":
                continue
            more = {**counts, what: 2 * counts[what]}
            if what == "raters":
                more["pool"] = 2 * counts["pool"]
            # Nothing tells what a second one would bring where each has one.
            blind = (what == "seeds" and SEED in unknown) or (what == "repeats" and counts["repeats"] < 1.5)
            found.append(Purchase(who, what, now, None if blind else self.error(more)))
        return found
