"""Painters compared: their places, who is better than whom, and how many questions would show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from ... import exams
from ...core.errors import UsageError
from ...core.protocol import Protocol, Reading, Score, parse_reading
from .. import MET, Comparable, Group, Standing, comparable, comparables, standings_of
from ..groups import checked_on, find_groups
from ..numbers import MetTable, RowParts, gather_parts, make_derive, met_parts_of_shares, tops, values_of
from ..stats import Interval, Parts, RankInterval, difference_interval, paired, rank_intervals, wilson
from .results import Comparison, Pair, Place, make_pair, with_corrected_p, with_verdicts

ONE_PAINTER = "only one painter: nothing to compare it with"


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

    Controls are compared too, but have no place, and their pairs no part in the correction for many tests.

    Args:
        exam: The exam's name in the store.
        score: Which score; by default the first that is known for all painters.
        by: A tag: one comparison for each of its values.
        gap: How wide a gap the number of questions needed is for; by default the difference seen.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        on: ``all`` compares every painter on all its own questions, and every two on those the two have.
        **which: ``store``, ``painters``, ``judges``, ``variant``, ``options``, …; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score or tag, or the gap is zero.
    """
    if gap is not None and not gap > 0:
        raise UsageError(f"--gap {gap:g}: a gap must be above 0")
    kind, groups = find_groups(exam, reading=reading, constants=constants, **which)
    comparisons = []
    for side in comparables(groups, kind.protocol, checked_on(on)):
        parts = _categories(side, by)
        tests = sum(_tests(part) for _, part in parts)
        asked = _Terms(exams.stored_name(exam), parse_reading(reading), side.score(score), by, gap, tests)
        comparisons += with_corrected_p([_compared(asked, part, category) for category, part in parts])
    return comparisons


def painters_of(rows: Sequence[Standing], score: Score) -> Comparison:
    """Compare the painters of one table by one score, as `painters` does with all questions."""
    first = rows[0]
    asked = _Terms(first.exam, first.reading, score, None, None, _tests(first.compared))
    (comparison,) = with_corrected_p([_compared(asked, first.compared, None, rows)])
    return comparison


@dataclass(frozen=True)
class _Terms:
    """What holds for all comparisons that are shown together; `tests` is how many tests they have at most."""

    exam: str
    reading: Reading
    score: Score
    by: str | None
    gap: float | None
    tests: int


def _tests(side: Comparable) -> int:
    """Return how many pairs of two painters there are; a pair with a control is not a test."""
    return comb(sum(not group.control for group in side.groups), 2)


def _categories(side: Comparable, tag: str | None) -> list[tuple[str | None, Comparable]]:
    if tag is None:
        return [(None, side)]
    tags = {name for group in side.everyone for entry in group.entries for name in entry.question.tags}
    if tag not in tags:
        raise UsageError(f"--by {tag}: choose from {', '.join(sorted(tags))}")
    values = {entry.question.tags.get(tag, "(none)") for group in side.everyone for entry in group.entries}
    categories: list[tuple[str | None, Comparable]] = []
    for value in side.protocol.in_order(tag, values):
        kept = [_with_value(group, tag, value) for group in side.everyone]
        if having := [group for group in kept if group.entries]:
            categories.append((value, comparable(having, side.protocol, side.on)))
    return categories


def _with_value(group: Group, tag: str, value: str) -> Group:
    entries = tuple(e for e in group.entries if e.question.tags.get(tag, "(none)") == value)
    return replace(group, entries=entries, absent=tuple(q for q in group.absent if q.tags.get(tag, "(none)") == value))


def _compared(asked: _Terms, side: Comparable, category: str | None, standing: Sequence[Standing] = ()) -> Comparison:
    score = asked.score
    rows = {row.name: row for row in standing or standings_of(side, asked.exam, asked.reading)}
    drawn = {
        name: values[score.name]
        for name, values, painter_values in zip(side.names, side.drawn, side.values, strict=True)
        if score.name in painter_values
    }
    controls = {group.name for group in side.everyone if group.control}
    rivals = {name: values for name, values in drawn.items() if name not in controls}
    ranks = rank_intervals(rivals) if len(rivals) > 1 else {}
    places = [_place(side, at, rows[group.name], score, ranks) for at, group in enumerate(side.groups)]
    places += [_apart(rows[group.name], score) for group in (*side.beside, *side.left_out)]
    places.sort(key=lambda p: (p.name in controls, p.score.value is None, -(p.score.value or 0.0), p.name))
    reason = None
    if not side.groups:
        reason = "no painter has a score"
    elif not side.questions and side.on == "common":
        reason = "no question is common to all painters; --painter chooses some of them"
    elif len(side.groups) < 2:
        reason = ONE_PAINTER
    elif len(drawn) < 2:
        reason = f"{score.name} is known for {len(drawn)} of {len(side.groups)} painters; --score takes another"
    return Comparison(
        exam=asked.exam,
        reading=asked.reading,
        evaluator=side.evaluator,
        compared=side,
        score=score,
        by=asked.by,
        category=category,
        questions=len(side.questions),
        places=tuple(places),
        pairs=tuple(_pairs(side, score, asked.tests, asked.gap)),
        tests=0,
        reason=reason,
    )


