"""A painter's numbers: scores with intervals, bounds under abstention, and the share of criteria decided. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..core.errors import UsageError
from ..core.exam import Question
from ..core.marks import Criterion, fill, values
from ..core.protocol import Protocol, Row, Score
from .entries import Entry
from .stats import Interval, Parts, bootstrap, ratios, resampled
from .stats.resample import Derive, Floats

V = TypeVar("V")
Ends = Mapping[str, tuple[float, float]]
Summary = Callable[[Parts, Protocol[Any]], Mapping[str, Interval]]
SUMMARIES: dict[str, Summary] = {}
"""The functions that summarize numbers per question in one number, by name; see `Score.summaries`."""
MEAN = "mean"
"""The usual summary, whose numbers have the names of their scores; other summaries append their name."""


def summary(name: str) -> Callable[[Summary], Summary]:
    """Register a summary: a function from the parts of scores to one interval per score."""

    def register(function: Summary) -> Summary:
        SUMMARIES[name] = function
        return function

    return register


@summary(MEAN)
def mean(parts: Parts, protocol: Protocol[Any]) -> dict[str, Interval]:
    """Return the ratio of the sums, with its interval over questions."""
    return bootstrap(parts, protocol.derive, tops(protocol))


def by_question(parts: Parts, statistic: Callable[[Floats], float]) -> dict[str, Interval]:
    """Return a statistic of the numbers per question for each score, with its bootstrap interval over questions."""
    values = {name: np.divide(tops[bottoms > 0], bottoms[bottoms > 0]) for name, (tops, bottoms) in parts.items()}
    return {name: resampled(numbers, statistic) for name, numbers in values.items()}


def columns(protocol: Protocol[Any]) -> list[Score]:
    """Return the columns of tables: each of the exam's scores, once for each of its summaries.

    Raises:
        UsageError: A score names a summary that is not registered.
    """
    return [column for _, _, column in _columns(protocol)]


def _columns(protocol: Protocol[Any]) -> Iterator[tuple[Score, str, Score]]:
    """Yield each score with each of its summaries and their column."""
    for score in protocol.scored:
        for word in score.summaries:
            if word not in SUMMARIES:
                raise UsageError(f"score {score.name}: no summary {word!r}; choose from {', '.join(SUMMARIES)}")
            own = score if word == MEAN else replace(score, name=f"{score.name} {word}", summaries=(word,))
            yield score, word, own


@dataclass(frozen=True)
class Numbers:
    """The numbers of one painter over some questions.

    Attributes:
        n: The number of questions with a score.
        scores: The summary numbers, by name.
        bounds: The lowest and highest possible value of each score if the judge abstained.
        decided: The share of criteria decided, and the share of those that are met.
    """

    n: int = 0
    scores: Mapping[str, Interval] = field(default_factory=dict)
    bounds: Ends = field(default_factory=dict)
    decided: Mapping[str, float] = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        """Return a score's value; None if it has none."""
        interval = self.scores.get(name)
        return None if interval is None else interval.value

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, every number with its interval."""
        return {
            "n": self.n,
            "scores": {name: interval.to_json() for name, interval in self.scores.items()},
            "bounds": {name: {"low": low, "high": high} for name, (low, high) in self.bounds.items()},
            "decided": dict(self.decided),
        }


class LazyMapping(Mapping[str, V]):
    """A mapping computed on first access, because intervals are slow and few tables show all of them."""

    def __init__(self, make: Callable[[], Mapping[str, V]]) -> None:
        self._make: Callable[[], Mapping[str, V]] | None = make
        self._found: Mapping[str, V] = {}

    @property
    def _whole(self) -> Mapping[str, V]:
        if self._make is not None:
            self._found, self._make = self._make(), None
        return self._found

    def __getitem__(self, name: str) -> V:
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)

    def __repr__(self) -> str:
        """Return the contents as text."""
        return repr(dict(self._whole))


def numbers(entries: Sequence[Entry], protocol: Protocol[Any], decided: bool = False) -> Numbers:
    """Return the numbers of some scored drawings; repeats and seeds of a question are averaged first.

    With `decided`, the caller asserts that every criterion has a value.
    """
    decided = decided or not any(map(is_undecided, entries))
    return Numbers(
        len({entry.question.id for entry in entries}),
        LazyMapping(lambda: _scores(entries, protocol, decided)),
        {} if decided else LazyMapping(lambda: ends(entries, protocol)),
        LazyMapping(lambda: _decided(entries, protocol)),
    )


def _scores(entries: Sequence[Entry], protocol: Protocol[Any], decided: bool) -> dict[str, Interval]:
    parts = score_parts(entries, protocol, decided)
    by_summary = {MEAN: SUMMARIES[MEAN](parts, protocol)}
    scores: dict[str, Interval] = {}
    for score, word, column in _columns(protocol):
        if word not in by_summary:
            by_summary[word] = SUMMARIES[word](parts, protocol)
        scores[column.name] = by_summary[word].get(score.name, Interval())
    # Means of other numbers come last, such as those that the exam's scores are derived from.
    return scores | {name: mean for name, mean in by_summary[MEAN].items() if name not in scores}


def _decided(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, float]:
    """Return the share of criteria decided, and the share of those that are met."""
    total, met = 0, list[float]()
    for entry in entries:
        total += len(criteria_spans(entry.question, protocol))
        met += shares(entry, protocol).values()
    shares_decided = {"share": round(len(met) / total, 4) if total else 0.0}
    return shares_decided | {"met": round(sum(met) / len(met), 4)} if met else shares_decided


def pessimistic_numbers(entries: Sequence[Entry], absent: Sequence[Any], protocol: Protocol[Any]) -> Numbers:
    """Return scores with everything missing counted as zero, including `absent` questions; refusing gains nothing."""
    n = len({entry.question.id for entry in entries}) + len(absent)

    def scores() -> dict[str, Interval]:
        least = ends(entries, protocol, (False,), absent)
        return {name: Interval(low, None, None, n) for name, (low, _) in least.items()}

    return Numbers(n, LazyMapping(scores))


def ends(
    entries: Sequence[Entry],
    protocol: Protocol[Any],
    ways: tuple[bool, ...] = (False, True),
    absent: Sequence[Any] = (),
) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest value of each monotone score, over all ways to decide the undecided criteria."""
    filled_scores: list[dict[str, float]] = []
    for best in ways:
        rows = [fill_undecided(entry, protocol, best) for entry in entries]
        rows += [Row(q, tuple(fill((), criteria_of(q, protocol), False)), protocol.nothing(q)) for q in absent]
        filled_scores.append(protocol.derive(ratios(row_parts(rows, protocol)[0])))
    names = [score.name for score in protocol.scored if score.monotone and score.name in filled_scores[0]]
    return {name: (filled_scores[0][name], filled_scores[-1][name]) for name in names}


