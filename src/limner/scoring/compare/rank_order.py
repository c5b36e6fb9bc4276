"""Whether two judges put painters in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.protocol import Protocol, Score
from .. import Entry, comparable
from ..parts import deriving, met_parts, score_parts, values_of
from ..stats import Parts, rank_agreement, spearman_spread, spreads
from .raters import Rater
from .results import Order

Table = dict[str, dict[str, list[Entry]]]
"""Painter -> question -> what was marked of it."""


def order(one: Rater, other: Rater, score: Score) -> Order:
    """The painters both have marked, on the questions that all of these have under both."""
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
    (alike,) = rank_agreement({side: {painter: pair[int(side)] for painter, pair in scores.items()} for side in "01"})
    low = high = None
    if alike["spearman"].value is not None:
        kept = [pair for painter, pair in zip(painters, parts, strict=True) if painter in scores]
        low, high = _spread(alike["spearman"].value, kept, score, one.protocol)
    return Order(len(questions), scores, alike["spearman"], low, high, alike["kendall"], alike["shift"])


def _nothing() -> Order:
    (alike,) = rank_agreement({"0": {}, "1": {}})
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
    """What one painter's scores are made of, under the first judge and under the second."""
    sides = [[entry for question in questions for entry in table[painter][question]] for table in tables]
    first, second = met_parts(sides, protocol)
    return {**score_parts(sides[0], protocol), **first}, {**score_parts(sides[1], protocol), **second}


def _spread(
    value: float, parts: Sequence[tuple[Parts, Parts]], score: Score, protocol: Protocol[Any]
) -> tuple[float | None, float | None]:
    drawn = spreads([pair[side] for side in (0, 1) for pair in parts], deriving(protocol))
    values = np.array([each[score.name] for each in drawn])
    return spearman_spread(value, values[: len(parts)].T, values[len(parts) :].T)
