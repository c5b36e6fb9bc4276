"""Painters' scores corrected for a judge's errors with people's marks from a study, with valid intervals. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.evaluator import group_by_evaluator
from ..core.marks import Mark
from ..core.protocol import Protocol
from .comparable import Comparable
from .compare.opinions import mean_parts, most_frequent
from .entries import Entry, Group
from .numbers import tops
from .powered import (
    HumanEstimate,
    HumanInterval,
    Judged,
    derive_known,
    estimate_difference,
    estimate_mean,
    human_interval,
)
from .standings import Standing
from .stats.paired import holm
from .stats.resample import Floats, Plain


@dataclass(frozen=True)
class Corrected(Plain):
    """A painter's corrected scores.

    Attributes:
        study: The study whose marks they are based on.
        ppi: Score -> prediction-powered estimate; see `limner.scoring.powered`.
        differences: Other painter -> score -> this painter's PPI estimate minus the other's, paired by question.
    """

    study: str
    ppi: Mapping[str, HumanInterval]
    differences: Mapping[str, Mapping[str, HumanInterval]]


def with_corrections(rows: Sequence[Standing], people: Sequence[Group], frame: StudyFrame) -> list[Standing]:
    """Return the rows with their corrected scores, on the questions that painters are compared on."""
    marked = marked_by_people(people, frame)
    corrections: dict[tuple[str, str], Corrected] = {}
    for side in (members[0].compared for members in group_by_evaluator(rows)):
        for name, corrected in _side(side, marked, frame).items():
            corrections[side.evaluator.id, name] = corrected
    return [replace(row, corrected=corrections[row.evaluator.id, row.name]) for row in rows]


def _side(side: Comparable, marked: Mapping[str, Sequence[Entry]], frame: StudyFrame) -> dict[str, Corrected]:
    """Return the corrected scores of each painter under one evaluator, by row name."""
    protocol = side.protocol
    drawn = {group.name: judged_drawings(side.basis(group), marked, frame, protocol) for group in side.everyone}
    clusters = sorted({drawing.cluster for mine in drawn.values() for drawing in mine})
    places = {cluster: place for place, cluster in enumerate(clusters)}
    ours = {name: NumberBounds.of(mine, places) for name, mine in drawn.items()}
    differences: Differences = {}
    for name, other in combinations(drawn, 2):
        ahead = _bounded(
            _differences(ours[name].worst, ours[other].best, protocol),
            _differences(ours[name].best, ours[other].worst, protocol),
        )
        differences[name, other] = ahead
    correct_p(differences, {group.name for group in side.everyone if group.control})
    by_painter = {}
    for name, mine in ours.items():
        powered = _bounded(_powered(mine.worst, protocol), _powered(mine.best, protocol))
        others = {other: _of_pair(differences, name, other) for other in drawn if other != name}
        by_painter[name] = Corrected(frame.study, powered, others)
    return by_painter


Differences = dict[tuple[str, str], dict[str, HumanInterval]]
"""Two painters -> score -> the first minus the second."""


@dataclass(frozen=True)
class NumberBounds:
    """A painter's numbers with ties between people decided for the worst and for the best; mostly the same."""

    worst: Mapping[str, Judged]
    best: Mapping[str, Judged]

    @classmethod
    def of(cls, drawn: Sequence[JudgedDrawing], places: Mapping[str, int]) -> NumberBounds:
        """Return the numbers of a painter's drawings; `places` maps each cluster to its index."""
        worst = judged_numbers(drawn, places)
        if not any(drawing.human_best is not drawing.human for drawing in drawn):
            return cls(worst, worst)
        return cls(worst, judged_numbers([replace(each, human=each.human_best) for each in drawn], places))


def _bounded(worst: Mapping[str, HumanInterval], best: Mapping[str, HumanInterval]) -> dict[str, HumanInterval]:
    """Return intervals from the lowest to the highest end; ties make them wider."""
    both = {}
    for name, low in worst.items():
        high = best[name]
        if low == high or low.value is None or high.value is None:
            both[name] = low
            continue
        p = None if low.p is None or high.p is None or low.value * high.value < 0 else max(low.p, high.p)
        ends = [end for each in (low, high) for end in (each.low, each.high) if end is not None]
        both[name] = replace(
            low, value=(low.value + high.value) / 2, low=min(ends, default=None), high=max(ends, default=None),
            p=1.0 if low.p is not None and p is None else p,
        )  # fmt: skip
    return both


