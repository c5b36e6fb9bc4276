"""Agreement among the people of a study: the ceiling for judges, reliability, and each person's deviation. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from statistics import stdev

import numpy as np

from ..stats import MEASURES, Interval, RatedUnit, chance_corrected, icc, mark_agreement, spearman
from ..stats.correlation import STATISTICS, jackknife_weights, z_error, z_interval
from ..stats.types import Floats
from .opinions import (
    ALL_CRITERIA,
    ANYONE,
    PEOPLE_PREFIX,
    AgreementNumber,
    ComparedDrawings,
    Opinion,
    group_by_sort,
    make_number,
    merge_people,
)
from .pair_numbers import common_scores, mean_number, painter_numbers


def people_numbers(
    study: str, people: Sequence[Opinion], field: ComparedDrawings, tag: str | None = None, category: str | None = None
) -> Iterator[AgreementNumber]:
    """Yield all numbers of a study's people among themselves.

    First come numbers of ``person/*`` against ``people/STUDY``: the agreement of each person with the others, averaged
    over people, which is the most that can be expected of a judge; and the reliability of all people together. Then
    come the numbers of each person against the others.

    Args:
        study: The study's name.
        people: The opinion of each person.
        field: The drawings and their weights; with `tag`, only those of one `category`.
        tag: The tag of a breakdown.
        category: The value of the tag.
    """
    if len(people) < 2:
        return
    rest = [merge_people(study, [other for other in people if other is not person]) for person in people]
    head = AgreementNumber(ANYONE, PEOPLE_PREFIX + study, tag=tag, category=category)
    yield from _mark_ceiling(people, rest, field, head)
    names = sorted({name for person in people for name in person.scores if name not in person.unsettled})
    for name in names:
        yield from _ceiling(people, rest, name, field, replace(head, score=name))
    for name in names if "painter" in field.units else ():
        yield from _painter_ceiling(people, rest, name, field, replace(head, unit="painter", score=name))
    for person, others in zip(people, rest, strict=True):
        yield from _deviation(person, others, names, field, replace(head, first=person.name))


def _mark_ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    pairs = []
    rated: dict[tuple[str, str], list[float | None]] = {}
    for place, (person, others) in enumerate(zip(people, rest, strict=True)):
        for id in sorted(person.marks.keys() & field.seen.keys()):
            for criterion, mine in sorted(person.marks[id].items()):
                rated.setdefault((id, criterion), [None] * len(people))[place] = mine
                if (theirs := others.marks.get(id, {}).get(criterion)) is not None:
                    pairs.append((criterion, field.unit(id, (mine, theirs))))
    each_alone = group_by_sort(pairs)
    together_rated = group_by_sort((name, field.unit(id, values)) for (id, name), values in sorted(rated.items()))
    for sort, units in (
        sorted(together_rated.items(), key=lambda pair: (pair[0] != ALL_CRITERIA, pair[0])) if rated else ()
    ):
        about = replace(head, score=sort)
        if alone := each_alone.get(sort):
            agreed = mark_agreement(alone)
            yield make_number(about, "accuracy", agreed.same, len(alone))
            yield make_number(about, "kappa", agreed.kappa, len(alone))
        for measure, each in chance_corrected(units, [0.0, 1.0]).items():
            yield make_number(about, measure, each, len(units))


def _ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], name: str, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield numbers of each person against the mean of the others, averaged over people by how much each rated."""
    tables = [common_scores((person, others), (name, name), field) for person, others in zip(people, rest, strict=True)]
    tables = [table for table in tables if len(table) > 1]
    ids = [id for table in tables for id in table]
    if not ids:
        return
    clusters, weights = [field.seen[id].cluster for id in ids], np.array([field.weight(id) for id in ids])
    gaps = [abs(a - b) for table in tables for a, b in table.values()]
    n = len(set(ids))
    yield make_number(head, "mae", mean_number(gaps, clusters, weights.tolist()), n)
    rows = jackknife_weights(clusters)
    for measure in MEASURES:
        value = _averaged(measure, tables, weights[None, :])[0]
        if np.isnan(value):
            continue
        without = _averaged(measure, tables, rows * weights)
        low, high = z_interval(value, z_error(value, without), len(set(clusters)))
        yield make_number(head, measure, Interval(round(float(value), 12), low, high, n))
    units = _rated(people, name, field)
    for form, each in icc(units).items():
        yield make_number(head, form, each)
    for measure, each in chance_corrected(units).items():
        if measure == "alpha_interval":
            yield make_number(head, measure, each, len(units))
    spread = [(unit, stdev(unit.said)) for unit in units if len(unit.said) > 1]
    if spread:
        about = [unit.cluster for unit, _ in spread], [unit.weight for unit, _ in spread]
        yield make_number(head, "std", mean_number([each for _, each in spread], *about), len(spread))


def _averaged(measure: str, tables: Sequence[Mapping[str, tuple[float, ...]]], weights: Floats) -> Floats:
    """Return the mean of a correlation over people for each row of weights; people without one are left out."""
    start, by_person, counts = 0, [], []
    for table in tables:
        mine, theirs = (np.array([values[side] for values in table.values()]) for side in (0, 1))
        inside = weights[:, start : start + len(table)]
        start += len(table)
        # A person without any drawing in a row has no correlation there.
        some = inside.sum(axis=1) > 0
        values = np.full(len(weights), np.nan)
        if some.any():
            values[some] = STATISTICS[measure](mine, theirs, inside[some])
        by_person.append(values)
        counts.append(float(len(table)))
    defined = ~np.isnan(by_person)
    shares = defined * np.array(counts)[:, None]
    total = shares.sum(axis=0)
    sums = (np.nan_to_num(by_person) * shares).sum(axis=0)
    means: Floats = np.divide(sums, total, out=np.full(len(weights), np.nan), where=total > 0)
    return means


def _rated(people: Sequence[Opinion], name: str, field: ComparedDrawings) -> list[RatedUnit]:
    given = [person.scores.get(name, {}) for person in people]
    ids = sorted({id for scores in given for id in scores} & field.seen.keys())
    return [field.unit(id, [scores.get(id) for scores in given]) for id in ids]


def _painter_ceiling(
    people: Sequence[Opinion], rest: Sequence[Opinion], name: str, field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield the numbers over painters, averaged over people and without intervals."""
    by_measure: dict[str, list[AgreementNumber]] = {}
    for person, others in zip(people, rest, strict=True):
        for each in painter_numbers(person, others, [(name, name)], field, head):
            if each.value is not None:
                by_measure.setdefault(each.measure, []).append(each)
    for measure in (*MEASURES, "mae"):
        if rows := by_measure.get(measure):
            mean = sum(row.value for row in rows if row.value is not None) / len(rows)
            yield make_number(head, measure, Interval(mean, n=max(row.n for row in rows)))


def _deviation(
    person: Opinion, others: Opinion, names: Sequence[str], field: ComparedDrawings, head: AgreementNumber
) -> Iterator[AgreementNumber]:
    """Yield how one person's numbers differ from the mean of the others: in level, in size and in order."""
    for name in names:
        both = common_scores((person, others), (name, name), field)
        if not both:
            continue
        about = replace(head, score=name)
        clusters, weights = [field.seen[id].cluster for id in both], [field.weight(id) for id in both]
        yield make_number(about, "shift", mean_number([b - a for a, b in both.values()], clusters, weights))
        yield make_number(about, "mae", mean_number([abs(a - b) for a, b in both.values()], clusters, weights))
        mine, theirs = (np.array([values[side] for values in both.values()]) for side in (0, 1))
        if len(both) > 1:
            value = float(spearman(mine, theirs, np.array(weights))[0])
            rows = jackknife_weights(clusters) * np.array(weights)
            error = None if np.isnan(value) else z_error(value, spearman(mine, theirs, rows))
            low, high = z_interval(value, error, len(set(clusters)))
            yield make_number(about, "spearman", Interval(None if np.isnan(value) else value, low, high, len(both)))
