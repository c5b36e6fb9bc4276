"""Scores as weighted sums of marks, each sort corrected by how often the judge errs on it (Rogan-Gladen). Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.marks import Criterion
from ..core.protocol import Protocol
from .human_marks import SeenTwice, question_shares
from .linear import SumWeights, weights_of
from .parts import tops
from .stats.prediction_powered import HumanEstimate, HumanInterval, derived_known, human_interval
from .stats.rogan_gladen import ErrorRates, Sum, corrected_sum, error_rates, weakest
from .stats.types import Floats

NOT_A_SUM = "this score is no weighted sum of marks"


@dataclass(frozen=True)
class Learnt:
    """How a judge errs on each sort of decision, by people's marks.

    Attributes:
        drawings: How many drawings people marked of those that the judge did.
        questions: Questions of these.
    """

    by_sort: Mapping[str, ErrorRates]
    drawings: int
    questions: int


def learnt_rates(drawn: Sequence[SeenTwice], places: Mapping[str, int], protocol: Protocol[Any]) -> Learnt:
    """The judge's error rates from drawings that people marked too; `places` are those of clusters."""
    rows: dict[str, list[tuple[int, float, float, float]]] = {}
    for one in drawn:
        for criterion in protocol.criteria(one.entry.question):
            judge, human = one.marks.get(criterion.id), one.people.get(criterion.id)
            if judge is not None and human is not None:
                for value in range(1, criterion.top + 1):
                    said, meant = (_reaching(given, criterion, value) for given in (judge, human))
                    row = (places[one.cluster], 1 / one.inclusion, said, meant)
                    rows.setdefault(_sort(criterion, value), []).append(row)
    found = {}
    for sort, listed in sorted(rows.items()):
        weights, judges, humans = (np.array([row[place] for row in listed]) for place in (1, 2, 3))
        found[sort] = error_rates(np.array([row[0] for row in listed]), len(places), weights, judges, humans)
    return Learnt(found, len(drawn), len({one.cluster for one in drawn}))


def _sort(criterion: Criterion, value: int) -> str:
    """A sort of criterion; one with several values has a decision for each: whether the mark reaches it."""
    return criterion.kind if criterion.top == 1 else f"{criterion.kind} {value} or more"


def _reaching(given: Sequence[float], criterion: Criterion, value: int) -> float:
    """The share of several marks of one criterion that reach a value."""
    return sum(share * criterion.top > value - 0.5 for share in given) / len(given)


def sums_corrected(
    drawn: Sequence[SeenTwice], places: Mapping[str, int], learnt: Learnt, protocol: Protocol[Any]
) -> dict[str, HumanInterval]:
    """A painter's scores, those that are weighted sums of marks; for the others why there is none."""
    there = sorted({name for one in drawn for name in one.judge})
    alive, weights = set(there), []
    for one in drawn:
        # A number that one drawing shows to be no sum of marks is none for the painter.
        mine = weights_of(one.entry, protocol, alive)
        alive = {name for name in alive if name in mine or name not in one.judge}
        weights.append(mine)
    known: dict[str, HumanEstimate | None] = dict.fromkeys(there)
    why: dict[str, str] = {}
    for name in sorted(alive):
        kept = [place for place, one in enumerate(drawn) if name in one.judge]
        total = _sum([drawn[place] for place in kept], [weights[place][name] for place in kept], places, protocol)
        if (reason := weakest(learnt.by_sort, sorted(total.yes))) is not None:
            why[name] = reason
        else:
            known[name] = corrected_sum(total, learnt.by_sort, learnt.drawings, learnt.questions)
    found, best = derived_known(known, protocol.derive), tops(protocol)
    told = {name: human_interval(found[name], best[name]) for name in best if name in found}
    for name in best:
        if name not in told and name in there:
            reason = why.get(name, NOT_A_SUM)
            told[name] = HumanInterval(n=len(drawn), human=learnt.drawings, reason=reason)
    return {name: told[name] for name in best if name in told}


def _sum(
    drawn: Sequence[SeenTwice], weights: Sequence[SumWeights], places: Mapping[str, int], protocol: Protocol[Any]
) -> Sum:
    constant, bottoms = np.zeros(len(places)), np.zeros(len(places))
    yes: dict[str, Floats] = {}
    most: dict[str, Floats] = {}
    for one, mine, part in zip(drawn, weights, question_shares(drawn), strict=True):
        at, kinds = places[one.cluster], {each.id: each for each in protocol.criteria(one.entry.question)}
        constant[at] += part * mine.constant
        bottoms[at] += part * mine.bottom
        for (criterion, value), gain in mine.steps.items():
            sort = _sort(kinds[criterion], value)
            said = _reaching(one.marks[criterion], kinds[criterion], value)
            yes.setdefault(sort, np.zeros(len(places)))[at] += part * gain * said
            most.setdefault(sort, np.zeros(len(places)))[at] += part * gain
    return Sum(constant, yes, most, bottoms, len(drawn))
