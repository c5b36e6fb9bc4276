"""Opinions: every evaluator's scores, ratings and marks of drawings, and the numbers of agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...core.evaluator import Evaluator, row_name
from ...core.protocol import Protocol
from ...store.ratings import PainterMetric, Rating
from .. import MET, Entry, Group
from ..numbers import shares
from ..stats import Correlation, Flips, Interval, Measure, RatedUnit, flips
from ..stats.types import Plain

PEOPLE_PREFIX = "people/"
"""What the names of a study's people together begin with."""
ANYONE = "person/*"
"""Stands for each of a study's people in turn."""
DrawingParts = Mapping[str, tuple[float, float]]
"""What a drawing adds to each summary number: numerator and denominator."""
NO_FLIPS = flips([])
UNMEASURED = Measure(None, 0, "nothing was measured")


@dataclass(frozen=True)
class SeenDrawing:
    """A drawing as agreement sees it.

    Attributes:
        painter: The painter's row in tables.
        cluster: What is left out and exchanged as a whole: its question with its kin.
        control: Whether the painter is a control.
    """

    painter: str
    question: str
    cluster: str
    tags: Mapping[str, str]
    control: bool = False

    def value(self, tag: str) -> str | None:
        """Return its value of a tag; ``painter`` counts as a tag."""
        return self.painter if tag == "painter" else self.tags.get(tag)


@dataclass(frozen=True)
class Opinion:
    """One evaluator's numbers: the one container that every number of agreement is computed from.

    The rule: an evaluator's opinion on a criterion of a drawing is the majority of its repeats, of people together that
    of the persons; a tie is left out and counted. Scores and ratings of a drawing are means over repeats. Painters are
    ranked on the questions, and with the painters, that `limner.scoring.comparable` allows; where people of a study
    take part, on what it sampled, with its weights. A shift is the second one's number minus the first one's.

    Attributes:
        kind: The evaluator's; ``people`` for the people of a study together.
        study: The study that a person, or people, took part in.
        scores: Score or scale -> drawing -> number.
        parts: Drawing -> what it adds to the exam's summary numbers.
        marks: Drawing -> criterion -> share of its best value.
        scales: Those of the scores that are ratings, not the exam's own.
        painters: Scale -> painter -> number, for metrics of painters alone.
        unsettled: Scores of the exam that abstentions leave open for some of the drawings.
        ties: Criteria of drawings without a majority.
        evaluator: Who it is; None for people together.
        markings: How many markings its marks come from.
        flips: How often repeats of the same marking differ.
        cost: Dollars for one image marked once, failed tries included; `n` counts the tries.
        seconds: Seconds that the calls for one image took; imported marks have none.
    """

    name: str
    kind: str
    study: str | None = None
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    parts: Mapping[str, DrawingParts] = field(default_factory=dict)
    marks: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    scales: frozenset[str] = frozenset()
    painters: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    ties: int = 0
    evaluator: Evaluator | None = None
    markings: int = 0
    flips: Flips = NO_FLIPS
    cost: Measure = UNMEASURED
    seconds: Measure = UNMEASURED

    def to_json(self) -> dict[str, Any]:
        """Return the facts about this evaluator alone."""
        setup = dict(self.evaluator.setup) if self.evaluator else {}
        body = {"name": self.name, "judge": setup.get("judge"), "setup": setup, "drawings": len(self.parts)}
        body |= {"markings": self.markings, "ties": self.ties, "flips": self.flips.to_json()}
        return body | {"cost_per_image": self.cost.to_json(), "seconds_per_image": self.seconds.to_json()}


def drawings_seen(groups: Iterable[Group], protocol: Protocol[Any]) -> dict[str, SeenDrawing]:
    """Return every drawing of the groups."""
    drawings = {}
    for group in groups:
        for entry in group.entries:
            question = entry.question
            cluster = protocol.cluster(question)
            drawings[entry.drawing.id] = SeenDrawing(group.name, question.id, cluster, question.tags, group.control)
    return drawings


def rated_scale(scale: str, protocol: Protocol[Any]) -> str:
    """Return a scale's name among scores: its own, unless the exam has a score of that name."""
    return f"{scale} (rated)" if scale in {score.name for score in protocol.scored} else scale