def correct_p(differences: Differences, controls: Container[str]) -> None:
    """Correct the p-values of each score over all pairs of painters; pairs with a control are not in the family."""
    family = [pair for pair in differences if not any(name in controls for name in pair)]
    for score in sorted({score for pair in family for score in differences[pair]}):
        pairs = [pair for pair in family if score in differences[pair]]
        for pair, p in zip(pairs, holm([differences[pair][score].p for pair in pairs]), strict=True):
            differences[pair][score] = replace(differences[pair][score], p_holm=p)


def _of_pair(differences: Differences, name: str, other: str) -> dict[str, HumanInterval]:
    """Return one painter's differences from another, of which one order is known."""
    if (name, other) in differences:
        return differences[name, other]
    return {score: _turned(each) for score, each in differences[other, name].items()}


def _turned(gap: HumanInterval) -> HumanInterval:
    value, low, high = (None if end is None else -end for end in (gap.value, gap.high, gap.low))
    return replace(gap, value=value, low=low, high=high)


def _powered(mine: Mapping[str, Judged], protocol: Protocol[Any]) -> dict[str, HumanInterval]:
    best = tops(protocol)
    estimates = derive_known({name: estimate_mean(each) for name, each in mine.items()}, protocol.derive)
    intervals = {
        name: human_interval(estimates.get(name), best[name]) for name in best if name in estimates or name in mine
    }
    return {
        name: each if each.value is not None else replace(each, n=len(mine[name].judge))
        for name, each in intervals.items()
    }


def _differences(
    mine: Mapping[str, Judged], other: Mapping[str, Judged], protocol: Protocol[Any]
) -> dict[str, HumanInterval]:
    both: dict[str, HumanEstimate | None] = {
        name: estimate_difference(mine[name], other[name]) for name in mine if name in other
    }
    estimates = derive_known(both, protocol.derive)
    return {name: human_interval(estimates[name]) for name in tops(protocol) if name in estimates}


@dataclass(frozen=True)
class StudyFrame:
    """How a study chose the drawings that people marked.

    Attributes:
        study: Its name.
        inclusion: Drawing -> the probability that it was chosen.
        strata: Drawing -> its stratum, for all drawings; empty if unknown.
    """

    study: str
    inclusion: Mapping[str, float] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JudgedDrawing:
    """One drawing with the judge's marks, and with people's if they marked it.

    Attributes:
        entry: The judge's first marking of the drawing.
        cluster: The cluster of its question.
        judge: Its contribution to each number by the judge's marks, averaged over repeats; see `Protocol.parts`.
        human: Its contribution by the majority of people's marks, with ties decided for the worst; empty if nobody
            marked it.
        human_best: The same with ties decided for the best.
    """

    entry: Entry
    cluster: str
    judge: Mapping[str, tuple[float, float]]
    human: Mapping[str, tuple[float, float]]
    human_best: Mapping[str, tuple[float, float]]
    inclusion: float
    stratum: str | None


def marked_by_people(people: Sequence[Group], frame: StudyFrame) -> dict[str, list[Entry]]:
    """Return each person's first entry by drawing, restricted to the study's drawings if it lists them."""
    marked: dict[str, dict[str, Entry]] = {}
    for group in people:
        for entry in group.scored:
            if not frame.inclusion or entry.drawing.id in frame.inclusion:
                marked.setdefault(entry.drawing.id, {}).setdefault(group.evaluator.id, entry)
    return {id: list(entries.values()) for id, entries in marked.items()}


