"""Judges compared: on single marks, on the scores of drawings, and on the order of painters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from ... import exams
from ...core.errors import UsageError
from ...core.protocol import Protocol, Score
from ...store import DEFAULT, Store
from ...store.markings import marking_setups
from ...store.schema import attempts
from ...store.store import using_store
from .. import MET, Entry, Group, comparable, evaluators_of
from ..entries import open_kind
from ..groups import find_groups
from ..numbers import deriving, met_parts, score_parts, values_of
from ..stats import (
    MarkAgreement,
    Measure,
    Parts,
    RatedUnit,
    icc,
    krippendorff_alpha,
    mark_agreement,
    rank_agreement,
    spearman_spread,
    spreads,
)
from ..stats.agreement import LEVELS
from .everyone import all_numbers, all_replacements, evaluator_words, load_opinions
from .opinions import UNITS, by_sort
from .results import Agreement, Alphas, JudgePair, Order, Rater, Unit, raters, unit

MarkTable = Mapping[Unit, Mapping[str, float]]
"""Drawing and repeat -> criterion -> what was marked."""


def judges(
    exam: str,
    *,
    score: str | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    store: Store | str | Path = DEFAULT,
    study: str | None = None,
    by: Sequence[str] = (),
    judges: Sequence[str] = (),
    units: Sequence[str] = UNITS,
    **which: Any,
) -> Agreement:
    """Every evaluator against every other on the drawings both have marked or rated.

    Where none is named these are the judges and panels in every way they were asked, metrics, and the people of each
    study together.

    Args:
        exam: The exam's name in the store.
        score: The score of drawings and painters; by default the first that all judges settle.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        store: Where the marks are.
        study: Only people of this study, and only its drawings, each counted by how likely the sample took it.
        by: Tags for whose values there are numbers apart; ``painter`` for each painter's drawings.
        judges: Only these: judges, metrics, persons (``person/anna``), people of a study (``people/pilot``).
        units: What any two are compared on: ``drawing``, ``painter``, ``painter_tag``.
        **which: ``painters``, ``variant``, ``options``, ``selection``; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score, study or evaluator.
    """
    with using_store(store) as opened:
        name = exams.name_of(exam)
        protocol, groups = open_kind(opened, name, constants).protocol, list[Group]()
        marked = marking_setups(opened, name)
        words = evaluator_words(judges, evaluators_of(opened, name), marked)
        if words.marked or not judges:
            how = {"reading": reading, "constants": constants, "store": opened, **which}
            _, groups = find_groups(exam, judges=words.marked, **how)
        took = call_seconds(opened, groups)
        everyone = load_opinions(opened, name, protocol, reading, constants, study, which)
    found = raters(groups, protocol, took)
    chosen = _score(found, protocol, score)
    reason = None
    numbers = tuple(all_numbers(everyone, groups, words, protocol, by, units))
    if len(found) < 2 and not numbers:
        reason = "nothing is marked yet" if not found else "one judge, asked in one way: nobody to compare it with"
    pairs = tuple(_judge_pair(one, other, chosen) for one, other in combinations(found, 2))
    alphas, iccs = _alphas(found), _icc(found, chosen)
    replacements = tuple(all_replacements(everyone, groups, words))
    return Agreement(name, reading, chosen, tuple(found), pairs, alphas, iccs, reason, numbers, replacements)


def _score(found: Sequence[Rater], protocol: Protocol[Any], wanted: str | None) -> Score:
    own = {score.name: score for score in protocol.scored} | {MET.name: MET}
    if wanted is not None:
        if wanted not in own:
            raise UsageError(f"--score {wanted}: there is: {', '.join(own)}")
        return own[wanted]
    groups = [group for rater in found for group in rater.groups]
    settled = [values_of(score_parts(group.scored, protocol), protocol) for group in groups if group.scored]
    main = [score for score in protocol.scored if score.main]
    return next((score for score in main if settled and all(score.name in each for each in settled)), MET)


def marks_compared(one: MarkTable, other: MarkTable, clusters: Mapping[str, str]) -> dict[str, MarkAgreement]:
    """Compare two sets of marks: on each sort of criteria that both decided, and in all.

    Args:
        one: What one judge marked.
        other: The same by another judge, or asked in another way.
        clusters: Drawing -> the question that is drawn anew as a whole.
    """
    marks = [
        (criterion, RatedUnit(clusters[key[0]], (one[key].get(criterion), other[key].get(criterion))))
        for key in sorted(one.keys() & other.keys())
        for criterion in sorted(one[key].keys() | other[key].keys())
    ]
    sorts = by_sort(marks)
    return {sort: mark_agreement(sorts[sort]) for sort in by_sort(mark for mark in marks if len(mark[1].said) > 1)}


def _judge_pair(one: Rater, other: Rater, score: Score) -> JudgePair:
    both = [one, other]
    return JudgePair(
        first=one.name,
        second=other.name,
        marks=marks_compared(one.marks, other.marks, one.clusters),
        alpha=_alphas(both),
        icc=_icc(both, score),
        order=order(one, other, score),
    )


def _alphas(found: Sequence[Rater]) -> Alphas:
    rows = []
    for key in sorted({key for rater in found for key in rater.marks}):
        marked = [rater.marks.get(key, {}) for rater in found]
        for criterion in sorted({criterion for marks in marked for criterion in marks}):
            rows.append((criterion, [marks.get(criterion) for marks in marked]))
    return {
        sort: {level: krippendorff_alpha(table, level) for level in LEVELS} for sort, table in by_sort(rows).items()
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
    query = sa.select(attempts.c.call, sa.func.sum(attempts.c.seconds)).group_by(attempts.c.call)
    keys = (key for marking in made for _, key in marking.replies)
    return {key: float(seconds) for key, seconds in store.rows(query, attempts.c.call, keys)}


Table = dict[str, dict[str, list[Entry]]]
"""Painter -> question -> what was marked of it."""


def order(one: Rater, other: Rater, score: Score) -> Order:
    """Return the painters both have marked, on the questions that all of these have under both."""
    tables = [_by_painter(rater) for rater in (one, other)]
    both = {painter for painter, questions in tables[0].items() if questions.keys() & tables[1].get(painter, {}).keys()}
    sides = [group for rater in (one, other) for group in rater.groups if group.name in both]
    if not sides:
        return _nothing()
    found = comparable(sides, one.protocol)
    names = found.names
    painters = sorted(painter for painter in both if names.count(painter) == 2)
    questions = sorted(found.questions)
    parts = [_parts(tables, painter, questions, one.protocol) for painter in painters]
    scores = {}
    for painter, pair in zip(painters, parts, strict=True):
        values = [values_of(side, one.protocol).get(score.name) for side in pair]
        if values[0] is not None and values[1] is not None:
            scores[painter] = (values[0], values[1])
    alike = rank_agreement(*({painter: pair[side] for painter, pair in scores.items()} for side in (0, 1)))
    low = high = None
    if alike["spearman"].value is not None:
        kept = [pair for painter, pair in zip(painters, parts, strict=True) if painter in scores]
        low, high = _spread(alike["spearman"].value, kept, score, one.protocol)
    return Order(len(questions), scores, alike["spearman"], low, high, alike["kendall"], alike["shift"])


def _nothing() -> Order:
    alike = rank_agreement({}, {})
    return Order(0, {}, alike["spearman"], None, None, alike["kendall"], alike["shift"])


def _by_painter(rater: Rater) -> Table:
    found: Table = {}
    for group in rater.groups:
        for entry in group.scored:
            home = found.setdefault(group.name, {})
            home.setdefault(entry.question.id, []).append(entry)
    return found


def _parts(
    tables: Sequence[Table], painter: str, questions: Sequence[str], protocol: Protocol[Any]
) -> tuple[Parts, Parts]:
    """Return what one painter's scores are made of, under the first judge and under the second."""
    sides = [[entry for question in questions for entry in table[painter][question]] for table in tables]
    first, second = met_parts(sides, protocol)
    return {**score_parts(sides[0], protocol), **first}, {**score_parts(sides[1], protocol), **second}


def _spread(
    value: float, parts: Sequence[tuple[Parts, Parts]], score: Score, protocol: Protocol[Any]
) -> tuple[float | None, float | None]:
    drawn = spreads([pair[side] for side in (0, 1) for pair in parts], deriving(protocol))
    values = np.array([each[score.name] for each in drawn])
    return spearman_spread(value, values[: len(parts)].T, values[len(parts) :].T)
