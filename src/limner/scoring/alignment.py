"""Painters' numbers from people and from each other evaluator: the points of a correlation with people."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from ..core.errors import UsageError
from ..core.evaluator import SHOWN_KINDS, row_name
from ..exams import kind
from ..store import DEFAULT, Store
from ..store.records import load_drawings
from ..store.store import using_store
from . import MET, evaluators_of
from .compare.judges import ExamOpinions, load_opinions, studies_of, wanted_evaluators
from .compare.opinions import RATED, ComparedDrawings, Opinion, rated_scale
from .compare.pair_numbers import points_of
from .entries import shown_painters
from .groups import stored_exam
from .preferences import PEOPLE, Preferences, preferences
from .stats import Correlation, correlate

PAIRS_WON = "pairs won"
RANK_SCALE = "rank"
"""The scale on which lower is better."""
LEAST = 3
"""The minimum number of points for a correlation."""


@dataclass(frozen=True)
class AlignedPoint:
    """A painter, or a painter on one value of a tag, with people's number and the evaluator's."""

    painter: str
    value: str
    people: float
    evaluator: float


@dataclass(frozen=True)
class Alignment:
    """One evaluator compared with people.

    Attributes:
        judge: The evaluator's name in its setup, such as ``metric/fid``.
        scale: The name of the evaluator's number.
        asked: The name of people's number.
    """

    evaluator: str
    judge: str
    scale: str
    asked: str
    points: tuple[AlignedPoint, ...]

    def measure(self, name: str) -> Correlation:
        """Return ``pearson`` or ``spearman`` over the points; the interval is over painters."""
        people, evaluator = [p.people for p in self.points], [p.evaluator for p in self.points]
        if len(people) < LEAST:
            return Correlation(None, n=len(people), reason=f"fewer than {LEAST} points")
        return correlate(people, evaluator, [p.painter for p in self.points], keys=[p.value for p in self.points])[name]


def alignments(
    exam: str,
    *,
    study: str | None = None,
    judges: Sequence[str] = (),
    scale: str | None = None,
    tag: str | None = None,
    reading: str = "careful",
    store: Store | str | Path = DEFAULT,
    **which: Any,
) -> list[Alignment]:
    """Compare every judge and metric with people, painter by painter, on drawings for which both have a number.

    Args:
        exam: The exam's name in the store.
        study: Only use this study's people.
        judges: Only compare these evaluators.
        scale: The scale of people's ratings; by default the average of all scales. If people only gave marks, the
            score computed from them; by default the exam's first main score.
        tag: Make a point for each painter and value of this tag.
        reading: How stored replies are read.
        store: The store that holds marks and ratings.
        **which: ``painters``, ``without``, ``variant``, ``options``, ``wording``.

    Raises:
        UsageError: There is no such study, no number by people, or none by other evaluators.
    """
    with using_store(store) as opened:
        named = stored_exam(exam, opened)
        studies_of(opened, named.name, study)
        evaluators = evaluators_of(opened, named.name)
        wanted = wanted_evaluators(judges, evaluators, which)
        everyone = load_opinions(opened, named.name, which, reading=reading)
        rows = shown_painters(kind(named.kind), load_drawings(opened, named.name))
        shown = {row_name(*row): row_name(name, row[1]) for row, name in rows.items()}
        chosen = [] if tag else _preferences(named.name, opened, study=study)
        people = _people(everyone, study, scale, [_won(each, shown) for each in chosen if _by_people(each, scale)])
        if people is None:
            by = f" by {scale}" if scale else ""
            raise UsageError(f"{named.name}: no person has marked, rated or chosen{by}; a study asks people")
        sides = [one for one in everyone.wanted(wanted) if one.kind in (*SHOWN_KINDS, "metric")]
        for evaluator in evaluators if not tag else ():
            if evaluator.kind == "metric" and evaluator.name in wanted.names:
                chosen = _preferences(named.name, opened, judges=[evaluator.id])
                sides += [replace(_won(each, shown), evaluator=evaluator) for each in chosen[:1]]
    only = {seen.painter for seen in everyone.seen.values()} if which.get("painters") or which.get("without") else None
    aligned = [_aligned(people, side, everyone, tag, only) for side in sides]
    if not any(aligned):
        names_there = ", ".join(sorted(each.name for each in evaluators if each.kind != "person")) or "nobody"
        raise UsageError(f"{named.name}: no evaluator to compare with people; there are: {names_there}")
    listed = [each for each in aligned if each is not None]
    return sorted(listed, key=lambda each: (each.judge.startswith("metric/"), each.evaluator))


def _aligned(
    people: Opinion, side: Opinion, everyone: ExamOpinions, tag: str | None, only: Container[str] | None
) -> Alignment | None:
    """Return the points of one judge or metric, of these painters only; None if it has no number.

    A judge is compared by its first main score that abstentions leave known, or else by the share of criteria met.
    """
    assert side.evaluator is not None
    if side.kind == "metric":
        name = side.evaluator.judge.removeprefix("metric/")
        shown = name.partition(":")[0]
        names = [PAIRS_WON, name, rated_scale(shown, everyone.protocol)]
    else:
        names = [score.name for score in everyone.protocol.scored if score.main and side.settles(score.name)]
        names += [MET.name]
    number = next((name for name in names if name in side.scores or name in side.painters), None)
    if number is None:
        return None
    (asked,) = people.scales
    field = ComparedDrawings(everyone.protocol, everyone.seen, {}, shared=False)
    spots, (first, second) = points_of((people, side), (asked, number), field, tag)
    points = [
        AlignedPoint(*spot, float(mine), float(theirs))
        for spot, mine, theirs in zip(spots, first, second, strict=True)
        if not np.isnan(mine + theirs) and (only is None or spot[0] in only)
    ]
    scale = shown if side.kind == "metric" and number != PAIRS_WON else number
    return Alignment(side.evaluator.name, side.evaluator.judge, scale, asked, tuple(points))


def _people(everyone: ExamOpinions, study: str | None, scale: str | None, chosen: Sequence[Opinion]) -> Opinion | None:
    """Return people's numbers: their ratings, their choices, or the scores by their marks, the first that there are."""
    persons = [one for one in everyone.opinions if one.kind == "person" and study in (None, one.study)]
    wanted = scale and rated_scale(scale, everyone.protocol)
    rated = [
        {name for name in person.scales & person.scores.keys() if (name == wanted if scale else name != RANK_SCALE)}
        for person in persons
    ]
    if any(rated):
        return _mean_opinion(persons, rated)
    if chosen:
        return chosen[0]
    for name in [scale] if scale else [score.name for score in everyone.protocol.scored if score.main]:
        if any(name in person.scores for person in persons):
            return _mean_opinion(persons, [{name} & (person.scores.keys() - person.scales) for person in persons])
    return None


