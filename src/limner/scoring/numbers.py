"""The one shape of a result: scores with intervals, bounds where a judge abstained, and how much was decided. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from ..core.errors import UsageError
from ..core.marks import fill
from ..core.protocol import Protocol, Row, Score
from .entries import Entry
from .parts import criteria_of, criteria_tops, filled, is_undecided, row_parts, score_parts, shares, tops
from .stats import Interval, Parts, bootstrap, ratios, resampled
from .stats.types import Floats

V = TypeVar("V")
Ends = Mapping[str, tuple[float, float]]
Summary = Callable[[Parts, Protocol[Any]], Mapping[str, Interval]]
SUMMARIES: dict[str, Summary] = {}
"""How numbers per question become one number, by name; a score lists those it has in `Score.summaries`."""
MEAN = "mean"
"""The usual summary: its numbers are called like their scores. Others have their name behind the score's."""


def summary(name: str) -> Callable[[Summary], Summary]:
    """Registers a summary: a function from what the scores are made of to one interval per score."""

    def register(function: Summary) -> Summary:
        SUMMARIES[name] = function
        return function

    return register


@summary(MEAN)
def mean(parts: Parts, protocol: Protocol[Any]) -> dict[str, Interval]:
    """The ratio of the sums, with its interval over questions."""
    return bootstrap(parts, protocol.derive, tops(protocol))


def by_question(parts: Parts, statistic: Callable[[Floats], float]) -> dict[str, Interval]:
    """Return a statistic of the numbers per question for each score, with its bootstrap interval over questions."""
    values = {name: np.divide(tops[bottoms > 0], bottoms[bottoms > 0]) for name, (tops, bottoms) in parts.items()}
    return {name: resampled(numbers, statistic) for name, numbers in values.items()}


def columns(protocol: Protocol[Any]) -> list[Score]:
    """The exam's scores once for each summary they have: what tables have columns for.

    Raises:
        UsageError: A score names a summary that nobody has registered.
    """
    return [column for _, _, column in _columns(protocol)]


def _columns(protocol: Protocol[Any]) -> Iterator[tuple[Score, str, Score]]:
    """Score, summary, and the column the two make."""
    for score in protocol.scored:
        for word in score.summaries:
            if word not in SUMMARIES:
                raise UsageError(f"score {score.name}: no summary {word!r}; there is: {', '.join(SUMMARIES)}")
            own = score if word == MEAN else replace(score, name=f"{score.name} {word}", summaries=(word,))
            yield score, word, own


@dataclass(frozen=True)
class Numbers:
    """What is known of one painter over some questions.

    Attributes:
        n: Questions with a score.
        scores: Every summary number, by name.
        bounds: Where the judge abstained: the least and the most each score could be.
        decided: Share of criteria decided, and share of those that are met.
    """

    n: int = 0
    scores: Mapping[str, Interval] = field(default_factory=dict)
    bounds: Ends = field(default_factory=dict)
    decided: Mapping[str, float] = field(default_factory=dict)

    def value(self, name: str) -> float | None:
        """A score's value, where it has one."""
        found = self.scores.get(name)
        return None if found is None else found.value

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval."""
        return {
            "n": self.n,
            "scores": {name: interval.to_json() for name, interval in self.scores.items()},
            "bounds": {name: {"low": low, "high": high} for name, (low, high) in self.bounds.items()},
            "decided": dict(self.decided),
        }


class Later(Mapping[str, V]):
    """A mapping that is worked out when it is first looked into: intervals take a while, and few tables show all."""

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
        """What it holds."""
        return repr(dict(self._whole))


def numbers(entries: Sequence[Entry], protocol: Protocol[Any], decided: bool = False) -> Numbers:
    """The numbers of some scored drawings; repeats and seeds of a question are averaged within it first.

    With `decided` it is known that every criterion of them has a value.
    """
    decided = decided or not any(map(is_undecided, entries))
    return Numbers(
        len({entry.question.id for entry in entries}),
        Later(lambda: _scores(entries, protocol, decided)),
        {} if decided else Later(lambda: ends(entries, protocol)),
        Later(lambda: _decided(entries, protocol)),
    )


def _scores(entries: Sequence[Entry], protocol: Protocol[Any], decided: bool) -> dict[str, Interval]:
    parts = score_parts(entries, protocol, decided)
    known = {MEAN: SUMMARIES[MEAN](parts, protocol)}
    found: dict[str, Interval] = {}
    for score, word, column in _columns(protocol):
        if word not in known:
            known[word] = SUMMARIES[word](parts, protocol)
        found[column.name] = known[word].get(score.name, Interval())
    # Means of what is no score of the exam's stand behind, such as those its scores are derived from.
    return found | {name: mean for name, mean in known[MEAN].items() if name not in found}


def _decided(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, float]:
    """The share of criteria decided, and of those the share met."""
    total, met = 0, list[float]()
    for entry in entries:
        total += len(criteria_tops(entry.question, protocol))
        met += shares(entry, protocol).values()
    found = {"share": round(len(met) / total, 4) if total else 0.0}
    return found | {"met": round(sum(met) / len(met), 4)} if met else found


def pessimistic(entries: Sequence[Entry], absent: Sequence[Any], protocol: Protocol[Any]) -> Numbers:
    """Scores with all that is missing counted as nothing, `absent` questions too, so that refusing gains nothing."""
    n = len({entry.question.id for entry in entries}) + len(absent)

    def scores() -> dict[str, Interval]:
        least = ends(entries, protocol, (False,), absent)
        return {name: Interval(low, None, None, n) for name, (low, _) in least.items()}

    return Numbers(n, Later(scores))


def ends(
    entries: Sequence[Entry],
    protocol: Protocol[Any],
    ways: tuple[bool, ...] = (False, True),
    absent: Sequence[Any] = (),
) -> dict[str, tuple[float, float]]:
    """Monotone scores with everything undecided filled in the worst and the best way."""
    found: list[dict[str, float]] = []
    for best in ways:
        rows = [filled(entry, protocol, best) for entry in entries]
        rows += [Row(q, tuple(fill((), criteria_of(q, protocol), False)), protocol.nothing(q)) for q in absent]
        found.append(protocol.derive(ratios(row_parts(rows, protocol)[0])))
    names = [score.name for score in protocol.scored if score.monotone and score.name in found[0]]
    return {name: (found[0][name], found[-1][name]) for name in names}
