"""What a study says about a judge: may it replace people, are more marks worth it, where to ask a person. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.evaluator import by_evaluator
from ..core.marks import values
from ..core.protocol import Protocol, Score
from .entries import Group
from .escalation import Wanted, chosen_score, escalation
from .human_marks import Frame, judged, marked_by_people, seen_twice
from .purchases import Purchase, judge_components, people_components, purchases
from .stats.alternative_annotator import AlternativeTest, alternative_annotator
from .stats.components import Components
from .stats.prediction_powered import Judged, foreseen
from .stats.selective import Threshold
from .stats.types import Plain


@dataclass(frozen=True)
class Advice(Plain):
    """What a study says about one evaluator.

    Attributes:
        alternative: May it replace people?
        judge: Where its scores vary.
        people: Where people's do.
        purchases: What to buy next, the best first.
        widths: Painter -> human-marked drawings -> half width of the corrected score's interval; the first is now.
        threshold: From which confidence on it may decide alone.
        confidence: What its confidence is.
        decides: Of its drawings, those it may decide alone.
        drawings: Drawings it marked.
    """

    evaluator: str
    study: str
    score: str
    alternative: AlternativeTest
    judge: Components
    people: Components
    purchases: tuple[Purchase, ...]
    widths: Mapping[str, Mapping[int, float]]
    threshold: Threshold
    confidence: str
    decides: int
    drawings: int


def advise(
    groups: Sequence[Group],
    people: Sequence[Group],
    frame: Frame,
    protocol: Protocol[Any],
    wanted: Wanted,
    shown: Container[str],
) -> list[Advice]:
    """One for each evaluator among `groups` whose id is among `shown`; members of panels must be among the groups."""
    score = chosen_score(protocol, wanted.score)
    sides = [side for side in by_evaluator(groups) if side[0].evaluator.id in shown]
    return [_advice(side, groups, people, frame, protocol, score, wanted) for side in sides]


def _advice(
    mine: Sequence[Group],
    everyone: Sequence[Group],
    people: Sequence[Group],
    frame: Frame,
    protocol: Protocol[Any],
    score: Score,
    wanted: Wanted,
) -> Advice:
    evaluator, marked = mine[0].evaluator, marked_by_people(people, frame)
    found = escalation(evaluator, everyone, people, frame, protocol, wanted)
    by_judge, by_people = judge_components(mine, score), people_components(people, score)
    widths = {}
    for group in mine:
        drawn = seen_twice(group.scored, marked, frame, protocol)
        places = {cluster: place for place, cluster in enumerate(sorted({one.cluster for one in drawn}))}
        if (part := judged(drawn, places, frame).get(score.name)) is not None:
            widths[group.name] = _widths(part)
    return Advice(
        evaluator.name,
        frame.study,
        score.name,
        _alternative(mine, people, protocol, wanted.eps),
        by_judge,
        by_people,
        purchases(mine, people, by_judge, by_people),
        widths,
        found.threshold,
        found.basis,
        len(found.confidence) - len(found.left),
        len(found.confidence),
    )


def _alternative(
    mine: Sequence[Group], people: Sequence[Group], protocol: Protocol[Any], eps: float
) -> AlternativeTest:
    def answers(groups: Sequence[Group]) -> dict[str, Mapping[str, int]]:
        return {entry.drawing.id: values(entry.marks) for group in groups for entry in reversed(group.scored)}

    theirs = {side[0].evaluator.name: answers(side) for side in by_evaluator(people)}
    clusters = {entry.drawing.id: protocol.cluster(entry.question) for group in mine for entry in group.scored}
    return alternative_annotator(answers(mine), theirs, _alike, eps, clusters)


def _alike(one: Mapping[str, int], others: Sequence[Mapping[str, int]]) -> float:
    """The share of marks that are the same, of those that both give, averaged over the others."""
    shares = []
    for other in others:
        both = one.keys() & other.keys()
        shares.append(sum(one[name] == other[name] for name in both) / len(both) if both else 0.0)
    return sum(shares) / len(shares)


def _widths(part: Judged) -> dict[int, float]:
    marked, whole = int((~np.isnan(part.human)).sum()), len(part.human)
    sizes = [marked, *(n for n in (2 * marked, 4 * marked) if n < whole), whole] if marked else []
    found = {n: foreseen(part, n) for n in dict.fromkeys(sizes)}
    return {n: width for n, width in found.items() if width is not None}