def _mean_opinion(persons: Sequence[Opinion], names: Sequence[Set[str]]) -> Opinion:
    """Return the mean over persons of each one's mean over these scales or scores of theirs."""
    given: dict[str, list[float]] = {}
    for person, own in zip(persons, names, strict=True):
        numbers: dict[str, list[float]] = {}
        for name in own:
            for drawing, value in person.scores[name].items():
                numbers.setdefault(drawing, []).append(-value if name == RANK_SCALE else value)
        for drawing, values in numbers.items():
            given.setdefault(drawing, []).append(fmean(values))
    asked = ", ".join(sorted({name.removesuffix(RATED) for own in names for name in own}))
    means = {drawing: fmean(values) for drawing, values in given.items()}
    return Opinion("people", "people", scores={asked: means}, scales=frozenset({asked}))


def _preferences(exam: str, store: Store, **which: Any) -> list[Preferences]:
    try:
        return preferences(exam, store=store, **which)
    except UsageError:
        return []


def _by_people(chosen: Preferences, scale: str | None) -> bool:
    return chosen.evaluator.startswith((PEOPLE, "person/")) and scale in (None, chosen.scale)


def _won(chosen: Preferences, shown: Mapping[str, str]) -> Opinion:
    """Return how often each painter wins in an evaluator's choices, by its name in tables."""
    rates = {shown[name]: rate for name, rate in chosen.rates.items()}
    return Opinion(chosen.evaluator, "metric", painters={PAIRS_WON: rates}, scales=frozenset({PAIRS_WON}))