def opinion_of(
    evaluator: Evaluator,
    entries: Sequence[Entry],
    ratings: Sequence[Rating],
    metrics: Sequence[PainterMetric],
    protocol: Protocol[Any],
    took: Mapping[str, float],
) -> Opinion:
    """Return one evaluator's opinion.

    Args:
        evaluator: Who it is.
        entries: The drawings it marked or failed to mark.
        ratings: Its ratings of drawings.
        metrics: Its numbers of painters.
        protocol: The exam's.
        took: Call -> the seconds it took.
    """
    clusters = {entry.drawing.id: protocol.cluster(entry.question) for entry in entries}
    tried = [entry.marking for entry in entries if entry.marking]
    entries = [entry for entry in entries if entry.scored]
    scores: dict[str, dict[str, list[float]]] = {}
    parts: dict[str, list[DrawingParts]] = {}
    marks: dict[str, dict[str, list[float]]] = {}
    open_scores: set[str] = set()
    for entry in entries:
        id = entry.drawing.id
        parts.setdefault(id, []).append(protocol.parts(entry.row))
        for criterion, share in shares(entry, protocol).items():
            marks.setdefault(id, {}).setdefault(criterion, []).append(share)
        abstained = any(mark.verdict == "abstain" for mark in entry.marks)
        for name, value in entry.scores.items():
            if value is not None:
                scores.setdefault(name, {}).setdefault(id, []).append(float(value))
            elif abstained:
                open_scores.add(name)
    scales = set()
    for rating in ratings:
        if rating.value is not None:
            scales.add(name := rated_scale(rating.scale, protocol))
            scores.setdefault(name, {}).setdefault(rating.drawing, []).append(rating.value)
    if open_scores:
        # Where abstentions leave scores open, what was decided still says something.
        met = {id: [100 * _mean([_mean(values) for values in given.values()])] for id, given in marks.items()}
        scores[MET.name] = met
    of_painters: dict[str, dict[str, list[float]]] = {}
    for metric in metrics:
        name = evaluator.judge.partition("/")[2] or evaluator.judge
        painter = row_name(metric.painter, metric.strategy or "direct")
        of_painters.setdefault(name, {}).setdefault(painter, []).append(metric.value)
    agreed, ties = majorities(marks)
    return Opinion(
        evaluator.name,
        evaluator.kind,
        evaluator.setup.get("study") if evaluator.kind == "person" else None,
        {name: {id: _mean(values) for id, values in given.items()} for name, given in scores.items()},
        {id: mean_parts(given) for id, given in parts.items()},
        agreed,
        frozenset(scales | of_painters.keys()),
        {name: {painter: _mean(values) for painter, values in given.items()} for name, given in of_painters.items()},
        frozenset(open_scores),
        ties,
        evaluator,
        len(entries),
        flips((clusters[id], values) for id, criteria in marks.items() for values in criteria.values()),
        _mean_cost([marking.cost for marking in tried]),
        _mean_seconds(entries, took),
    )


def _mean_cost(costs: Sequence[float | None]) -> Measure:
    if None in costs:
        return Measure(None, len(costs), f"the cost of {costs.count(None)} of {len(costs)} markings is not known")
    return _measured([cost for cost in costs if cost is not None])


def _mean_seconds(entries: Sequence[Entry], took: Mapping[str, float]) -> Measure:
    own = [entry.marking for entry in entries if entry.marking and entry.marking.origin == "run"]
    return _measured([sum(took.get(key, 0.0) for _, key in marking.replies) for marking in own if marking.replies])


def _measured(numbers: Sequence[float]) -> Measure:
    return Measure(_mean(numbers), len(numbers)) if numbers else UNMEASURED


def merge_people(study: str, people: Sequence[Opinion]) -> Opinion:
    """Return the people of a study as one: means of their scores and ratings, and the majority of their marks."""
    scores: dict[str, dict[str, list[float]]] = {}
    parts: dict[str, list[DrawingParts]] = {}
    marks: dict[str, dict[str, list[float]]] = {}
    for person in people:
        for name, given in person.scores.items():
            for id, value in given.items():
                scores.setdefault(name, {}).setdefault(id, []).append(value)
        for id, part in person.parts.items():
            parts.setdefault(id, []).append(part)
        for id, criteria in person.marks.items():
            for criterion, share in criteria.items():
                marks.setdefault(id, {}).setdefault(criterion, []).append(share)
    agreed, ties = majorities(marks)
    return Opinion(
        PEOPLE_PREFIX + study,
        "people",
        study,
        {name: {id: _mean(values) for id, values in given.items()} for name, given in scores.items()},
        {id: mean_parts(given) for id, given in parts.items()},
        agreed,
        frozenset(scale for person in people for scale in person.scales),
        unsettled=frozenset(name for person in people for name in person.unsettled),
        ties=ties,
    )


def majority(values: Sequence[float]) -> float | None:
    """Return the most frequent value; None where two are equally frequent.

    >>> majority([1.0, 0.0, 1.0]), majority([1.0, 0.0])
    (1.0, None)
    """
    ranked = Counter(values).most_common(2)
    return None if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


