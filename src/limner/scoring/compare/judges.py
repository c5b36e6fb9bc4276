"""Judges compared: on single marks, on the scores of drawings, and on the order of painters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from ... import exams
from ...core.errors import UsageError
from ...core.protocol import Protocol, Score
from ...store import DEFAULT, Store
from ...store.open import open_store
from ...store.schema import attempts
from .. import MET, Group
from ..groups import find_groups
from ..parts import summed, values_of
from ..stats import MarkAgreement, Measure, icc, krippendorff_alpha, mark_agreement
from .rank_order import order
from .raters import Rater, Unit, raters, unit
from .results import Agreement, Alphas, Twosome

ALL = "all"
"""Stands for all sorts of criteria together."""
Given = Mapping[Unit, Mapping[str, float]]


def judges(
    exam: str,
    *,
    score: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    store: Store | str | Path = DEFAULT,
    **which: Any,
) -> Agreement:
    """Every judge, in every way it was asked, against every other on the drawings both have marked.

    Args:
        exam: The exam's name in the store.
        score: The score of drawings and painters; by default the first that all judges settle.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        store: Where the marks are.
        **which: ``painters``, ``judges``, ``variant``, ``options``, ``selection``; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score.
    """
    with open_store(store) as opened:
        kind, groups = find_groups(exam, reading=reading, constants=constants, store=opened, **which)
        took = call_seconds(opened, groups)
    protocol = exams.kind(kind).protocol.tuned(constants or {})
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    found = raters(groups, protocol, took)
    chosen = _score(found, protocol, score)
    reason = None
    if len(found) < 2:
        reason = "nothing is marked yet" if not found else "one judge, asked in one way: nobody to compare it with"
    pairs = tuple(_twosome(one, other, chosen) for one, other in combinations(found, 2))
    return Agreement(name, reading, chosen, tuple(found), pairs, _alphas(found), _icc(found, chosen), reason)


def _score(found: Sequence[Rater], protocol: Protocol[Any], wanted: str | None) -> Score:
    own = {score.name: score for score in protocol.scored} | {MET.name: MET}
    if wanted is not None:
        if wanted not in own:
            raise UsageError(f"--score {wanted}: there is: {', '.join(own)}")
        return own[wanted]
    groups = [group for rater in found for group in rater.groups]
    settled = [values_of(summed(group.scored, protocol), protocol) for group in groups if group.scored]
    main = [score for score in protocol.scored if score.main]
    return next((score for score in main if settled and all(score.name in each for each in settled)), MET)


def _sort(criterion: str) -> str:
    """The sort of a criterion: what stands before the first slash of its id."""
    return criterion.partition("/")[0]


def marks_compared(one: Given, other: Given, clusters: Mapping[str, str]) -> dict[str, MarkAgreement]:
    """How far two sets of marks agree: on each sort of criteria, and in all; one sort alone is all of them.

    Args:
        one: Drawing and repeat -> criterion -> what was marked.
        other: The same by another judge, or asked in another way.
        clusters: Drawing -> the question that is drawn anew as a whole.
    """
    marks: dict[str, list[tuple[str, float | None, float | None]]] = {ALL: []}
    for key in sorted(one.keys() & other.keys()):
        for criterion in sorted(one[key].keys() & other[key].keys()):
            row = (clusters[key[0]], one[key][criterion], other[key][criterion])
            marks[ALL].append(row)
            marks.setdefault(_sort(criterion), []).append(row)
    return {sort: mark_agreement(rows) for sort, rows in marks.items() if sort == ALL or len(marks) > 2}


def decided_alone(one: Given, other: Given) -> dict[str, tuple[int, int]]:
    """Sort of criteria -> marks of common drawings that only the first, and that only the second decided."""
    found: dict[str, tuple[int, int]] = {}
    for key in one.keys() & other.keys():
        for criterion in one[key].keys() ^ other[key].keys():
            mine = criterion in one[key]
            for sort in (ALL, _sort(criterion)):
                first, second = found.get(sort, (0, 0))
                found[sort] = (first + mine, second + (not mine))
    return found


def _twosome(one: Rater, other: Rater, score: Score) -> Twosome:
    both = [one, other]
    return Twosome(
        first=one.name,
        second=other.name,
        marks=marks_compared(one.marks, other.marks, one.clusters),
        alone=decided_alone(one.marks, other.marks),
        alphas=_alphas(both),
        icc=_icc(both, score),
        order=order(one, other, score),
    )


def _alphas(found: Sequence[Rater]) -> Alphas:
    tables: dict[str, list[list[float | None]]] = {ALL: []}
    for key in sorted({key for rater in found for key in rater.marks}):
        given = [rater.marks.get(key, {}) for rater in found]
        for criterion in sorted({criterion for marks in given for criterion in marks}):
            row = [marks.get(criterion) for marks in given]
            tables[ALL].append(row)
            tables.setdefault(_sort(criterion), []).append(row)
    return {
        sort: {"nominal": krippendorff_alpha(table), "interval": krippendorff_alpha(table, "interval")}
        for sort, table in tables.items()
        if sort == ALL or len(tables) > 2
    }


def _icc(found: Sequence[Rater], score: Score) -> dict[str, Measure]:
    columns = [_drawings(rater, score, found) for rater in found]
    common = sorted(set.intersection(*(set(column) for column in columns))) if columns else []
    return icc([[column[drawing] for column in columns] for drawing in common])


def _drawings(rater: Rater, score: Score, among: Sequence[Rater]) -> dict[str, float]:
    """Drawing -> its score under one rater, repeats averaged."""
    given: dict[str, list[float]] = {}
    for entry in rater.entries:
        drawing = entry.drawing.id
        if score.name == MET.name:
            decided = [set(other.marks.get(unit(entry), ())) for other in among]
            shared = sorted(set.intersection(*decided))
            if shared:
                mine = rater.marks[unit(entry)]
                given.setdefault(drawing, []).append(100 * sum(mine[each] for each in shared) / len(shared))
        elif (value := entry.scores.get(score.name)) is not None:
            given.setdefault(drawing, []).append(value)
    return {drawing: sum(values) / len(values) for drawing, values in given.items()}


def call_seconds(store: Store, groups: Iterable[Group]) -> dict[str, float]:
    """Call behind the groups' marks -> the seconds of all its attempts; waiting for a turn is not among them."""
    made = (entry.marking for group in groups for entry in group.entries if entry.marking)
    wanted, found = sorted({key for marking in made for _, key in marking.replies}), dict[str, float]()
    with store.reading() as connection:
        for start in range(0, len(wanted), 500):
            query = sa.select(attempts.c.call, sa.func.sum(attempts.c.seconds)).group_by(attempts.c.call)
            rows = connection.execute(query.where(attempts.c.call.in_(wanted[start : start + 500])))
            found |= {key: float(seconds) for key, seconds in rows}
    return found
