"""Comparisons of painters, on one exam and over several: their places, which is better, how many questions tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ...core.errors import UsageError
from ...core.evaluator import Evaluated, Evaluator, label, row_name
from ...core.protocol import Protocol, Score, parse_reading
from ...exams import stored_name
from ...store import DEFAULT
from ...store.store import using_store
from .. import MET, Comparable, Group, Standing, comparable, comparables, standings_of
from ..groups import checked_on, find_groups
from ..numbers import make_derive
from ..stats import (
    Interval,
    RankInterval,
    paired,
    rank_agreement,
    rank_intervals,
    spearman_spread,
    wilson,
)
from ..stats.resample import Floats
from .results import ONE_PAINTER, Comparison, Pair, Place, make_pair, with_corrected_p, with_verdicts


def painters(
    exam: str,
    *,
    score: str | None = None,
    by: str | None = None,
    gap: float | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    on: str = "common",
    **which: Any,
) -> list[Comparison]:
    """Compare every painter with every other, under each evaluator, on the questions that all of them have.

    Controls are compared too, but get no place, and their pairs do not count in the correction for multiple tests.

    Args:
        exam: The exam's name in the store.
        score: The score to compare; by default the first that is known for all painters.
        by: A tag; there is then one comparison for each of its values.
        gap: The difference for which to compute how many questions are needed; by default the observed one.
        reading: How stored replies are read.
        constants: Numbers to compute the exam's scores with, instead of the usual ones.
        on: ``common``, or ``all`` to rank each painter on all its own questions and each pair on those both have.
        **which: ``store``, ``painters``, ``judges``, ``variant``, ``options``, …; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score or tag, or the gap is not positive.
    """
    if gap is not None and not gap > 0:
        raise UsageError(f"--gap {gap:g}: a gap must be above 0")
    kind, groups = find_groups(exam, reading=reading, constants=constants, **which)
    name, read, comparisons = stored_name(exam), parse_reading(reading), list[Comparison]()
    for side in comparables(groups, kind.protocol, checked_on(on)):
        parts = _categories(side, by)
        tests = sum(_count_tests(part) for _, part in parts)
        chosen, tables = side.score(score), [(category, standings_of(part, name, read)) for category, part in parts]
        comparisons += with_corrected_p([_comparison(rows, chosen, tests, by, each, gap) for each, rows in tables])
    return comparisons


def painters_of(rows: Sequence[Standing], score: Score) -> Comparison:
    """Compare the painters of one table by one score, as `painters` does without a tag."""
    (comparison,) = with_corrected_p([_comparison(rows, score, _count_tests(rows[0].compared))])
    return comparison


def _count_tests(side: Comparable) -> int:
    """Return the number of tests, which is the number of pairs without a control."""
    return comb(sum(not group.control for group in side.groups), 2)


def _categories(side: Comparable, tag: str | None) -> list[tuple[str | None, Comparable]]:
    """Return the painters on the questions of each value of the tag; without a tag, on all questions."""
    if tag is None:
        return [(None, side)]
    tags = {name for group in side.everyone for entry in group.entries for name in entry.question.tags}
    if tag not in tags:
        raise UsageError(f"--by {tag}: choose from {', '.join(sorted(tags))}")
    values = {entry.question.tags.get(tag, "(none)") for group in side.everyone for entry in group.entries}
    categories: list[tuple[str | None, Comparable]] = []
    for value in side.protocol.in_order(tag, values):
        kept = [_restricted(group, tag, value) for group in side.everyone]
        if having := [group for group in kept if group.entries]:
            categories.append((value, comparable(having, side.protocol, side.on)))
    return categories


def _restricted(group: Group, tag: str, value: str) -> Group:
    """Return the group restricted to questions with this value of a tag."""
    entries = tuple(e for e in group.entries if e.question.tags.get(tag, "(none)") == value)
    return replace(group, entries=entries, absent=tuple(q for q in group.absent if q.tags.get(tag, "(none)") == value))


def _comparison(
    standings: Sequence[Standing],
    score: Score,
    tests: int,
    by: str | None = None,
    category: str | None = None,
    gap: float | None = None,
) -> Comparison:
    """Compare the painters of one table; `tests` is the most tests that comparisons shown together can have."""
    side, rows = standings[0].compared, {row.name: row for row in standings}
    resampled = {
        name: values[score.name]
        for name, values, painter_values in zip(side.names, side.drawn, side.values, strict=True)
        if score.name in painter_values
    }
    controls = {group.name for group in side.everyone if group.control}
    rivals = {name: values for name, values in resampled.items() if name not in controls}
    ranks = rank_intervals(rivals) if len(rivals) > 1 else {}
    places = [_place(side, at, rows[group.name], score, ranks) for at, group in enumerate(side.groups)]
    places += [_uncompared_place(rows[group.name], score) for group in (*side.beside, *side.left_out)]
    places.sort(key=lambda p: (p.name in controls, p.score.value is None, -(p.score.value or 0.0), p.name))
    reason = None
    if not side.groups:
        reason = "no painter has a score"
    elif not side.questions and side.on == "common":
        reason = "no question is common to all painters; choose some of them with --painter"
    elif len(side.groups) < 2:
        reason = ONE_PAINTER
    elif len(resampled) < 2:
        known = f"{len(resampled)} of {len(side.groups)} painters"
        reason = f"{score.name} is known for {known}; choose another score with --score"
    return Comparison(
        exam=standings[0].exam,
        reading=standings[0].reading,
        evaluator=side.evaluator,
        compared=side,
        score=score,
        by=by,
        category=category,
        questions=len(side.questions),
        places=tuple(places),
        pairs=tuple(_pairs(side, score, tests, gap)),
        tests=0,
        reason=reason,
    )


def side_pairs(side: Comparable, score: Score) -> tuple[Pair, ...]:
    """Return the same pairs of painters as `painters` does without a tag.

    This is faster, because no places are computed.
    """
    return tuple(with_verdicts(_pairs(side, score, _count_tests(side))))


def _pairs(side: Comparable, score: Score, tests: int, gap: float | None = None) -> list[Pair]:
    """Return all pairs that have the score and the questions, best first, pairs with a control last."""
    worth = {
        group.name: values[score.name]
        for group, values in zip(side.groups, side.values, strict=True)
        if score.name in values and group not in side.beside
    }
    names = sorted(worth, key=lambda name: (-worth[name], name))
    pairs = [_pair(side, score, tests, one, other, gap) for one, other in combinations(names, 2)]
    return sorted(pairs, key=lambda pair: not pair.corrected)


def _pair(side: Comparable, score: Score, tests: int, one: str, other: str, gap: float | None) -> Pair:
    """Compare two painters on the questions that all have, or with ``on="all"`` on those that the two share."""
    is_test = not any(group.control for group in side.groups if group.name in (one, other))
    if side.on == "all":
        two = [group for group in side.groups if group.name in (one, other)]
        side = comparable(two, side.protocol)
    at = side.names.index
    if one not in side.names or other not in side.names:
        both = paired({}, {}, score.name)
    else:
        first, second = at(one), at(other)
        both_have = score.name in side.values[first] and score.name in side.values[second]
        resampled = (side.drawn[first][score.name], side.drawn[second][score.name]) if both_have else None
        derive = make_derive(side.protocol)
        sides = side.parts[first], side.parts[second]
        both = paired(*sides, score.name, derive, resampled, tests if is_test else 1, score.top)
    return make_pair(one, other, both, gap, side.per_cluster, corrected=is_test)


def _place(side: Comparable, at: int, standing: Standing, score: Score, ranks: Mapping[str, RankInterval]) -> Place:
    name, score_interval = side.names[at], side.interval(at, score.name)
    ends = standing.bounds.get(score.name)
    place = _uncompared_place(standing, score)
    return replace(
        place,
        score=score_interval,
        rank=ranks.get(name),
        bounds={"low": ends[0], "high": ends[1]} if ends else None,
        wilson=_wilson(side, at, score),
        reason=_no_value_reason(side, score) if score_interval.value is None else None,
    )


def _uncompared_place(standing: Standing, score: Score) -> Place:
    """Return the place of a painter that is not compared: one without a score, or a control with other questions."""
    return Place(
        painter=standing.painter,
        strategy=standing.strategy,
        name=standing.name,
        score=standing.scores.get(score.name, Interval()),
        rank=None,
        coverage=standing.coverage,
        n=standing.n,
        expected=standing.expected,
        failures=standing.failures,
        pessimistic=standing.pessimistic.value(score.name),
        bounds=None,
        reason="a control that has only part of the questions" if standing.n else "no score",
    )


def _wilson(side: Comparable, at: int, score: Score) -> Interval | None:
    """Return the share of full scores with its Wilson interval, if every question scores all or nothing."""
    if score.name == MET.name or score.name not in side.parts[at]:
        return None
    tops, bottoms = (each[side.parts[at][score.name][1] > 0] for each in side.parts[at][score.name])
    shares = tops / bottoms / score.top
    plain = np.allclose(bottoms, 1) and bool(np.all(np.isclose(shares, 0) | np.isclose(shares, 1)))
    return wilson(round(float(shares.sum())), len(shares)) if plain and len(shares) else None


def _no_value_reason(side: Comparable, score: Score) -> str:
    if not side.questions:
        return "no question in common with the others"
    return f"{score.name} is unknown: the judge abstained, or something it is computed from is missing"


@dataclass(frozen=True)
class ExamColumn(Evaluated):
    """One exam with the chosen evaluator, the score, and its value for each painter.

    Attributes:
        drawn: Painter -> the score in each resample of the exam's questions.
    """

    exam: str
    evaluator: Evaluator
    score: Score
    questions: int
    values: Mapping[str, float]
    drawn: Mapping[str, Floats]


@dataclass(frozen=True)
class Across:
    """Painters over several exams.

    Attributes:
        painters: The painters that at least two of the exams have.
        pairs: The agreement of orders for each pair of exams: ``first``, ``second``, ``painters``, ``spearman``
            (with ``low`` and ``high`` from resampling the questions of both) and ``kendall``.
    """

    columns: tuple[ExamColumn, ...]
    painters: tuple[str, ...]
    pairs: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        columns = [
            {
                "exam": column.exam,
                "judge": column.judge,
                "evaluator": column.evaluator.name,
                "setup": dict(column.setup),
                **column.evaluator.warnings_json,
                "score": column.score.name,
                "questions": column.questions,
            }
            for column in self.columns
        ]
        rows = [
            {"painter": painter, "scores": {column.exam: column.values.get(painter) for column in self.columns}}
            for painter in self.painters
        ]
        return {"exams": columns, "painters": rows, "pairs": [dict(pair) for pair in self.pairs]}


def exams(
    names: Sequence[str],
    *,
    judges: Sequence[str] = (),
    score: str | None = None,
    reading: str = "careful",
    store: Any = DEFAULT,
    painters: Sequence[str] = (),
) -> Across:
    """Return how well several exams of a store agree on the order of their common painters.

    Painters are matched by name, options and strategy, without the options of an exam. For each exam, the evaluator
    with the most painters is used.

    Args:
        names: Two exams or more.
        judges: Only these judges.
        score: A score that all the exams have; by default the first main score of each.
        reading: How stored replies are read.
        store: The store that holds the results.
        painters: Only these painters.

    Raises:
        UsageError: There are fewer than two exams, or one of them has no marks.
    """
    if len(set(names)) < 2:
        raise UsageError("--exams takes two exams or more, such as --exams ONE,ANOTHER")
    with using_store(store) as opened:
        columns = [_column(name, judges, score, reading, opened, painters) for name in dict.fromkeys(names)]
    counts = Counter(painter for column in columns for painter in column.values)
    shared = sorted(painter for painter, count in counts.items() if count > 1)
    pairs = tuple(_exam_pair(first, other) for first, other in combinations(columns, 2))
    return Across(tuple(columns), tuple(shared), pairs)


def _column(
    name: str, judges: Sequence[str], score: str | None, reading: str, store: Any, painters: Sequence[str]
) -> ExamColumn:
    kind, groups = find_groups(name, store=store, judges=judges, reading=reading, painters=painters)
    protocol = kind.protocol
    sides = comparables(groups, protocol)
    if not sides:
        raise UsageError(f"{name}: nothing is marked{' by this judge' if judges else ''}; `limner run {name}` marks")
    # Among equals, prefer one with a score of the exam to one with the fallback score.
    side = max(sides, key=lambda each: (len(each.groups), each.score(score) in protocol.scored, len(each.questions)))
    chosen = side.score(score)
    values, drawn = {}, {}
    for painter, at in _keys(side, protocol).items():
        if chosen.name in side.values[at]:
            values[painter] = side.values[at][chosen.name]
            drawn[painter] = side.drawn[at][chosen.name]
    return ExamColumn(name, side.evaluator, chosen, len(side.questions), values, drawn)


def _keys(side: Comparable, protocol: Protocol[Any]) -> dict[str, int]:
    """Return painter without the exam's options -> its index; among several options, the usual ones count."""
    places: dict[str, int] = {}
    for at, group in sorted(enumerate(side.groups), key=lambda pair: (len(pair[1].painter), pair[1].painter)):
        places.setdefault(row_name(_own(group, protocol), group.strategy), at)
    return places


def _own(group: Group, protocol: Protocol[Any]) -> str:
    drawing = group.entries[0].drawing
    return label(drawing.painter, {k: v for k, v in drawing.options.items() if k not in protocol.draw_options})


def _exam_pair(first: ExamColumn, second: ExamColumn) -> dict[str, Any]:
    common = sorted(first.values.keys() & second.values.keys())
    alike = rank_agreement(first.values, second.values)
    order = alike["spearman"]
    low = high = None
    if order.value is not None:
        # Questions of two exams are resampled independently: the common seed must not pair them.
        draws = [np.array([column.drawn[painter] for painter in common]).T for column in (first, second)]
        low, high = spearman_spread(order.value, draws[0], np.roll(draws[1], 1, axis=0))
    body: dict[str, Any] = {"first": first.exam, "second": second.exam, "painters": alike["painters"]}
    body["spearman"] = {**order.to_json(), "low": low, "high": high}
    return body | {"kendall": alike["kendall"].to_json()}
