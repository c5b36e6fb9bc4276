"""Whether two evaluators put painters in the same order, on the whole or on each value of a tag. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from .. import MET
from ..parts import deriving
from ..stats import Correlation, exchange_p, interval, ratios, shapes, spreads
from ..stats.correlation import MEASURES, row_correlations
from ..stats.types import Floats, Parts
from .opinions import DrawingParts, Opinion
from .pair_field import Field, Names, met_of

RESAMPLES = 500
ENOUGH = 3
"""Fewer points than this are in no order to speak of."""
MISSED = 0.1
"""Up to this share of resamples may miss a point."""
MANY = 100
"""More points than this are too many to count all their pairs in every resample: Kendall's tau stands alone."""
Spot = tuple[str, str]
"""A painter, and a value of the tag where there is one."""


def orders_compared(
    one: Opinion, other: Opinion, pair: Names, drawings: Collection[str], field: Field, tag: str | None
) -> dict[str, Correlation]:
    """Pearson, Spearman and Kendall over painters, and ``mae`` where both have the same score.

    Intervals come from resampling the questions; p from exchanging painters, all values of a tag with them.

    Args:
        one: The first evaluator.
        other: The second.
        pair: The score of each.
        drawings: Those for which both have a number.
        field: What is compared on.
        tag: Whose values make points of their own.
    """
    spots = _spots(one, other, pair, drawings, field, tag)
    sides = [
        _numbers(side, name, pair, (one, other), spots, field) for side, name in zip((one, other), pair, strict=True)
    ]
    names = [spot for place, spot in enumerate(spots) if not np.isnan(sides[0][0][place] + sides[1][0][place])]
    if len(names) < ENOUGH or len({painter for painter, _ in names}) < 2:
        return {}
    places = [list(spots).index(name) for name in names]
    x, y = (values[places] for values, _ in sides)
    drawn = [table[:, places] for _, table in sides]
    questions = len({field.seen[id].cluster for ids in spots.values() for id in ids})
    blocks = shapes([painter for painter, _ in names], [value for _, value in names])
    found = {}
    for measure in MEASURES:
        value = float(row_correlations(measure, x[None, :], y[None, :])[0])
        if np.isnan(value):
            found[measure] = Correlation(None, n=len(names))
            continue
        if measure == "kendall" and len(names) > MANY:
            found[measure] = Correlation(round(value, 12), n=len(names))
            continue
        spread = row_correlations(measure, *drawn).round(12)
        # Where a point has few questions, most resamples miss some point, and the others are no fair sample.
        whole = float(np.isnan(spread).mean()) <= MISSED
        around = interval(value, spread if whole else spread[:0], questions)
        p = exchange_p(measure, x, y, np.ones(len(names)), blocks) if len(blocks) == 1 else None
        found[measure] = Correlation(round(value, 12), around.low, around.high, p, len(names))
    if pair[0] == pair[1]:
        found["mae"] = Correlation(float(np.abs(x - y).mean()), n=len(names))
        found["shift"] = Correlation(float((x - y).mean()), n=len(names))
    return found


def _spots(
    one: Opinion, other: Opinion, pair: Names, drawings: Collection[str], field: Field, tag: str | None
) -> dict[Spot, list[str]]:
    """Every point with the drawings behind it."""
    whole = [side.painters.get(name, {}) for side, name in zip((one, other), pair, strict=True)]
    if any(whole) and tag is not None:
        return {}
    if all(whole):
        return {(painter, ""): [] for painter in sorted(whole[0].keys() & whole[1].keys())}
    if whole[0]:
        drawings = other.scores.get(pair[1], {}).keys() & field.seen.keys()
    elif whole[1]:
        drawings = one.scores.get(pair[0], {}).keys() & field.seen.keys()
    known = {id: field.seen[id] for id in sorted(drawings)}
    if field.shared:
        answered: dict[str, set[str]] = {}
        for seen in known.values():
            answered.setdefault(seen.painter, set()).add(seen.question)
        common = set.intersection(*answered.values()) if answered else set()
        known = {id: seen for id, seen in known.items() if seen.question in common}
    found: dict[Spot, list[str]] = {}
    for id, seen in known.items():
        value = "" if tag is None else seen.tags.get(tag)
        if value is not None:
            found.setdefault((seen.painter, value), []).append(id)
    return dict(sorted(found.items()))


def _numbers(
    side: Opinion, name: str, pair: Names, both: Sequence[Opinion], spots: Mapping[Spot, list[str]], field: Field
) -> tuple[Floats, Floats]:
    """The number of each point, and the same in every resample of the questions."""
    if name in side.painters:
        values = np.array([side.painters[name].get(painter, np.nan) for painter, _ in spots])
        return values, np.tile(values, (RESAMPLES, 1))
    own = name not in side.scales and name != MET.name
    key = (side.name, None if own else (name, both[0].name, both[1].name), tuple(map(tuple, spots.values())))
    if key not in field.kept:
        field.kept[key] = _resampled(side, name, own, both, spots, field)
    known: tuple[list[dict[str, float]], list[dict[str, Floats]]] = field.kept[key]
    missing = np.full(RESAMPLES, np.nan)
    table = np.array([each.get(name, missing) for each in known[1]]).T if spots else np.empty((RESAMPLES, 0))
    return np.array([each.get(name, np.nan) for each in known[0]], dtype=np.float64), table


def _resampled(
    side: Opinion, name: str, own: bool, both: Sequence[Opinion], spots: Mapping[Spot, list[str]], field: Field
) -> tuple[list[dict[str, Any]], list[dict[str, Floats]]]:
    clusters = sorted({field.seen[id].cluster for ids in spots.values() for id in ids})
    derive = deriving(field.protocol) if own else dict
    parts = [_parts(side, name, both, ids, clusters, field) for ids in spots.values()]
    return [dict(derive(ratios(each))) for each in parts], spreads(parts, derive, RESAMPLES)


def _parts(
    side: Opinion, name: str, both: Sequence[Opinion], ids: Sequence[str], clusters: Sequence[str], field: Field
) -> Parts:
    places = {cluster: place for place, cluster in enumerate(clusters)}
    # Seeds of a question are averaged within it first.
    often = Counter(field.seen[id].question for id in ids)
    found: dict[str, tuple[Floats, Floats]] = {}
    for id in ids:
        seen = field.seen[id]
        weight = field.weight(id) / often[seen.question]
        for part, (top, bottom) in _drawing_parts(side, name, both, id).items():
            tops, bottoms = found.setdefault(part, (np.zeros(len(places)), np.zeros(len(places))))
            tops[places[seen.cluster]] += weight * top
            bottoms[places[seen.cluster]] += weight * bottom
    return found


def _drawing_parts(side: Opinion, name: str, both: Sequence[Opinion], id: str) -> DrawingParts:
    if name == MET.name and all(each.marks for each in both):
        *sums, count = met_of(both[0], both[1], id)
        return {name: (100 * sums[both.index(side)], float(count))} if count else {}
    if name in side.scales or name == MET.name:
        return {name: (side.scores[name][id], 1.0)}
    return side.parts.get(id, {})