def judged_drawings(
    entries: Iterable[Entry], marked: Mapping[str, Sequence[Entry]], frame: StudyFrame, protocol: Protocol[Any]
) -> list[JudgedDrawing]:
    """Return the drawings that the judge marked, sorted by id."""
    given: dict[str, list[Entry]] = {}
    for entry in entries:
        given.setdefault(entry.drawing.id, []).append(entry)
    drawings = []
    for id in sorted(given):
        mine, theirs = given[id], marked.get(id, ())
        human, human_best = _people_parts(theirs, protocol)
        drawings.append(
            JudgedDrawing(
                mine[0],
                protocol.cluster(mine[0].question),
                _mean_parts(mine, protocol),
                human,
                human_best,
                frame.inclusion.get(id, 1.0),
                frame.strata.get(id),
            )
        )
    return drawings


def _people_parts(
    entries: Sequence[Entry], protocol: Protocol[Any]
) -> tuple[Mapping[str, tuple[float, float]], Mapping[str, tuple[float, float]]]:
    """Return the contribution of people's majority marks, with ties for the worst and the best; equal without ties.

    Marks are combined before scores are computed: a score that needs every criterion would fall with each slip of each
    person.
    """
    if len(entries) < 2:
        parts = _mean_parts(entries, protocol)
        return parts, parts
    given: dict[str, list[int]] = {}
    for mark in (mark for entry in entries for mark in entry.marks):
        values = given.setdefault(mark.criterion, [])
        if mark.value is not None:
            values.append(mark.value)
    agreed = {criterion: most_frequent(values) for criterion, values in given.items()}
    worst = _parts_of(entries[0], {id: min(values, default=None) for id, values in agreed.items()}, protocol)
    if all(len(values) < 2 for values in agreed.values()):
        return worst, worst
    return worst, _parts_of(entries[0], {id: max(values, default=None) for id, values in agreed.items()}, protocol)


def _parts_of(
    entry: Entry, values: Mapping[str, int | None], protocol: Protocol[Any]
) -> Mapping[str, tuple[float, float]]:
    marks = tuple(
        Mark.abstain(id, "nobody decided") if value is None else Mark(id, value) for id, value in values.items()
    )
    scores = protocol.scores(entry.question, marks, entry.evidence)
    return protocol.parts(replace(entry, marks=marks, scores=scores).row)


def _mean_parts(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, tuple[float, float]]:
    """Return a drawing's contribution to each number, averaged over markings; only numbers that all markings have."""
    each = [protocol.parts(entry.row) for entry in entries]
    return {name: pair for name, pair in mean_parts(each).items() if all(name in parts for parts in each)}


def judged_numbers(drawn: Sequence[JudgedDrawing], places: Mapping[str, int]) -> dict[str, Judged]:
    """Return the judge's and people's values of each number, over the drawings that have it.

    `places` maps each cluster to its index.
    """
    numbers = {}
    abstains = any(mark.verdict == "abstain" for drawing in drawn for mark in drawing.entry.marks)
    for name in sorted({name for drawing in drawn for name in drawing.judge}):
        mine = [drawing for drawing in drawn if name in drawing.judge]
        if abstains and len(mine) < len(drawn):
            continue  # Known only where the judge did not abstain, which biases the mean.
        strata = sorted({drawing.stratum for drawing in mine if drawing.stratum is not None})
        whole = bool(strata) and all(drawing.stratum is not None for drawing in mine)
        numbers[name] = Judged(
            clusters=np.array([places[drawing.cluster] for drawing in mine]),
            size=len(places),
            judge=np.array([drawing.judge[name][0] for drawing in mine]),
            human=np.array(
                [drawing.human[name][0] if name in drawing.human else np.nan for drawing in mine], dtype=np.float64
            ),
            bottoms=np.array([drawing.judge[name][1] for drawing in mine]),
            shares=_question_shares(mine),
            inclusion=np.array([drawing.inclusion for drawing in mine]),
            strata=np.array([strata.index(str(drawing.stratum)) for drawing in mine]) if whole else None,
        )
    return numbers


def _question_shares(drawn: Sequence[JudgedDrawing]) -> Floats:
    """Return each drawing's weight; all questions have equal weight, regardless of their number of drawings."""
    counts: dict[str, int] = {}
    for drawing in drawn:
        counts[drawing.entry.question.id] = counts.get(drawing.entry.question.id, 0) + 1
    return np.array([1 / counts[drawing.entry.question.id] for drawing in drawn])
