"""Painters' scores corrected for a judge's errors by what people marked in a study, with intervals that hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.evaluator import by_evaluator
from ..core.protocol import Protocol
from .by_error_rates import learnt_rates, sums_corrected
from .comparable import Comparable
from .entries import Entry, Group
from .human_marks import Frame, judged, marked_by_people, seen_twice
from .parts import tops
from .standings import Standing
from .stats.prediction_powered import (
    HumanEstimate,
    HumanInterval,
    Judged,
    derived_known,
    difference,
    estimate,
    human_interval,
)
from .stats.types import Plain


@dataclass(frozen=True)
class Corrected(Plain):
    """A painter's corrected scores.

    Attributes:
        study: Whose marks they rest on.
        ppi: Score -> prediction-powered number; see `limner.scoring.stats.prediction_powered`.
        rogan_gladen: Score -> number from the judge's error rates; see `limner.scoring.stats.rogan_gladen`.
        differences: Other painter -> score -> how much better this one is by PPI, paired by question.
        rates: Sort of criterion -> the judge's sensitivity and specificity, and on how many decisions they rest.
    """

    study: str
    ppi: Mapping[str, HumanInterval]
    rogan_gladen: Mapping[str, HumanInterval]
    differences: Mapping[str, Mapping[str, HumanInterval]]
    rates: Mapping[str, Mapping[str, float | None]]


def with_corrections(rows: Sequence[Standing], people: Sequence[Group], frame: Frame) -> list[Standing]:
    """The same rows with their corrected scores, on the questions that painters are compared on."""
    marked = marked_by_people(people, frame)
    found: dict[tuple[str, str], Corrected] = {}
    for side in (members[0].compared for members in by_evaluator(rows)):
        for name, corrected in _side(side, marked, frame).items():
            found[side.evaluator.id, name] = corrected
    return [replace(row, corrected=found[row.evaluator.id, row.name]) for row in rows]


def _side(side: Comparable, marked: Mapping[str, Sequence[Entry]], frame: Frame) -> dict[str, Corrected]:
    """Painter's row -> its corrected scores under one evaluator."""
    protocol = side.protocol
    drawn = {group.name: seen_twice(side.basis(group), marked, frame, protocol) for group in side.everyone}
    # How the judge errs is learnt from all drawings that people marked, whoever drew them.
    whole = seen_twice((entry for group in side.everyone for entry in group.scored), marked, frame, protocol)
    places = {cluster: place for place, cluster in enumerate(sorted({one.cluster for one in whole}))}
    rates = learnt_rates([one for one in whole if one.people], places, protocol)
    ours = {name: judged(mine, places, frame) for name, mine in drawn.items()}
    told = {sort: each.to_json() for sort, each in rates.by_sort.items()}
    found = {}
    for name, mine in drawn.items():
        others = {other: _differences(ours[name], ours[other], protocol) for other in drawn if other != name}
        sums = sums_corrected(mine, places, rates, protocol)
        found[name] = Corrected(frame.study, _powered(ours[name], protocol), sums, others, told)
    return found


def _powered(mine: Mapping[str, Judged], protocol: Protocol[Any]) -> dict[str, HumanInterval]:
    best = tops(protocol)
    known = derived_known({name: estimate(each) for name, each in mine.items()}, protocol.derive)
    found = {name: human_interval(known.get(name), best[name]) for name in best if name in known or name in mine}
    return {
        name: each if each.value is not None else replace(each, n=len(mine[name].judge)) for name, each in found.items()
    }


def _differences(
    mine: Mapping[str, Judged], other: Mapping[str, Judged], protocol: Protocol[Any]
) -> dict[str, HumanInterval]:
    both: dict[str, HumanEstimate | None] = {
        name: difference(mine[name], other[name]) for name in mine if name in other
    }
    known = derived_known(both, protocol.derive)
    return {name: human_interval(known[name]) for name in tops(protocol) if name in known}
