"""Painters' numbers from people and from each other evaluator: the points of a correlation with people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import exams
from ..core.errors import UsageError
from ..core.evaluator import SHOWN_KINDS, Evaluator, label_evaluators, row_name
from ..core.protocol import Protocol
from ..store import DEFAULT, Store
from ..store.markings import Rating, load_comparisons, load_painter_metrics, load_ratings
from ..store.records import Drawing, evaluator_kinds, load_drawings, load_questions, load_setups
from ..store.store import using_store
from . import MET, Group
from .compare.judges import studies_of
from .groups import find_groups, stored_exam
from .numbers import score_parts, values_of
from .preferences import PEOPLE, preferences
from .stats import Correlation, correlate

PAIRS_WON = "pairs won"
RANK_SCALE = "rank"
"""The scale on which lower is better."""
LEAST = 3
"""The minimum number of points for a correlation."""
Spot = tuple[str, str]
"""A painter's row and a tag's value, if there is a point for each value."""
Values = Mapping[Spot, float]


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


class _Field:
    """The drawings in the store, by painter."""

    def __init__(self, store: Store, exam: str, kind: str, tag: str | None) -> None:
        self.tag, self.protocol = tag, exams.kind(kind).protocol
        questions = load_questions(store, exam, exams.kind(kind).rubric)
        self.drawings: dict[str, Drawing] = {each.id: each for each in load_drawings(store, exam)}
        self.tags = {id: questions[each.question_hash].tags for id, each in self.drawings.items()
                     if each.question_hash in questions}  # fmt: skip

    def spot(self, drawing: str) -> Spot:
        """Return the painter's row and the tag's value that a drawing counts for."""
        drawn = self.drawings[drawing]
        return row_name(drawn.label, drawn.strategy), self.tags[drawing].get(self.tag, "") if self.tag else ""

    def means(self, numbers: Mapping[str, float], only: Iterable[str]) -> Values:
        """Return the mean of the drawings' numbers for each point."""
        values_at: dict[Spot, list[float]] = {}
        for id in only:
            if id in numbers and id in self.tags:
                values_at.setdefault(self.spot(id), []).append(numbers[id])
        return {spot: sum(values) / len(values) for spot, values in values_at.items()}


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
        field = _Field(opened, named.name, named.kind, tag)
        kinds, setups = evaluator_kinds(opened), load_setups(opened)
        ratings = list(load_ratings(opened, named.name))
        rated, asked = _people(field, [r for r in ratings if study in (None, r.study)], kinds, scale)
        wins = {} if rated or tag else _win_rates(named.name, opened, study, scale)
        _, groups = find_groups(named.name, store=opened, reading=reading, kinds=(*SHOWN_KINDS, "person"), **which)
        persons = [group for group in groups if group.evaluator.kind == "person"]
        groups = [group for group in groups if group.evaluator.kind != "person"]
        if not rated and not wins:
            mine = [group for group in persons if study in (None, group.evaluator.setup.get("study"))]
            rated, asked = _scored(mine, field.protocol, scale)
        if not rated and not wins:
            by = f" by {scale}" if scale else ""
            raise UsageError(f"{named.name}: no person has marked, rated or chosen{by}; a study asks people")
        asked, overall = asked or PAIRS_WON, field.means(rated, rated) or wins
        shown = {group.name for group in groups} if which.get("painters") or which.get("without") else None
        aligned = _judged(field, groups, rated, wins, asked)
        metrics = [r for r in ratings if kinds.get(r.setup) == "metric" and r.scale == _metric(setups[r.setup])]
        names = _labels(setups, kinds)
        aligned += _metrics(field, metrics, names, rated, wins, asked)
        if not tag:
            for id, values in _painter_metrics(named.name, opened).items():
                aligned.append(_aligned(names[id], metrics_scale(names[id]), asked, overall, values))
            for id, values in _arena(named.name, opened, kinds).items():
                aligned.append(_aligned(names[id], PAIRS_WON, asked, overall, values))
    if shown is not None:
        aligned = [_only(each, shown) for each in aligned]
    wanted = [e for e in aligned if not judges or e.evaluator in judges or e.judge in judges]
    if not wanted:
        names_there = ", ".join(sorted({each.evaluator for each in aligned})) or "nobody"
        raise UsageError(f"{named.name}: no evaluator to compare with people; there are: {names_there}")
    return sorted(wanted, key=lambda each: (each.judge.startswith("metric/"), each.evaluator))


def _metric(setup: Mapping[str, Any]) -> str:
    """Return the name of a metric's scale, such as ``wiscore`` for ``metric/wiscore:openai/o3``."""
    return str(setup["judge"]).removeprefix("metric/").partition(":")[0]


def _labels(setups: Mapping[str, Mapping[str, Any]], kinds: Mapping[str, str]) -> dict[str, Evaluator]:
    some = [Evaluator(id, body, kind="metric") for id, body in setups.items() if kinds.get(id) == "metric"]
    return {each.id: each for each in label_evaluators(some)}


