"""Agreement of two evaluators: by drawing, by painter, and by painter and value of a tag. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import MET
from ..comparable import QuestionPlace, common_places
from ..numbers import make_derive
from ..stats import (
    Correlation,
    Interval,
    bootstrap,
    chance_corrected,
    correlate,
    exchange_p,
    exchangeable_blocks,
    icc,
    interval,
    mark_agreement,
    ratios,
    spreads,
)
from ..stats.correlation import MEASURES, STATISTICS
from ..stats.resample import Floats, Parts
from .opinions import (
    ALL_CRITERIA,
    AgreementNumber,
    ComparedDrawings,
    DrawingParts,
    Names,
    Opinion,
    group_by_sort,
    make_number,
    score_words,
    sum_common_marks,
)

PAINTER = "painter"
PAIR_FORMS = ("ICC(2,1)", "ICC(3,1)")
"""The forms of the intraclass correlation that pairs of evaluators are given."""


def score_pairs(first_one: Opinion, second_one: Opinion, field: ComparedDrawings) -> list[Names]:
    """Return the pairs of scores to compare: scores that both have, and ratings with any score of the other."""
    own = [score.name for score in field.protocol.scored]
    sides = [
        [name for name in (*own, MET.name) if each.settles(name)]
        + sorted({*each.scales} & {*each.scores, *each.painters})
        for each in (first_one, second_one)
    ]
    common = [(name, name) for name in sides[0] if name in sides[1] and name != MET.name]
    settled = any(first in own for first, _ in common) and not (first_one.unsettled or second_one.unsettled)
    if (not settled or field.score == MET.name) and first_one.marks.keys() & second_one.marks.keys():
        common.append((MET.name, MET.name))
    crossed = [
        (first, second)
        for first in sides[0]
        for second in sides[1]
        if first != second and (first in first_one.scales or second in second_one.scales)
        if not (
            first in first_one.scales and second in second_one.scales and {first, second} & {name for name, _ in common}
        )
    ]
    return [pair for pair in common + crossed if not field.only or field.score in pair]


def pair_numbers(
    first: Opinion, second: Opinion, field: ComparedDrawings, by: Sequence[str] = ()
) -> Iterator[AgreementNumber]:
    """Yield all numbers of two evaluators.

    Args:
        first: The first evaluator's opinion.
        second: The second evaluator's opinion.
        field: The drawings and their weights.
        by: Tags to break the numbers down by; ``painter`` for each painter's drawings.
    """
    head = AgreementNumber(first.name, second.name)
    names = score_pairs(first, second, field) if field.units else []
    yield from mark_numbers(first, second, field, head)
    for pair in names:
        yield from _drawings(first, second, pair, field, head)
    if "painter" in field.units:
        yield from painter_numbers(first, second, names, field, replace(head, unit="painter"))
    for tag in field.protocol.breakdowns if "painter_tag" in field.units else ():
        yield from painter_numbers(first, second, names, field, replace(head, unit="painter_tag", tag=tag))
    for tag, category in field.values(by):
        inside, about = field.only_with(tag, category), replace(head, tag=tag, category=category)
        yield from mark_numbers(first, second, inside, about)
        for pair in names:
            yield from _drawings(first, second, pair, inside, about)
        if tag != PAINTER and "painter" in field.units:
            yield from painter_numbers(first, second, names, inside, replace(about, unit="painter"))


def mark_numbers(
    first: Opinion, second: Opinion, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield accuracy and the coefficients of Cohen, Gwet and Krippendorff over marks, by sort of criteria and overall.

    ``first_only`` and ``second_only`` count the marks that only one of the two decided.
    """
    marked = [
        (criterion, field.unit(id, (first.marks[id].get(criterion), second.marks[id].get(criterion))))
        for id in sorted(first.marks.keys() & second.marks.keys() & field.seen.keys())
        for criterion in sorted(first.marks[id].keys() | second.marks[id].keys())
    ]
    whole = group_by_sort(marked)
    decided = group_by_sort(mark for mark in marked if len(mark[1].said) > 1)
    for sort, units in decided.items() if decided[ALL_CRITERIA] else ():
        about, n = replace(head, score=sort), len(units)
        agreed = mark_agreement(whole[sort])
        yield make_number(about, "accuracy", agreed.same, n)
        yield replace(make_number(about, "kappa", agreed.kappa, n), reason=agreed.reason)
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield make_number(about, measure, each, n)
        yield make_number(about, "first_only", Interval(float(agreed.first_only)), n)
        yield make_number(about, "second_only", Interval(float(agreed.second_only)), n)


def common_scores(
    opinions: Sequence[Opinion], names: Sequence[str], field: ComparedDrawings
) -> dict[str, tuple[float, ...]]:
    """Return drawing -> the value of each evaluator's score, for drawings on which all have one."""
    if {*names} == {MET.name}:
        drawings = set.intersection(*(set(opinion.marks) for opinion in opinions)) & field.seen.keys()
        met = {id: sum_common_marks(opinions, id) for id in sorted(drawings)}
        return {id: tuple(100 * each / count for each in sums) for id, (sums, count) in met.items() if count}
    given = [opinion.scores.get(name, {}) for opinion, name in zip(opinions, names, strict=True)]
    common = set.intersection(*map(set, given)) & field.seen.keys()
    return {id: tuple(scores[id] for scores in given) for id in sorted(common)}