_verdict, _value, _criterion = attrgetter("verdict"), attrgetter("value"), attrgetter("criterion")
MET = Score("met", 100, "percent of criteria met, of those that are decided for all that is compared")
"""The fallback score for judges that abstain, available for every exam as soon as a criterion is decided."""


def score_parts(entries: Sequence[Entry], protocol: Protocol[Any], decided: bool = False) -> Parts:
    """Return the parts of the summary numbers, sorted by the names of clusters.

    With `decided`, the caller asserts that every criterion has a value.
    """
    parts, settled = _plain_means(entries, protocol) or _row_by_row((entry.row for entry in entries), protocol)
    if not decided and any("abstain" in map(_verdict, entry.marks) for entry in entries):
        # The mean of a score that is known only where the judge did not abstain would be biased; it has bounds instead.
        return {name: part for name, part in parts.items() if settled[name] == len(entries)}
    return parts


def is_undecided(entry: Entry) -> bool:
    """Return whether some criterion has no value."""
    return None in map(_value, entry.marks)


def fill_undecided(entry: Entry, protocol: Protocol[Any], best: bool) -> Row:
    """Return the row with every undecided criterion given its best or its worst value."""
    question, evidence = entry.question, entry.evidence
    decided = not protocol.reasons and entry.scored and not is_undecided(entry)
    if decided and [*map(_criterion, entry.marks)] == [*criteria_spans(question, protocol)]:
        return Row(question, entry.marks, entry.scores, evidence)  # Already scored.
    marks = tuple(fill(entry.marks, criteria_of(question, protocol), best))
    scores = protocol.scores(question, marks, evidence) if entry.scored or best else protocol.nothing(question)
    return Row(question, marks, scores, evidence)


