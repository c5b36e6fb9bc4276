"""Painters' scores corrected for a judge's errors by what people marked in a study, with intervals that hold. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..core.evaluator import by_evaluator
from ..core.protocol import Protocol
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
        differences: Other painter -> score -> how much better this one is by PPI, paired by question.
    """

    study: str
    ppi: Mapping[str, HumanInterval]
    differences: Mapping[str, Mapping[str, HumanInterval]]


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
    clusters = sorted({one.cluster for mine in drawn.values() for one in mine})
    places = {cluster: place for place, cluster in enumerate(clusters)}
    ours = {name: judged(mine, places, frame) for name, mine in drawn.items()}
    found = {}
    for name in drawn:
        others = {other: _differences(ours[name], ours[other], protocol) for other in drawn if other != name}
        found[name] = Corrected(frame.study, _powered(ours[name], protocol), others)
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