def side_pairs(side: Comparable, score: Score) -> tuple[Pair, ...]:
    """Return every two painters of one side: the pairs that `painters` gives for all questions.

    No places are computed, so it is faster than `painters`.
    """
    return tuple(with_verdicts(_pairs(side, score, _tests(side))))


def _pairs(side: Comparable, score: Score, tests: int, gap: float | None = None) -> list[Pair]:
    """Return every two that have the score, the best first; pairs of two painters before those with a control."""
    worth = {
        name: values[score.name] for name, values in zip(side.names, side.values, strict=True) if score.name in values
    }
    names = sorted(worth, key=lambda name: (-worth[name], name))
    pairs = [_pair(side, score, tests, one, other, gap) for one, other in combinations(names, 2)]
    return sorted(pairs, key=lambda pair: not pair.corrected)


def _pair(side: Comparable, score: Score, tests: int, one: str, other: str, gap: float | None) -> Pair:
    """Return two painters on the questions all have, or, where each has its own, on those the two share."""
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
        drawn = (side.drawn[first][score.name], side.drawn[second][score.name]) if both_have else None
        derive = make_derive(side.protocol)
        sides = side.parts[first], side.parts[second]
        both = paired(*sides, score.name, derive, drawn, tests if is_test else 1, score.top)
    return make_pair(one, other, both, gap, side.per_cluster, corrected=is_test)


def _place(side: Comparable, at: int, standing: Standing, score: Score, ranks: Mapping[str, RankInterval]) -> Place:
    name, score_interval = side.names[at], side.interval(at, score.name)
    ends = standing.bounds.get(score.name)
    place = _apart(standing, score)
    return replace(
        place,
        score=score_interval,
        rank=ranks.get(name),
        bounds={"low": ends[0], "high": ends[1]} if ends else None,
        wilson=_wilson(side, at, score),
        reason=_why(side, score) if score_interval.value is None else None,
    )


def _apart(standing: Standing, score: Score) -> Place:
    """Return a painter that is not compared: without a score, or a control on other questions."""
    return Place(
        painter=standing.painter,
        strategy=standing.strategy,
        score=standing.scores.get(score.name, Interval()),
        rank=None,
        coverage=standing.coverage,
        n=standing.n,
        expected=standing.expected,
        failures=standing.failures,
        pessimistic=standing.pessimistic.value(score.name),
        bounds=None,
        reason="a control on part of the questions" if standing.n else "no score",
    )


def _wilson(side: Comparable, at: int, score: Score) -> Interval | None:
    """Return the share of all with its Wilson interval, where every question is all or nothing."""
    if score.name == MET.name or score.name not in side.parts[at]:
        return None
    tops, bottoms = (each[side.parts[at][score.name][1] > 0] for each in side.parts[at][score.name])
    shares = tops / bottoms / score.top
    plain = np.allclose(bottoms, 1) and bool(np.all(np.isclose(shares, 0) | np.isclose(shares, 1)))
    return wilson(round(float(shares.sum())), len(shares)) if plain and len(shares) else None


def _why(side: Comparable, score: Score) -> str:
    if not side.questions:
        return "no question in common with the others"
    return f"{score.name} is not known: the judge abstained, or what it is computed from is missing"


@dataclass(frozen=True)
class MarkedSide:
    """One of the two.

    Attributes:
        rows: What every marking adds to the numbers.
        met: The share of every criterion that each marking gave.
        abstained: Whether some mark is left open: a score that is settled for some rows only is then no score.
    """

    rows: tuple[RowParts, ...]
    met: MetTable
    abstained: bool = False

    def on(self, places: frozenset[tuple[str, str]]) -> MarkedSide:
        """Return the side on these questions (and clusters) alone."""
        rows = tuple(row for row in self.rows if (row.question, row.cluster) in places)
        met = {key: shares for key, shares in self.met.items() if (key[1], key[0]) in places}
        return MarkedSide(rows, met, self.abstained)

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """Its questions, with the clusters they are in."""
        return frozenset((row.question, row.cluster) for row in self.rows)

    @property
    def parts(self) -> Parts:
        """What its numbers are made of."""
        parts, settled = gather_parts(self.rows)
        if self.abstained:
            return {name: part for name, part in parts.items() if settled[name] == len(self.rows)}
        return parts


@dataclass(frozen=True)
class Gap:
    """A number of both on the questions both have, and the first one's minus the second's with its interval."""

    one: float
    other: float
    difference: Interval


def differences(one: MarkedSide, other: MarkedSide, protocol: Protocol[Any], names: Iterable[str]) -> dict[str, Gap]:
    """Return the numbers that both have, and their differences, on the questions both have.

    The interval is that of painters who are compared; see `limner.scoring.stats.paired`. `MET` is over the criteria
    that both decided.
    """
    common = one.places & other.places
    first, second = one.on(common), other.on(common)
    met = met_parts_of_shares([first.met, second.met], {cluster for _, cluster in common})
    sides = [{**side.parts, **more} for side, more in zip((first, second), met, strict=True)]
    values = [values_of(parts, protocol) for parts in sides]
    best, derive = tops(protocol), make_derive(protocol)
    return {
        name: Gap(
            values[0][name],
            values[1][name],
            difference_interval(sides[0], sides[1], name, derive, top=best.get(name)),
        )
        for name in (*names, MET.name)
        if name in values[0] and name in values[1]
    }