def _plain_means(
    entries: Sequence[Entry] | Sequence[Row], protocol: Protocol[Any]
) -> tuple[Parts, Counter[str]] | None:
    """Return `row_parts`, computed by column; None unless all numbers are plain means of one row per cluster."""
    if type(protocol).parts is not Protocol.parts:
        return None
    clusters = {protocol.cluster(entry.question): entry.scores for entry in entries}
    if len(clusters) != len(entries):
        return None
    ordered = [clusters[name] for name in sorted(clusters)]
    parts, settled = dict[str, tuple[Any, Any]](), Counter[str]()
    for name in dict.fromkeys(chain.from_iterable(ordered)):
        column = [scores.get(name) for scores in ordered]
        if count := len(column) - column.count(None):
            settled[name] = count
            bottoms = np.array([float(value is not None) for value in column]) if None in column else np.ones(count)
            parts[name] = np.array([value or 0.0 for value in column], dtype=np.float64), bottoms
    return parts, settled


class RowParts(NamedTuple):
    """The contribution of one marking to the numbers: the numerator and denominator of each."""

    question: str
    cluster: str
    parts: Mapping[str, tuple[float, float]]


def row_parts(rows: Iterable[Row], protocol: Protocol[Any]) -> tuple[Parts, Counter[str]]:
    """Return numerators and denominators, and the number of rows that have each number.

    Repeats and seeds of a question are averaged first.
    """
    listed = list(rows)
    return _plain_means(listed, protocol) or _row_by_row(listed, protocol)


def _row_by_row(rows: Iterable[Row], protocol: Protocol[Any]) -> tuple[Parts, Counter[str]]:
    return gather_parts(RowParts(row.question.id, protocol.cluster(row.question), protocol.parts(row)) for row in rows)


def gather_parts(rows: Iterable[RowParts]) -> tuple[Parts, Counter[str]]:
    """Return the parts, summed from the rows' contributions."""
    listed = list(rows)
    home = {row.question: row.cluster for row in listed}
    clusters = {name: place for place, name in enumerate(sorted(set(home.values())))}
    questions: dict[str, list[Mapping[str, tuple[float, float]]]] = {}
    for row in listed:
        questions.setdefault(row.question, []).append(row.parts)
    settled: Counter[str] = Counter()
    # Lists, not arrays: updating single elements of an array is far slower.
    sums: dict[str, tuple[list[float], list[float]]] = {}
    for question, members in questions.items():
        place = clusters[home[question]]
        shares = None if len(members) == 1 else Counter(name for member in members for name in member)
        for member in members:
            for name, (top, bottom) in member.items():
                settled[name] += 1
                if name not in sums:
                    sums[name] = [0.0] * len(clusters), [0.0] * len(clusters)
                tops, bottoms = sums[name]
                tops[place] += top if shares is None else top / shares[name]
                bottoms[place] += bottom if shares is None else bottom / shares[name]
    return {name: (np.array(tops), np.array(bottoms)) for name, (tops, bottoms) in sums.items()}, settled


def tops(protocol: Protocol[Any]) -> dict[str, float]:
    """Return the best value of every score."""
    return {score.name: score.top for score in (*protocol.scored, MET)}


def make_derive(protocol: Protocol[Any]) -> Derive:
    """Return a function that derives an exam's summary numbers from ratios and leaves `MET` unchanged."""

    def derive(means: Mapping[str, Any]) -> dict[str, Any]:
        own = protocol.derive({name: mean for name, mean in means.items() if name != MET.name})
        return {**own, MET.name: means[MET.name]} if MET.name in means else dict(own)

    return derive