def _people(
    field: _Field, ratings: Sequence[Rating], kinds: Mapping[str, str], scale: str | None
) -> tuple[dict[str, float], str]:
    """Return drawing -> the mean over persons of their means over scales, and the names of the scales."""
    given: dict[tuple[str, str], list[float]] = {}
    scales: set[str] = set()
    for row in ratings:
        wanted = row.scale == scale if scale else row.scale != RANK_SCALE
        if kinds.get(row.setup) == "person" and row.value is not None and wanted and row.drawing in field.tags:
            given.setdefault((row.drawing, row.setup), []).append(-row.value if row.scale == RANK_SCALE else row.value)
            scales.add(row.scale)
    by: dict[str, list[float]] = {}
    for (drawing, _), values in given.items():
        by.setdefault(drawing, []).append(sum(values) / len(values))
    return {id: sum(values) / len(values) for id, values in by.items()}, ", ".join(sorted(scales))


def _scored(persons: Sequence[Group], protocol: Protocol[Any], score: str | None) -> tuple[dict[str, float], str]:
    """Return drawing -> the mean score by people's marks, and the score: the named one, or the first main one."""
    for name in [score] if score else [each.name for each in protocol.scored if each.main]:
        given: dict[str, list[float]] = {}
        for entry in (entry for group in persons for entry in group.scored):
            if (value := entry.scores.get(name)) is not None:
                given.setdefault(entry.drawing.id, []).append(value)
        if given:
            return {id: sum(values) / len(values) for id, values in given.items()}, name
    return {}, ""


def _win_rates(exam: str, store: Store, study: str | None, scale: str | None) -> dict[Spot, float]:
    """Return how often each painter wins in people's choices: all people combined, or the only person."""
    try:
        by_evaluator = preferences(exam, store=store, study=study)
    except UsageError:
        return {}
    mine = [
        each for each in by_evaluator if each.evaluator.startswith((PEOPLE, "person/")) and scale in (None, each.scale)
    ]
    return {(name, ""): rate for name, rate in mine[0].rates.items()} if mine else {}


def _painter_metrics(exam: str, store: Store) -> dict[str, dict[Spot, float]]:
    metrics: dict[str, dict[Spot, float]] = {}
    for row in load_painter_metrics(store, exam):
        metrics.setdefault(row.setup, {})[row_name(row.painter, row.strategy or "direct"), ""] = row.value
    return metrics


def _arena(exam: str, store: Store, kinds: Mapping[str, str]) -> dict[str, dict[Spot, float]]:
    rates: dict[str, dict[Spot, float]] = {}
    setups = {row.setup for row in load_comparisons(store, exam) if kinds.get(row.setup) == "metric"}
    for setup in sorted(setups):
        (mine, *_) = preferences(exam, store=store, judges=[setup])
        rates[setup] = {(name, ""): rate for name, rate in mine.rates.items()}
    return rates


def _judged(
    field: _Field, groups: Sequence[Group], rated: Mapping[str, float], wins: Values, asked: str
) -> list[Alignment]:
    aligned = []
    for evaluator in {group.evaluator.id: group.evaluator for group in groups}.values():
        spots: dict[Spot, list[Any]] = {}
        for group in groups:
            for entry in group.scored if group.evaluator.id == evaluator.id else ():
                if not rated or entry.drawing.id in rated:
                    spots.setdefault(field.spot(entry.drawing.id), []).append(entry)
        protocol = field.protocol
        numbers = {spot: values_of(score_parts(entries, protocol), protocol) for spot, entries in spots.items()}
        score = _main(numbers.values(), protocol)
        values = {spot: each[score] for spot, each in numbers.items() if score in each}
        common = [entry.drawing.id for entries in spots.values() for entry in entries]
        people = field.means(rated, dict.fromkeys(common)) if rated else wins
        aligned.append(_aligned(evaluator, score, asked, people, values))
    return aligned


def _main(numbers: Iterable[Mapping[str, float]], protocol: Protocol[Any]) -> str:
    """Return the first main score that most points have, else the share of criteria met."""
    listed = list(numbers)
    main = [score.name for score in protocol.scored if score.main]
    return next((name for name in main if 2 * sum(name in each for each in listed) > len(listed)), MET.name)


def _metrics(
    field: _Field,
    metrics: Sequence[Rating],
    names: Mapping[str, Evaluator],
    rated: Mapping[str, float],
    wins: Values,
    asked: str,
) -> list[Alignment]:
    by: dict[str, dict[str, float]] = {}
    for row in metrics:
        if row.value is not None:
            by.setdefault(row.setup, {})[row.drawing] = row.value
    aligned = []
    for setup, numbers in by.items():
        common = [id for id in numbers if not rated or id in rated]
        people = field.means(rated, common) if rated else wins
        aligned.append(_aligned(names[setup], metrics_scale(names[setup]), asked, people, field.means(numbers, common)))
    return aligned


def metrics_scale(evaluator: Evaluator) -> str:
    """Return the name of a metric's numbers."""
    return _metric(evaluator.setup)


def _aligned(evaluator: Evaluator, scale: str, asked: str, people: Values, values: Values) -> Alignment:
    spots = sorted(people.keys() & values.keys())
    points = tuple(AlignedPoint(*spot, people[spot], values[spot]) for spot in spots)
    return Alignment(evaluator.name, evaluator.judge, scale, asked, points)


def _only(alignment: Alignment, painters: set[str]) -> Alignment:
    points = tuple(point for point in alignment.points if point.painter in painters)
    return Alignment(alignment.evaluator, alignment.judge, alignment.scale, alignment.asked, points)
