"""Opinions: each evaluator's scores, ratings and marks of drawings, from which agreement is computed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ...core.evaluator import Evaluator, row_name
from ...core.protocol import Protocol
from ...store.markings import PainterMetric, Rating
from .. import MET, Entry, Group
from ..numbers import shares
from ..stats import Correlation, Flips, Interval, Measure, RatedUnit, flips
from ..stats.resample import Plain

N = TypeVar("N", int, float)
PEOPLE_PREFIX = "people/"
"""The prefix of the name under which a study's people are combined."""
RATED = " (rated)"
"""The ending of the name of a scale, if the exam has a score of the same name."""
ANYONE = "person/*"
"""The name for each of a study's people, as opposed to all combined."""
DrawingParts = Mapping[str, tuple[float, float]]
"""A drawing's contribution to each summary number: numerator and denominator."""
NO_FLIPS = flips([])
UNMEASURED = Measure(None, 0, "nothing was measured")


@dataclass(frozen=True)
class SeenDrawing:
    """The facts about a drawing that are needed to compute agreement.

    Attributes:
        painter: The painter's row in tables.
        cluster: The question with related ones, which intervals and p-values treat as a whole.
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
    """One evaluator's numbers; every number of agreement is computed from opinions.

    On a criterion of a drawing, an evaluator's opinion is the majority of its repeats; the opinion of a study's people
    combined is the majority of the persons. A tie is left out and counted. A drawing's scores and ratings are means
    over repeats. Painters are ranked by the rule of `limner.scoring.comparable`; if people of a study take part, on
    the drawings that it sampled, with its weights. A shift is the second evaluator's number minus the first's.

    Attributes:
        kind: The kind of evaluator; ``people`` for the people of a study combined.
        study: The study in which the person or people took part.
        scores: Score or scale -> drawing -> number.
        parts: Drawing -> its contribution to the exam's summary numbers.
        marks: Drawing -> criterion -> the mark as a share of the best value.
        scales: The names in `scores` that are ratings, not scores of the exam.
        painters: Scale -> painter -> number, for metrics that rate painters rather than drawings.
        unsettled: The exam's scores that are unknown for some drawings because of abstentions.
        ties: The number of criteria of drawings without a majority.
        evaluator: The evaluator; None for people combined.
        markings: The number of markings behind the marks.
        flips: How often repeats of the same marking differ.
        cost: Dollars for marking one image once, failed tries included; `n` counts the tries.
        seconds: Seconds that the calls for one image took; unmeasured for imported marks.
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

    def settles(self, score: str) -> bool:
        """Return whether it has this score, and abstentions leave it unknown for no drawing."""
        return score in self.scores and score not in self.unsettled

    def to_json(self) -> dict[str, Any]:
        """Return the facts about this evaluator alone, as JSON."""
        setup = dict(self.evaluator.setup) if self.evaluator else {}
        body = {"name": self.name, "judge": setup.get("judge"), "setup": setup, "drawings": len(self.parts)}
        body |= {"markings": self.markings, "ties": self.ties, "flips": self.flips.to_json()}
        return body | {"cost_per_image": self.cost.to_json(), "seconds_per_image": self.seconds.to_json()}


def drawings_seen(groups: Iterable[Group], protocol: Protocol[Any]) -> dict[str, SeenDrawing]:
    """Return every drawing of the groups, by id."""
    drawings = {}
    for group in groups:
        for entry in group.entries:
            question = entry.question
            cluster = protocol.cluster(question)
            drawings[entry.drawing.id] = SeenDrawing(group.name, question.id, cluster, question.tags, group.control)
    return drawings


