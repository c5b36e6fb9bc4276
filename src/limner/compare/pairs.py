"""Painters compared: who stands where, who is better than whom, and how many questions it would take to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from .. import api, exams
from ..errors import UsageError
from ..protocol import READINGS, Score
from ..scoring import Group, Standing, standings
from ..stats import Interval, RankInterval, interval, paired, rank_intervals, wilson
from .fields import MET, Field, deriving, fields
from .results import Comparison, Place
from .verdicts import corrected, pair_of

ALONE = "one painter: there is nobody to compare it with"


def painters(
    exam: str,
    *,
    score: str | None = None,
    by: str | None = None,
    gap: float | None = None,
    reading: str = "careful",
    constants: Mapping[str, float] | None = None,
    **which: Any,
) -> list[Comparison]:
    """Every painter against every other, under each judge, on the questions that all of them have.

    Args:
        exam: The exam's name in the store.
        score: Which score; by default the first that is known for all painters.
        by: A tag: one comparison for each of its values.
        gap: How wide a gap the number of questions needed is for; by default the difference seen.
        reading: How stored replies are read.
        constants: Numbers the exam's scores are computed with, in place of the usual ones.
        **which: ``store``, ``painters``, ``judges``, ``variant``, ``options``, ``selection``; see `limner.api.groups`.

    Raises:
        UsageError: There is no such score or tag, or the gap is none.
    """
    if gap is not None and not gap > 0:
        raise UsageError(f"--gap {gap:g}: a gap is more than nothing")
    kind, groups = api.groups(exam, reading=reading, constants=constants, **which)
    protocol = exams.kind(kind).protocol.tuned(constants or {})
    name = exams.resolve(exam).name if exam.endswith(".toml") else exam
    found = []
    for field in fields(groups, protocol):
        parts = _categories(field, by)
        tests = sum(len(part.groups) * (len(part.groups) - 1) // 2 for _, part in parts)
        asked = _Asked(name, reading, field.score(score), by, gap, tests)
        found += corrected([_compared(asked, part, category) for category, part in parts])
    return found


@dataclass(frozen=True)
class _Asked:
    """What holds for all comparisons that are shown together; `tests` is how many pairs they have at most."""

    exam: str
    reading: str
    score: Score
    by: str | None
    gap: float | None
    tests: int


def _categories(field: Field, tag: str | None) -> list[tuple[str | None, Field]]:
    if tag is None:
        return [(None, field)]
    tags = {name for group in field.groups for entry in group.entries for name in entry.question.tags}
    if tag not in tags:
        raise UsageError(f"--by {tag}: there is: {', '.join(sorted(tags))}")
    values = {entry.question.tags.get(tag, "(none)") for group in field.groups for entry in group.entries}
    order = {value: place for place, value in enumerate(field.protocol.orders.get(tag, ()))}
    found: list[tuple[str | None, Field]] = []
    for value in sorted(values, key=lambda value: (order.get(value, len(order)), value)):
        kept = [_only(group, tag, value) for group in field.groups]
        found += [(value, part) for part in fields([group for group in kept if group.entries], field.protocol)]
    return found


def _only(group: Group, tag: str, value: str) -> Group:
    return replace(group, entries=tuple(e for e in group.entries if e.question.tags.get(tag, "(none)") == value))


def _compared(asked: _Asked, field: Field, category: str | None) -> Comparison:
    score = asked.score
    (reading,) = (known for known in READINGS if known == asked.reading)
    whole = standings(asked.exam, field.groups, field.protocol, reading)
    drawn = {
        name: values[score.name]
        for name, values, there in zip(field.names, field.drawn, field.values, strict=True)
        if score.name in there
    }
    ranks = rank_intervals(drawn) if len(drawn) > 1 else {}
    places = [_place(field, at, standing, score, ranks) for at, standing in enumerate(whole)]
    places.sort(key=lambda place: (place.score.value is None, -(place.score.value or 0.0), place.name))
    pairs = []
    at = {name: place for place, name in enumerate(field.names)}
    for one, other in combinations([place for place in places if place.score.value is not None], 2):
        first, second = at[one.name], at[other.name]
        both = paired(
            field.parts[first],
            field.parts[second],
            score.name,
            deriving(field.protocol),
            (drawn[one.name], drawn[other.name]),
            asked.tests,
        )
        pairs.append(pair_of(one, other, both, asked.gap, _per_cluster(field)))
    reason = None
    if not field.questions:
        reason = "no question is common to all painters; --painter chooses some of them"
    elif len(places) < 2:
        reason = ALONE
    elif len(drawn) < 2:
        reason = f"{score.name} is known for {len(drawn)} of {len(places)} painters; --score takes another"
    return Comparison(
        exam=asked.exam,
        reading=reading,
        judge=field.judge,
        setup=field.setup,
        score=score,
        by=asked.by,
        category=category,
        questions=len(field.questions),
        places=tuple(places),
        pairs=tuple(pairs),
        tests=0,
        reason=reason,
    )


def _per_cluster(field: Field) -> float:
    """How many questions a cluster has on average: clusters are what is drawn anew, questions what is paid for."""
    clusters = {field.protocol.cluster(entry.question) for entries in field.inside for entry in entries}
    return len(field.questions) / len(clusters) if clusters else 1.0


def _place(field: Field, at: int, standing: Standing, score: Score, ranks: Mapping[str, RankInterval]) -> Place:
    name, parts = field.names[at], field.parts[at]
    value = field.values[at].get(score.name)
    found = Interval(None, None, None, 0)
    if value is not None:
        n = int((parts[score.name][1] > 0).sum()) if score.name in parts else len(next(iter(parts.values()))[0])
        found = interval(value, field.drawn[at][score.name], n)
    view = standing.common if standing.common is not None and standing.common["n"] else standing.to_json()
    return Place(
        painter=standing.painter,
        strategy=standing.strategy,
        score=found,
        rank=ranks.get(name),
        coverage=standing.coverage,
        n=standing.n,
        expected=standing.expected,
        failures=standing.failures,
        pessimistic=standing.pessimistic.get(score.name),
        bounds=view["bounds"].get(score.name),
        wilson=_wilson(field, at, score),
        reason=_why(field, score) if value is None else None,
    )


def _wilson(field: Field, at: int, score: Score) -> Interval | None:
    """Where every question is all or nothing, the share of all with its Wilson interval."""
    if score.name == MET.name or score.name not in field.parts[at]:
        return None
    tops, bottoms = (side[field.parts[at][score.name][1] > 0] for side in field.parts[at][score.name])
    shares = tops / bottoms / score.top
    plain = np.allclose(bottoms, 1) and bool(np.all(np.isclose(shares, 0) | np.isclose(shares, 1)))
    return wilson(round(float(shares.sum())), len(shares)) if plain and len(shares) else None


def _why(field: Field, score: Score) -> str:
    if not field.questions:
        return "no question in common with the others"
    return f"{score.name} is not settled: the judge abstained, or what it is computed from is missing"
