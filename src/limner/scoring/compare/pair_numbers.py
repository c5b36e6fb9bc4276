"""Any two evaluators against each other: per drawing, per painter, and per painter and value of a tag. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.protocol import Protocol
from .. import MET
from ..stats import (
    Interval,
    RatedUnit,
    bootstrap,
    chance_corrected,
    correlate,
    icc_intervals,
    mark_agreement,
)
from .opinions import Opinion
from .painter_order import orders_compared
from .pair_field import ALL, Field, Names, PairNumber, met_of, put, said

PAINTER = "painter"
FORMS = ("ICC(2,1)", "ICC(3,1)")


def score_pairs(one: Opinion, other: Opinion, protocol: Protocol[Any]) -> list[Names]:
    """Which scores are held against which: those both have; and ratings against what the other has."""
    own = [score.name for score in protocol.scored]
    sides = [
        [name for name in (*own, MET.name) if name in each.scores and name not in each.unsettled]
        + sorted({*each.scales} & {*each.scores, *each.painters})
        for each in (one, other)
    ]
    common = [(name, name) for name in sides[0] if name in sides[1] and name != MET.name]
    settled = any(first in own for first, _ in common) and not (one.unsettled or other.unsettled)
    if not settled and one.marks.keys() & other.marks.keys():
        common.append((MET.name, MET.name))
    crossed = [
        (first, second)
        for first in sides[0]
        for second in sides[1]
        if first != second and (first in one.scales or second in other.scales)
        if not (first in one.scales and second in other.scales and {first, second} & {name for name, _ in common})
    ]
    return common + crossed


def pair_numbers(one: Opinion, other: Opinion, field: Field, by: Sequence[str] = ()) -> Iterator[PairNumber]:
    """Every number of two evaluators.

    Args:
        one: The first.
        other: The second.
        field: The drawings, and what they count.
        by: Tags for whose values there are numbers apart; ``painter`` for each painter's drawings.
    """
    head = PairNumber(one.name, other.name, "drawing", None, None, ALL, "", None)
    names = score_pairs(one, other, field.protocol)
    yield from mark_numbers(one, other, field, head)
    for pair in names:
        yield from _drawings(one, other, pair, field, head)
    if "painter" in field.units:
        yield from painter_numbers(one, other, names, field, replace(head, unit="painter"))
    for tag in field.protocol.breakdowns if "painter_tag" in field.units else ():
        yield from painter_numbers(one, other, names, field, replace(head, unit="painter_tag", tag=tag))
    for tag, category in field.values(by):
        inside, about = field.only(tag, category), replace(head, tag=tag, category=category)
        yield from mark_numbers(one, other, inside, about)
        for pair in names:
            yield from _drawings(one, other, pair, inside, about)
        if tag != PAINTER and "painter" in field.units:
            yield from painter_numbers(one, other, names, inside, replace(about, unit="painter"))


def mark_numbers(one: Opinion, other: Opinion, field: Field, head: PairNumber) -> Iterator[PairNumber]:
    """Mark by mark: accuracy, Cohen, Gwet and Krippendorff, on each sort of criteria and in all."""
    sorts: dict[str, list[RatedUnit]] = {ALL: []}
    for id in sorted(one.marks.keys() & other.marks.keys() & field.seen.keys()):
        mine, theirs = one.marks[id], other.marks[id]
        for criterion in sorted(mine.keys() & theirs.keys()):
            values = (mine[criterion], theirs[criterion])
            marked = RatedUnit(field.seen[id].cluster, values, field.weight(id))
            for sort in (ALL, criterion.partition("/")[0]):
                sorts.setdefault(sort, []).append(marked)
    for sort, units in sorts.items() if len(sorts) > 2 else [(ALL, sorts[ALL])]:
        if not units:
            continue
        about, n = replace(head, score=sort), len(units)
        pairs = [(unit.cluster, unit.values[0], unit.values[1]) for unit in units]
        found = mark_agreement(pairs, [unit.weight for unit in units])
        yield put(about, "accuracy", found.same, n)
        yield put(about, "kappa", found.kappa, n)
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield put(about, measure, each, n)


def points(one: Opinion, other: Opinion, pair: Names, field: Field) -> dict[str, tuple[float, float]]:
    """Drawing -> both numbers, where both have one."""
    if pair == (MET.name, MET.name):
        found = {}
        for id in one.marks.keys() & other.marks.keys() & field.seen.keys():
            mine_met, theirs_met, count = met_of(one, other, id)
            if count:
                found[id] = (100 * mine_met / count, 100 * theirs_met / count)
        return dict(sorted(found.items()))
    mine, theirs = one.scores.get(pair[0], {}), other.scores.get(pair[1], {})
    return {id: (mine[id], theirs[id]) for id in sorted(mine.keys() & theirs.keys() & field.seen.keys())}


def _drawings(one: Opinion, other: Opinion, pair: Names, field: Field, head: PairNumber) -> Iterator[PairNumber]:
    both = points(one, other, pair, field)
    if not both:
        return
    head = replace(head, score=said(pair))
    clusters = [field.seen[id].cluster for id in both]
    weights = [field.weight(id) for id in both]
    first, second = ([values[side] for values in both.values()] for side in (0, 1))
    if pair[0] == pair[1]:
        yield put(head, "mae", mean_number([abs(a - b) for a, b in both.values()], clusters, weights), len(both))
        yield put(head, "shift", mean_number([a - b for a, b in both.values()], clusters, weights), len(both))
    painters = [field.seen[id].painter for id in both]
    for measure, each in correlate(first, second, clusters, weights, painters).items():
        yield put(head, measure, each)
    if pair[0] == pair[1]:
        rated = [RatedUnit(*each) for each in zip(clusters, both.values(), weights, strict=True)]
        for form, found in icc_intervals(rated).items():
            if form in FORMS:
                yield put(head, form, found)


def mean_number(values: Sequence[float], clusters: Sequence[str], weights: Sequence[float]) -> Interval:
    """A weighted mean with its interval from resampling clusters."""
    _, homes = np.unique(clusters, return_inverse=True)
    counts = np.asarray(weights, dtype=np.float64)
    tops = np.bincount(homes, counts * np.asarray(values, dtype=np.float64)).astype(np.float64)
    found = bootstrap({"mean": (tops, np.bincount(homes, counts).astype(np.float64))})["mean"]
    value, low, high = (None if end is None else float(end) for end in (found.value, found.low, found.high))
    return Interval(value, low, high, len(values))


def painter_numbers(
    one: Opinion, other: Opinion, names: Sequence[Names], field: Field, head: PairNumber
) -> Iterator[PairNumber]:
    """The order of painters; of painters on each value of the tag, where the unit is ``painter_tag``."""
    tag = head.tag if head.unit == "painter_tag" else None
    for pair in names:
        drawings = points(one, other, pair, field)
        for measure, found in orders_compared(one, other, pair, drawings, field, tag).items():
            yield put(replace(head, score=said(pair)), measure, found)