def rated_scale(scale: str, protocol: Protocol[Any]) -> str:
    """Return the name of a scale among the scores, marked as rated if the exam has a score of the same name."""
    return scale + RATED if scale in {score.name for score in protocol.scored} else scale


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
        evaluator: The evaluator.
        entries: The drawings that it marked or failed to mark.
        ratings: Its ratings of drawings.
        metrics: Its ratings of painters.
        protocol: The exam's protocol.
        took: The seconds that each call took, by key.
    """
    clusters = {entry.drawing.id: protocol.cluster(entry.question) for entry in entries}
    tried = [entry.marking for entry in entries if entry.marking]
    entries = [entry for entry in entries if entry.scored]
    scores, marks, of_painters = _lists(), _lists(), _lists()
    parts = defaultdict[str, list[DrawingParts]](list)
    open_scores: set[str] = set()
    for entry in entries:
        id = entry.drawing.id
        parts[id].append(protocol.parts(entry.row))
        for criterion, share in shares(entry, protocol).items():
            marks[id][criterion].append(share)
        abstained = any(mark.verdict == "abstain" for mark in entry.marks)
        for name, value in entry.scores.items():
            if value is not None:
                scores[name][id].append(float(value))
            elif abstained:
                open_scores.add(name)
    scales = set()
    for rating in ratings:
        if rating.value is not None:
            scales.add(name := rated_scale(rating.scale, protocol))
            scores[name][rating.drawing].append(rating.value)
    if open_scores:
        # If abstentions leave scores unknown, the share of decided criteria that are met is still informative.
        for id, given in marks.items():
            scores[MET.name][id] = [100 * _mean([_mean(values) for values in given.values()])]
    for metric in metrics:
        name = evaluator.judge.partition("/")[2] or evaluator.judge
        painter = row_name(metric.painter, metric.strategy or "direct")
        of_painters[name][painter].append(metric.value)
    agreed, ties = majorities(marks)
    return Opinion(
        evaluator.name,
        evaluator.kind,
        evaluator.setup.get("study") if evaluator.kind == "person" else None,
        _means(scores),
        {id: mean_parts(given) for id, given in parts.items()},
        agreed,
        frozenset(scales | of_painters.keys()),
        _means(of_painters),
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
        return Measure(None, len(costs), f"the cost of {costs.count(None)} of {len(costs)} markings is unknown")
    return _measured([cost for cost in costs if cost is not None])


def _mean_seconds(entries: Sequence[Entry], took: Mapping[str, float]) -> Measure:
    own = [entry.marking for entry in entries if entry.marking and entry.marking.origin == "run"]
    return _measured([sum(took.get(key, 0.0) for _, key in marking.replies) for marking in own if marking.replies])


def _measured(numbers: Sequence[float]) -> Measure:
    return Measure(_mean(numbers), len(numbers)) if numbers else UNMEASURED


def merge_people(study: str, people: Sequence[Opinion]) -> Opinion:
    """Combine the people of a study into one opinion: mean scores and ratings, majority marks."""
    scores, marks, parts = _lists(), _lists(), defaultdict[str, list[DrawingParts]](list)
    for person in people:
        for name, given in person.scores.items():
            for id, value in given.items():
                scores[name][id].append(value)
        for id, part in person.parts.items():
            parts[id].append(part)
        for id, criteria in person.marks.items():
            for criterion, share in criteria.items():
                marks[id][criterion].append(share)
    agreed, ties = majorities(marks)
    return Opinion(
        PEOPLE_PREFIX + study,
        "people",
        study,
        _means(scores),
        {id: mean_parts(given) for id, given in parts.items()},
        agreed,
        frozenset(scale for person in people for scale in person.scales),
        unsettled=frozenset(name for person in people for name in person.unsettled),
        ties=ties,
    )


def most_frequent(values: Sequence[N]) -> list[N]:
    """Return the most frequent values, more than one if they tie.

    >>> most_frequent([1, 0, 1]), most_frequent([1, 0]), most_frequent([])
    ([1], [0, 1], [])
    """
    counts = Counter(values)
    return sorted(value for value, count in counts.items() if count == max(counts.values()))


def majorities(given: Mapping[str, Mapping[str, Sequence[float]]]) -> tuple[dict[str, dict[str, float]], int]:
    """Return drawing -> criterion -> the majority's value, and the number of ties, which are left out."""
    ties, marks = 0, dict[str, dict[str, float]]()
    for id, criteria in given.items():
        agreed = {criterion: most_frequent(values) for criterion, values in criteria.items()}
        marks[id] = {criterion: best[0] for criterion, best in agreed.items() if len(best) == 1}
        ties += len(agreed) - len(marks[id])
    return marks, ties


