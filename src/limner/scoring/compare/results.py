"""What comparing gives: places and pairs of painters with the verdicts on them, and how far judges agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

from ...core.evaluator import Evaluator, by_evaluator, row_name
from ...core.protocol import Protocol, Score
from .. import Comparable, Entry, Group
from ..numbers import shares
from ..stats import ALPHA, Flips, Interval, MarkAgreement, Measure, Paired, RankInterval, flips, holm, questions_needed
from ..stats.types import Plain
from .everyone import Replacement
from .opinions import PairNumber


@dataclass(frozen=True)
class Place(Plain):
    """Where one painter stands.

    Attributes:
        score: On the common questions, with its interval.
        rank: The places among painters that resampling leaves open; None for a control, and where there is no score
            or no other painter.
        coverage: Questions with a score of those of the exam or selection.
        pessimistic: The score over all of these, with everything that is missing counted as nothing.
        bounds: Where the judge abstained: the least and the most the score could be on the common questions.
        wilson: For a score of all or nothing, its Wilson interval as a share of the best value.
        reason: Why there is no score.
    """

    painter: str
    strategy: str
    score: Interval
    rank: RankInterval | None
    coverage: float
    n: int
    expected: int
    failures: Mapping[str, int]
    pessimistic: float | None
    bounds: Mapping[str, float] | None
    wilson: Interval | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """The painter's row in tables."""
        return row_name(self.painter, self.strategy)


@dataclass(frozen=True)
class Pair(Plain):
    """Two painters, the one with the larger number first.

    Attributes:
        p: The sign-flip p of this pair alone, uncorrected.
        p_holm: The same after Holm's correction over all pairs of two painters shown together; None with a control.
        corrected: Whether the verdict goes by `p_holm`; a pair with a control is no test of painters and goes by `p`.
        effect: Cohen's d_z, the difference in standard deviations of the per-question differences.
        differing: Questions (clusters) on which the two differ.
        gap: The gap that `needed` is for: the difference seen, or the one asked about.
        needed: About how many questions tell the two apart at that gap, with power 0.8 at alpha 0.05.
        winner: Who is better; None where that cannot be said.
    """

    first: str
    second: str
    difference: Interval
    p: Measure
    p_holm: float | None
    corrected: bool
    effect: Measure
    differing: int
    gap: float | None
    needed: Measure
    winner: str | None
    verdict: str

    @property
    def deciding_p(self) -> float | None:
        """The p that the verdict goes by."""
        return self.p_holm if self.corrected else self.p.value