def values_of(parts: Parts, protocol: Protocol[Any]) -> dict[str, float]:
    """Return the summary numbers that have a value."""
    values = make_derive(protocol)(ratios(parts))
    return {name: float(value) for name, value in values.items() if not np.isnan(value)}


def met_parts(many: Sequence[Sequence[Entry]], protocol: Protocol[Any]) -> list[Parts]:
    """Return the percentage of criteria met in each set of entries, among criteria that are decided in all sets.

    Repeats and seeds of a question are averaged criterion by criterion. The clusters are those of `score_parts`.
    """
    clusters = {protocol.cluster(entry.question) for entries in many for entry in entries}
    return met_parts_of_shares([met_shares(entries, protocol) for entries in many], clusters)


MetTable = Mapping[tuple[str, str, str], Sequence[float]]
"""Cluster, question and criterion -> the mark of each marking, as a share of the best value."""


def met_parts_of_shares(tables: Sequence[MetTable], clusters: Iterable[str]) -> list[Parts]:
    """Return `met_parts` from tables of shares."""
    shared = set.intersection(*(set(table) for table in tables)) if tables else set()
    places = {cluster: place for place, cluster in enumerate(sorted(clusters))}
    parts: list[Parts] = []
    keys = sorted(shared)
    for table in tables:
        # Lists, not arrays, as in `gather_parts`.
        numerators, bottoms = [0.0] * len(places), [0.0] * len(places)
        for key in keys:
            given, place = table[key], places[key[0]]
            numerators[place] += 100 * (float(np.mean(given)) if len(given) > 1 else given[0])
            bottoms[place] += 1
        parts.append({MET.name: (np.array(numerators), np.array(bottoms))} if shared else {})
    return parts


def met_shares(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[tuple[str, str, str], list[float]]:
    """Return the shares of the criteria met in some entries, as a `MetTable`."""
    given_shares: dict[tuple[str, str, str], list[float]] = {}
    for entry in entries:
        cluster = protocol.cluster(entry.question)
        for criterion, share in shares(entry, protocol).items():
            given_shares.setdefault((cluster, entry.question.id, criterion), []).append(share)
    return given_shares


def shares(entry: Entry, protocol: Protocol[Any]) -> dict[str, float]:
    """Return the decided criteria of one marking, each as a share of the way from its worst to its best value.

    Marks that belong to no criterion are left out: they are findings, such as superfluous elements of a drawing, which
    each judge names differently.
    """
    spans = criteria_spans(entry.question, protocol)
    given = values(entry.marks).items()
    return {name: (value - spans[name][0]) / spans[name][1] for name, value in given if name in spans}


MAX_REMEMBERED = 20_000
"""The maximum number of questions whose criteria are cached."""
_remembered: dict[tuple[int, str], tuple[Protocol[Any], Sequence[Criterion], Mapping[str, tuple[int, int]]]] = {}


def criteria_spans(question: Question[Any], protocol: Protocol[Any]) -> Mapping[str, tuple[int, int]]:
    """Return the worst value of each criterion of a question, and how far the best one is from it."""
    return _criteria(question, protocol)[2]


def criteria_of(question: Question[Any], protocol: Protocol[Any]) -> Sequence[Criterion]:
    """Return the criteria of a question."""
    return _criteria(question, protocol)[1]


def _criteria(
    question: Question[Any], protocol: Protocol[Any]
) -> tuple[Protocol[Any], Sequence[Criterion], Mapping[str, tuple[int, int]]]:
    """Return the criteria of a question from the cache, which all painters share."""
    # The protocol is cached too, so that its id is not reused for another one.
    key = (id(protocol), question.hash)
    if (remembered := _remembered.get(key)) is None:
        if len(_remembered) >= MAX_REMEMBERED:
            _remembered.clear()
        criteria = protocol.criteria(question)
        spans = {each.id: (each.low, each.top - each.low) for each in criteria}
        remembered = _remembered[key] = protocol, criteria, spans
    return remembered