def mean_parts(given: Sequence[DrawingParts]) -> dict[str, tuple[float, float]]:
    """Return the mean numerator and denominator of each number, over the parts that have it."""
    names = {name for parts in given for name in parts}
    means = {}
    for name in names:
        having = [parts[name] for parts in given if name in parts]
        means[name] = (_mean([top for top, _ in having]), _mean([bottom for _, bottom in having]))
    return means


def _lists() -> defaultdict[str, defaultdict[str, list[float]]]:
    return defaultdict(lambda: defaultdict(list))


def _means(given: Mapping[str, Mapping[str, Sequence[float]]]) -> dict[str, dict[str, float]]:
    return {name: {id: _mean(values) for id, values in table.items()} for name, table in given.items()}


def _mean(values: Sequence[float]) -> float:
    return sum(sorted(values)) / len(values)


UNITS = ("drawing", "painter", "painter_tag")
ALL_CRITERIA = "all"
"""The name for criteria of all sorts combined."""
T = TypeVar("T")


def group_by_sort(rows: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
    """Group rows by the sort of their criterion (its id up to the slash), after all rows; a single sort is left out.

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
        first: The first evaluator; empty for a number about all judges together.
        second: The second evaluator; empty for a number about the first alone.
        unit: What is compared: ``drawing``, ``painter`` or ``painter_tag`` (a painter on one value of a tag).
        tag: The tag of a breakdown; ``painter`` breaks down by painter.
        category: The tag's value; None without a tag, or if each of its values is one of the points.
        score: The score or the sort of criteria; both evaluators' scores if they differ.
        p: The two-sided p-value, by permutation if there are few points.
        n: The number of points, or of marks.
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
    """The drawings on which evaluators are compared, and how.

    Attributes:
        seen: The drawings.
        weights: The weight of each drawing, by id; 1 if it is not listed.
        shared: Whether painters are compared on the questions that all of them have.
        units: The units on which scores are compared; marks are compared in any case.
        score: A score that is compared whenever both evaluators have it.
        only: Whether only `score` is compared.
        kept: A cache of painters' numbers.
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
        """Yield each tag with each of its values, in the exam's order."""
        for tag in tags:
            present = {value for seen in self.seen.values() if (value := seen.value(tag)) is not None}
            yield from ((tag, category) for category in self.protocol.in_order(tag, present))

    def only_with(self, tag: str, category: str) -> ComparedDrawings:
        """Return a copy restricted to the drawings with one value of a tag."""
        return replace(self, kept={}, seen={id: seen for id, seen in self.seen.items() if seen.value(tag) == category})


Names = tuple[str, str]
"""A score of the first evaluator, and one of the second."""


def score_words(pair: Names) -> str:
    """Return the names of two scores as text, once if they are the same."""
    return pair[0] if pair[0] == pair[1] else f"{pair[0]} / {pair[1]}"


def make_number(
    head: AgreementNumber, measure: str, number: Interval | Correlation | Measure, n: int | None = None
) -> AgreementNumber:
    """Return the heading completed with a measure and its number."""
    values = vars(number) if n is None else {**vars(number), "n": n}
    return replace(head, measure=measure, **values)


def sum_common_marks(opinions: Sequence[Opinion], drawing: str) -> tuple[list[float], int]:
    """Return each evaluator's sum of marks over the criteria of a drawing that all decided, and their number."""
    given = [opinion.marks.get(drawing, {}) for opinion in opinions]
    common = sorted(set.intersection(*map(set, given)))
    return [sum(marks[name] for name in common) for marks in given], len(common)