@dataclass(frozen=True)
class Comparison(Plain):
    """Painters under one evaluator; for one value of a tag, or for all questions.

    Attributes:
        compared: Whom, on which questions, and who is left out.
        pairs: Those of two painters, then those with a control.
        tests: How many pairs of two painters are tested in all comparisons shown together.
    """

    exam: str
    reading: str
    evaluator: Evaluator
    compared: Comparable
    score: Score
    by: str | None
    category: str | None
    questions: int
    places: tuple[Place, ...]
    pairs: tuple[Pair, ...]
    tests: int
    reason: str | None = None

    def pair(self, one: str, other: str) -> Pair | None:
        """Return the pair of these two, whichever of them is first; None where they are not compared."""
        return next((pair for pair in self.pairs if {pair.first, pair.second} == {one, other}), None)

    def untold(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Runs of these painters of whom none can be told from another.

        The longest runs alone, of two painters or more: a painter may stand in several, and one that is told from its
        neighbours in none.
        """
        apart = {frozenset((pair.first, pair.second)) for pair in self.pairs if pair.winner}
        known = {name for pair in self.pairs for name in (pair.first, pair.second)}
        listed = [name for name in names if name in known]
        return runs(listed, lambda one, other: frozenset((one, other)) in apart)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval or its reason."""
        evaluator, score = self.evaluator, self.score
        who = {"judge": evaluator.judge, "evaluator": evaluator.name, "setup": dict(evaluator.setup)}
        who |= evaluator.warnings_json
        return super().to_json() | who | {"score": {"name": score.name, "top": score.top, "about": score.about}}


Alphas = Mapping[str, Mapping[str, Measure]]
"""Sort of criterion -> ``nominal`` and ``interval`` -> Krippendorff's alpha."""


@dataclass(frozen=True)
class Order(Plain):
    """How alike two judges order the painters both have, on the questions all of these have.

    Attributes:
        scores: Painter -> the score under the first and under the second judge.
        low: The lower end of Spearman's interval from resampling questions.
        shift: The mean of the second judge's scores less the first's.
    """

    questions: int
    scores: Mapping[str, tuple[float, float]]
    spearman: Measure
    low: float | None
    high: float | None
    kendall: Measure
    shift: float | None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        plain = super().to_json()
        return plain | {"spearman": plain["spearman"] | {"low": plain.pop("low"), "high": plain.pop("high")}}


@dataclass(frozen=True)
class JudgePair(Plain):
    """Two raters on the same drawings.

    Attributes:
        marks: Sort of criterion (and ``all``) -> agreement mark by mark.
        alpha: The same with Krippendorff's alpha.
        icc: Form -> intraclass correlation of the drawings' scores.
        order: How alike they order the painters.
    """

    first: str
    second: str
    marks: Mapping[str, MarkAgreement]
    alpha: Alphas
    icc: Mapping[str, Measure]
    order: Order


@dataclass(frozen=True)
class Rater:
    """One evaluator and everything it marked.

    Attributes:
        groups: One per painter.
        took: Call -> the seconds it took.
    """

    evaluator: Evaluator
    groups: tuple[Group, ...]
    protocol: Protocol[Any]
    took: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The evaluator's label: tells it from all others that marked this exam."""
        return self.evaluator.name

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every drawing whose marks count, in an order of their own."""
        by_name = sorted(self.groups, key=lambda group: (group.painter, group.strategy))
        return tuple(entry for group in by_name for entry in group.scored)

    @cached_property
    def marks(self) -> dict[Unit, dict[str, float]]:
        """What was decided of each drawing in each repeat: criterion -> share of its best value."""
        return {unit(entry): shares(entry, self.protocol) for entry in self.entries}

    @cached_property
    def clusters(self) -> dict[str, str]:
        """Drawing -> the cluster its question belongs to."""
        return {entry.drawing.id: self.protocol.cluster(entry.question) for entry in self.entries}

    @cached_property
    def flips(self) -> Flips:
        """How often repeats of the same marking differ."""
        given: dict[tuple[str, str], list[float]] = {}
        for (drawing, _), marks in self.marks.items():
            for criterion, value in marks.items():
                given.setdefault((drawing, criterion), []).append(value)
        return flips((self.clusters[drawing], values) for (drawing, _), values in given.items())

    @property
    def cost(self) -> Measure:
        """Dollars for one image marked once, failed tries included."""
        costs = [entry.marking.cost for group in self.groups for entry in group.entries if entry.marking]
        if None in costs:
            return Measure(None, len(costs), f"the cost of {costs.count(None)} of {len(costs)} markings is not known")
        return _mean([cost for cost in costs if cost is not None])

    @property
    def seconds(self) -> Measure:
        """Seconds that the calls for one image took; marks that were brought in have none."""
        own = [entry.marking for entry in self.entries if entry.marking and entry.marking.origin == "run"]
        return _mean([sum(self.took.get(key, 0.0) for _, key in marking.replies) for marking in own if marking.replies])

    def to_json(self) -> dict[str, Any]:
        """Return what is known of this rater alone."""
        body: dict[str, Any] = {
            "name": self.name,
            "judge": self.evaluator.judge,
            "setup": dict(self.evaluator.setup),
        }
        body |= {"drawings": len(self.clusters), "markings": len(self.entries), "flips": self.flips.to_json()}
        return body | {"cost_per_image": self.cost.to_json(), "seconds_per_image": self.seconds.to_json()}


@dataclass(frozen=True)
class Agreement(Plain):
    """All raters of an exam; `alpha` and `icc` are over all of them together.

    Attributes:
        numbers: How any two evaluators agree: judges, panels, metrics, persons, the people of a study together.
        replacements: Whether each judge may replace a person, by the people of each study.
    """

    exam: str
    reading: str
    score: Score
    raters: tuple[Rater, ...]
    pairs: tuple[JudgePair, ...]
    alpha: Alphas
    icc: Mapping[str, Measure]
    reason: str | None = None
    numbers: tuple[PairNumber, ...] = ()
    replacements: tuple[Replacement, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; every number with its interval or its reason.

        ``pairs`` are the numbers of any two evaluators. The first of each two judges has the pair's own object with it.
        """
        plain = {name: value for name, value in super().to_json().items() if name not in ("raters", "numbers")}
        rows = [number.to_json() for number in self.numbers]
        first = {
            frozenset((row["first"], row["second"])): row for row in reversed(rows) if row["measure"] == "accuracy"
        }
        for pair in plain["pairs"]:
            blank = PairNumber(pair["first"], pair["second"], "drawing", None, None, "all", "accuracy", None)
            row = first.get(frozenset((pair["first"], pair["second"])))
            if row is not None:
                rows.remove(row)
            pair |= {**(row or blank.to_json()), "first": pair["first"], "second": pair["second"]}
        plain |= {"judges": [rater.to_json() for rater in self.raters], "score": self.score.name}
        return plain | {"pairs": [*plain["pairs"], *rows]}


def runs(names: Sequence[str], apart: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Return the longest stretches of a list in which no two are told apart, where they have two members or more.

    >>> runs("abcd", lambda one, other: {one, other} in ({"a", "c"}, {"a", "d"}, {"b", "d"}))
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """
    found: list[tuple[str, ...]] = []
    last = 0
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and not any(apart(one, names[end]) for one in names[start:end]):
            end += 1
        if end - start > 1 and end > last:
            found.append(tuple(names[start:end]))
            last = end
    return found


def pair_of(
    one: str, other: str, both: Paired, asked: float | None, per_cluster: float, *, corrected: bool = True
) -> Pair:
    """Return a pair before the correction, the one with the larger number first.

    Args:
        one: A painter.
        other: Another one.
        both: The first of them against the second.
        asked: The gap that `needed` is for; by default the difference seen.
        per_cluster: How many questions a cluster has: questions are what is paid for.
        corrected: Whether the pair counts in Holm's correction.
    """
    if both.difference.value is not None and both.difference.value < 0:
        one, other, both = other, one, both.swapped
    gap = asked if asked is not None else both.difference.value
    needed = questions_needed(both.deviation, gap)
    if needed.value is not None:
        needed = Measure(float(ceil(needed.value * per_cluster)), needed.n)
    return Pair(
        first=one,
        second=other,
        difference=both.difference,
        p=both.p,
        p_holm=None,
        corrected=corrected,
        effect=both.effect,
        differing=both.differing,
        gap=gap,
        needed=needed,
        winner=None,
        verdict="",
    )


def corrected(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the same with p corrected over all pairs of all comparisons that are shown together, and the verdicts."""
    flat = judged([pair for comparison in found for pair in comparison.pairs])
    tests, rest = _tests(flat), iter(flat)
    return [replace(comparison, tests=tests, pairs=tuple(next(rest) for _ in comparison.pairs)) for comparison in found]


def judged(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the same pairs with p corrected over those of two painters, and the verdicts."""
    flat = holm([pair.p.value if pair.corrected else None for pair in pairs])
    whole = [replace(pair, p_holm=p) for pair, p in zip(pairs, flat, strict=True)]
    tests = _tests(whole)
    return [_judged(pair, tests if pair.corrected else 1) for pair in whole]


def _tests(pairs: Sequence[Pair]) -> int:
    return sum(pair.p_holm is not None for pair in pairs)


def _judged(pair: Pair, tests: int) -> Pair:
    winner = _winner(pair)
    if pair.deciding_p is None:
        verdict = pair.p.reason or "not known"
    elif winner is not None:
        verdict = f"{winner} is better"
    elif not pair.differing:
        verdict = "the same on every question"
    elif tests * 2 / 2**pair.differing >= ALPHA:
        among = f" among {tests} pairs" if tests > 1 else ""
        verdict = f"not distinguishable: {pair.differing} questions differ, too few to tell{among}"
    elif pair.p.value is not None and pair.p.value < ALPHA:
        verdict = f"not distinguishable once all {tests} pairs are allowed for"
    else:
        verdict = "not distinguishable"
    return replace(pair, winner=winner, verdict=verdict)


def _winner(pair: Pair) -> str | None:
    """Who is better, by the sign of the difference: what every table, file and page says comes from here."""
    p, gap = pair.deciding_p, pair.difference.value
    if p is None or gap is None or p >= ALPHA:
        return None
    return pair.first if gap > 0 else pair.second


Unit = tuple[str, int]
"""A drawing and the number of the repeat: what two raters must share to be compared on it."""


def _mean(numbers: Sequence[float]) -> Measure:
    if not numbers:
        return Measure(None, 0, "nothing was measured")
    return Measure(sum(sorted(numbers)) / len(numbers), len(numbers))


def unit(entry: Entry) -> Unit:
    """Return the drawing and the repeat that an entry is about."""
    return entry.drawing.id, entry.marking.repeat if entry.marking else 0


def raters(groups: Sequence[Group], protocol: Protocol[Any], took: Mapping[str, float] | None = None) -> list[Rater]:
    """Every evaluator, in their order."""
    sides = by_evaluator(groups)
    found = [Rater(members[0].evaluator, tuple(members), protocol, took or {}) for members in sides]
    return sorted(found, key=lambda rater: rater.evaluator.order)