def majorities(given: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[dict[str, dict[str, float]], int]:
    """Return drawing -> criterion -> the majority's value, and how many criteria have none and are left out."""
    ties, marks = 0, dict[str, dict[str, float]]()
    for id, criteria in given.items():
        agreed = {criterion: majority(values) for criterion, values in criteria.items()}
        marks[id] = {criterion: share for criterion, share in agreed.items() if share is not None}
        ties += len(agreed) - len(marks[id])
    return marks, ties


def mean_parts(given: Sequence[DrawingParts]) -> dict[str, tuple[float, float]]:
    """Return numerators and denominators, each the mean of those who have it."""
    names = {name for parts in given for name in parts}
    means = {}
    for name in names:
        having = [parts[name] for parts in given if name in parts]
        means[name] = (_mean([top for top, _ in having]), _mean([bottom for _, bottom in having]))
    return means


def _mean(values: Sequence[float]) -> float:
    return sum(sorted(values)) / len(values)


UNITS = ("drawing", "painter", "painter_tag")
ALL_CRITERIA = "all"
"""Stands for all sorts of criteria merge_people."""
T = TypeVar("T")


def group_by_sort(rows: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Group rows by the sort of their criteria (how their ids begin), and all together; a single sort is only all.

    >>> group_by_sort([("text/1", "a"), ("layout/1", "b")])
    {'all': ['a', 'b'], 'text': ['a'], 'layout': ['b']}
    >>> group_by_sort([("text/1", "a"), ("text/2", "b")])
    {'all': ['a', 'b']}
    """
    groups: dict[str, list[T]] = {ALL_CRITERIA: []}
    for criterion, row in rows:
        groups[ALL_CRITERIA].append(row)
        groups.setdefault(criterion.partition("/")[0], []).append(row)
    return groups if len(groups) > 2 else {ALL_CRITERIA: groups[ALL_CRITERIA]}


@dataclass(frozen=True)
class AgreementNumber(Plain):
    """One number of agreement.

    Attributes:
        first: The first evaluator; empty for a number of all judges together.
        second: The second evaluator; empty for a number of the first alone.
        unit: What is compared: ``drawing``, ``painter`` or ``painter_tag``.
        tag: By which tag; ``painter`` for each painter's drawings by themselves.
        category: The single value of the tag; None where its values are points, or there is no tag.
        score: The score, or the sort of criteria; the first's and the second's where these differ.
        p: Two-sided; by exchange where the points are few.
        n: How many points, or marks, it rests on.
        reason: Why there is no value.
    """

    first: str
    second: str
    unit: str = "drawing"
    tag: str | None = None
    category: str | None = None
    score: str = ""
    measure: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    n: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class ComparedDrawings:
    """What two evaluators are compared on.

    Attributes:
        seen: The drawings.
        weights: Drawing -> what it counts; 1 where it is not there.
        shared: Whether painters are compared on the questions that all of them have.
        units: What scores are compared on; marks are compared without any.
        score: A score that is compared wherever both have it.
        only: Whether it alone is compared.
        kept: Painters' numbers that were computed already.
    """

    protocol: Protocol[Any]
    seen: Mapping[str, SeenDrawing]
    weights: Mapping[str, float]
    shared: bool = True
    units: Sequence[str] = UNITS
    score: str | None = None
    only: bool = False
    kept: dict[Any, Any] = field(default_factory=dict, compare=False)

    def weight(self, drawing: str) -> float:
        """Return a drawing's weight."""
        return self.weights.get(drawing, 1.0)

    def unit(self, drawing: str, values: Sequence[float | None]) -> RatedUnit:
        """Return the values that several evaluators gave one drawing, or one criterion of it."""
        return RatedUnit(self.seen[drawing].cluster, tuple(values), self.weight(drawing))

    def values(self, tags: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield every value of the tags, in the exam's order."""
        for tag in tags:
            values_there = {value for seen in self.seen.values() if (value := seen.value(tag)) is not None}
            yield from ((tag, category) for category in self.protocol.in_order(tag, values_there))

    def only_with(self, tag: str, category: str) -> ComparedDrawings:
        """Return the field with the drawings of one value of a tag alone."""
        return replace(self, kept={}, seen={id: seen for id, seen in self.seen.items() if seen.value(tag) == category})


Names = tuple[str, str]
"""A score of the first evaluator, and one of the second."""


def score_words(pair: Names) -> str:
    """Return two scores in words: one name where they are the same."""
    return pair[0] if pair[0] == pair[1] else f"{pair[0]} / {pair[1]}"


def make_number(
    head: AgreementNumber, measure: str, number: Interval | Correlation | Measure, n: int | None = None
) -> AgreementNumber:
    """Return a number under its heading."""
    values = vars(number) if n is None else {**vars(number), "n": n}
    return replace(head, measure=measure, **values)


def sum_common_marks(opinions: Sequence[Opinion], drawing: str) -> tuple[list[float], int]:
    """Return each one's sum of marks of a drawing, over the criteria that all have decided, and how many these are."""
    given = [opinion.marks.get(drawing, {}) for opinion in opinions]
    common = sorted(set.intersection(*map(set, given)))
    return [sum(marks[name] for name in common) for marks in given], len(common)