def _drawings(
    first_one: Opinion, second_one: Opinion, pair: Names, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    both = common_scores((first_one, second_one), pair, field)
    if not both:
        return
    head = replace(head, score=score_words(pair))
    clusters = [field.seen[id].cluster for id in both]
    weights = [field.weight(id) for id in both]
    first, second = ([values[side] for values in both.values()] for side in (0, 1))
    if pair[0] == pair[1]:
        yield make_number(
            head, "mae", mean_number([abs(a - b) for a, b in both.values()], clusters, weights), len(both)
        )
        yield make_number(head, "shift", mean_number([b - a for a, b in both.values()], clusters, weights), len(both))
    painters = [field.seen[id].painter for id in both]
    for measure, each in correlate(first, second, clusters, weights, painters).items():
        yield make_number(head, measure, each)
    if pair[0] == pair[1]:
        rated = [field.unit(id, values) for id, values in both.items()]
        for form, number in icc(rated).items():
            if form in PAIR_FORMS:
                yield make_number(head, form, number)


def mean_number(values: Sequence[float], clusters: Sequence[str], weights: Sequence[float]) -> Interval:
    """Return the weighted mean with its interval from resampling clusters; equal values have none."""
    if len(set(values)) == 1:
        return Interval(float(values[0]), n=len(values))
    _, homes = np.unique(clusters, return_inverse=True)
    counts = np.asarray(weights, dtype=np.float64)
    tops = np.bincount(homes, counts * np.asarray(values, dtype=np.float64)).astype(np.float64)
    mean = bootstrap({"mean": (tops, np.bincount(homes, counts).astype(np.float64))})["mean"]
    return replace(mean, n=len(values))


def painter_numbers(
    first: Opinion, second: Opinion, names: Sequence[Names], field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield the numbers over painters; over painters and values of the tag if the unit is ``painter_tag``."""
    tag = head.tag if head.unit == "painter_tag" else None
    for pair in names:
        for measure, number in orders_compared((first, second), pair, field, tag).items():
            yield make_number(replace(head, score=score_words(pair)), measure, number)


PAINTER_RESAMPLES = 500
MIN_POINTS = 3
"""The minimum number of points for a correlation."""
MAX_MISSED_SHARE = 0.1
"""The maximum share of resamples that may miss a point."""
MAX_KENDALL_POINTS = 100
"""The maximum number of points for which Kendall's tau has an interval and p; with more, these take too long."""
Spot = tuple[str, str]
"""A painter and a value of the tag, if there is a tag."""


def points_of(
    both: Sequence[Opinion], pair: Names, field: ComparedDrawings, tag: str | None
) -> tuple[dict[Spot, list[str]], tuple[Floats, Floats]]:
    """Return each point with its drawings, and both evaluators' numbers at the points; NaN if there is none."""
    spots = _spots(both, pair, field, tag)
    first, second = (_numbers(side, name, both, spots, field)[0] for side, name in zip(both, pair, strict=True))
    return spots, (first, second)


def orders_compared(
    both: Sequence[Opinion], pair: Names, field: ComparedDrawings, tag: str | None
) -> dict[str, Correlation]:
    """Return the Pearson, Spearman and Kendall correlations over painters.

    If both scores are the same, also return ``mae`` and ``shift``. Intervals come from resampling questions, p-values
    from exchanging painters together with all their values of a tag.

    Args:
        both: The two evaluators.
        pair: The score of each evaluator.
        field: The drawings and their weights.
        tag: A tag, to have one point for each painter and value of it.
    """
    spots = _spots(both, pair, field, tag)
    sides = [_numbers(side, name, both, spots, field) for side, name in zip(both, pair, strict=True)]
    names = [spot for place, spot in enumerate(spots) if not np.isnan(sides[0][0][place] + sides[1][0][place])]
    if len(names) < MIN_POINTS or len({painter for painter, _ in names}) < 2:
        return {}
    places = [list(spots).index(name) for name in names]
    x, y = (values[places] for values, _ in sides)
    # The last bits of sums are noise, which would make equal numbers differ.
    seen = [values.round(12) for values in (x, y)]
    drawn = [table[:, places].round(12) for _, table in sides]
    questions = len({field.seen[id].cluster for ids in spots.values() for id in ids})
    blocks = exchangeable_blocks([painter for painter, _ in names], [value for _, value in names])
    numbers = {}
    for measure in MEASURES:
        value = float(STATISTICS[measure](seen[0], seen[1], None)[0])
        if np.isnan(value):
            numbers[measure] = Correlation(None, n=len(names))
            continue
        if measure == "kendall" and len(names) > MAX_KENDALL_POINTS:
            numbers[measure] = Correlation(round(value, 12), n=len(names))
            continue
        spread = STATISTICS[measure](drawn[0], drawn[1], None).round(12)
        # If a point has few questions, most resamples miss it, and the others are biased.
        whole = float(np.isnan(spread).mean()) <= MAX_MISSED_SHARE
        around = interval(value, spread if whole else spread[:0], questions)
        p = exchange_p(measure, x, y, np.ones(len(names)), blocks) if len(blocks) == 1 else None
        numbers[measure] = Correlation(round(value, 12), around.low, around.high, p, len(names))
    if pair[0] == pair[1]:
        numbers["mae"] = Correlation(float(np.abs(x - y).mean()), n=len(names))
        numbers["shift"] = Correlation(float((y - x).mean()), n=len(names))
    return numbers


def _spots(both: Sequence[Opinion], pair: Names, field: ComparedDrawings, tag: str | None) -> dict[Spot, list[str]]:
    """Return each point with its drawings, for which both have a number."""
    whole = [side.painters.get(name, {}) for side, name in zip(both, pair, strict=True)]
    if any(whole) and tag is not None:
        return {}
    if all(whole):
        return {(painter, ""): [] for painter in sorted(whole[0].keys() & whole[1].keys())}
    drawings: Collection[str] = common_scores(both, pair, field)
    if any(whole):
        rated, name = (both[1], pair[1]) if whole[0] else (both[0], pair[0])
        drawings = rated.scores.get(name, {}).keys() & field.seen.keys()
    kept = {id: field.seen[id] for id in sorted(drawings)}
    if field.shared:
        controls = {seen.painter for seen in kept.values() if seen.control}
        answered: dict[str, set[QuestionPlace]] = {}
        for seen in kept.values():
            answered.setdefault(seen.painter, set()).add((seen.question, seen.cluster))
        common, painters = common_places(answered, controls)
        kept = {
            id: seen
            for id, seen in kept.items()
            if seen.painter in painters and (seen.question, seen.cluster) in common
        }
    spots: dict[Spot, list[str]] = {}
    for id, seen in kept.items():
        value = "" if tag is None else seen.tags.get(tag)
        if value is not None:
            spots.setdefault((seen.painter, value), []).append(id)
    return dict(sorted(spots.items()))


def _numbers(
    side: Opinion, name: str, both: Sequence[Opinion], spots: Mapping[Spot, list[str]], field: ComparedDrawings
) -> tuple[Floats, Floats]:
    """Return the number at each point, and the numbers in every resample of the questions."""
    if name in side.painters:
        values = np.array([side.painters[name].get(painter, np.nan) for painter, _ in spots])
        return values, np.tile(values, (PAINTER_RESAMPLES, 1))
    own = name not in side.scales and name != MET.name
    key = (side.name, None if own else (name, both[0].name, both[1].name), tuple(map(tuple, spots.values())))
    if key not in field.kept:
        field.kept[key] = _resampled(side, name, own, both, spots, field)
    resampled: tuple[list[dict[str, float]], list[dict[str, Floats]]] = field.kept[key]
    missing = np.full(PAINTER_RESAMPLES, np.nan)
    table = (
        np.array([each.get(name, missing) for each in resampled[1]]).T if spots else np.empty((PAINTER_RESAMPLES, 0))
    )
    return np.array([each.get(name, np.nan) for each in resampled[0]], dtype=np.float64), table


def _resampled(
    side: Opinion,
    name: str,
    own: bool,
    both: Sequence[Opinion],
    spots: Mapping[Spot, list[str]],
    field: ComparedDrawings,
) -> tuple[list[dict[str, Any]], list[dict[str, Floats]]]:
    clusters = sorted({field.seen[id].cluster for ids in spots.values() for id in ids})
    derive = make_derive(field.protocol) if own else dict
    parts = [_parts(side, name, both, ids, clusters, field) for ids in spots.values()]
    return [dict(derive(ratios(each))) for each in parts], spreads(parts, derive, PAINTER_RESAMPLES)


def _parts(
    side: Opinion,
    name: str,
    both: Sequence[Opinion],
    ids: Sequence[str],
    clusters: Sequence[str],
    field: ComparedDrawings,
) -> Parts:
    places = {cluster: place for place, cluster in enumerate(clusters)}
    # Seeds of a question are averaged first.
    often = Counter(field.seen[id].question for id in ids)
    parts: dict[str, tuple[Floats, Floats]] = {}
    for id in ids:
        seen = field.seen[id]
        weight = field.weight(id) / often[seen.question]
        for part, (top, bottom) in _drawing_parts(side, name, both, id).items():
            tops, bottoms = parts.setdefault(part, (np.zeros(len(places)), np.zeros(len(places))))
            tops[places[seen.cluster]] += weight * top
            bottoms[places[seen.cluster]] += weight * bottom
    return parts


def _drawing_parts(side: Opinion, name: str, both: Sequence[Opinion], id: str) -> DrawingParts:
    if name == MET.name and all(each.marks for each in both):
        sums, count = sum_common_marks(both, id)
        return {name: (100 * sums[both.index(side)], float(count))} if count else {}
    if name in side.scales or name == MET.name:
        return {name: (side.scores[name][id], 1.0)}
    return side.parts.get(id, {})
