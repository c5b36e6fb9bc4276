"""Results of comparisons: painters' places, pairs of painters with verdicts, and the agreement of judges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from ...core.evaluator import Evaluator
from ...core.protocol import Score
from .. import Comparable
from ..stats import ALPHA, Interval, Measure, Paired, RankInterval, holm, questions_needed
from ..stats.resample import Plain
from .opinions import AgreementNumber, Opinion
from .people import Replacement

ONE_PAINTER = "only one painter: nothing to compare it with"


@dataclass(frozen=True)
class Place(Plain):
    """One painter's place.

    Attributes:
        score: The score on the common questions, with its interval.
        rank: The best and worst place in resamples; None for a control, without a score, or without other painters.
        coverage: The share of questions of the exam or selection that have a score.
        pessimistic: The score over all these questions, with everything missing counted as zero.
        bounds: The lowest and highest possible score on the common questions if the judge abstained.
        wilson: The Wilson interval as a share of the best value, if every question scores all or nothing.
        reason: Why there is no score.
    """

    painter: str
    strategy: str
    name: str
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


@dataclass(frozen=True)
class Pair(Plain):
    """Two painters, the one with the larger number first.

    Attributes:
        p: The uncorrected p-value of the sign-flip test.
        p_holm: The p-value after Holm's correction over all pairs shown together; None for a pair with a control.
        corrected: Whether the verdict is based on `p_holm`; for a pair with a control, it is based on `p`.
        effect: Cohen's d_z, the difference in standard deviations of the per-question differences.
        differing: The number of questions (clusters) on which the two differ.
        gap: The gap that `needed` refers to: the observed difference, or the one asked about.
        needed: The approximate number of questions to show that gap, with power 0.8 at alpha 0.05.
        winner: The better painter; None if the difference is not significant.
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
        """The p-value that the verdict is based on."""
        return self.p_holm if self.corrected else self.p.value


@dataclass(frozen=True)
class Comparison(Plain):
    """The comparison of painters under one evaluator, on all questions or on those with one value of a tag.

    Attributes:
        compared: The painters compared, the questions, and the painters left out.
        pairs: The pairs of painters, followed by pairs with a control.
        tests: The number of pairs without a control in all comparisons shown together.
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

    def ties(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the longest runs of these painters in which no two are significantly different.

        A run has at least two painters. A painter may be in several runs, or in none if it differs from its neighbours.
        """
        apart = {frozenset((pair.first, pair.second)) for pair in self.pairs if pair.winner}
        compared_names = {name for pair in self.pairs for name in (pair.first, pair.second)}
        listed = [name for name in names if name in compared_names]
        return tied_runs(listed, lambda one, other: frozenset((one, other)) in apart)

    @property
    def answer(self) -> str:
        """The result in one sentence: the best painter against the second, then against all others."""
        if not self.pairs:
            return self.reason or ONE_PAINTER
        first, rivals = self.pairs[0], [pair for pair in self.pairs if pair.corrected]
        sentence = self._about(first)
        beaten = sum(pair.winner == first.first for pair in rivals)
        others = sum(first.first in (pair.first, pair.second) for pair in rivals)
        if others < 2:
            return sentence
        count = f"all {others}" if beaten == others else f"{beaten or 'none'} of the {others}"
        return f"{sentence}; {first.first} beats {count} other painters"

    def _about(self, pair: Pair) -> str:
        """Return a sentence about one pair: who wins and by how much, or how many questions it would take."""
        two, score, gap = f"{pair.first} and {pair.second}", self.score, pair.difference
        if pair.winner is None or gap.value is None:
            if not pair.differing and gap.value is not None:
                return f"{two} are equal on {score.name} on every one of {gap.n} questions"
            about = self._needed(pair) if pair.deciding_p is not None else f": {pair.verdict}"
            return f"{two} cannot be told apart on {score.name} with {gap.n} questions{about}"
        ends = "" if gap.low is None else f"95% CI {gap.low:.{score.digits}f} to {gap.high:.{score.digits}f}; "
        by = f"{gap.value:.{score.digits}f}{' points' if score.top == 100 else ''}"
        p = pair.deciding_p or 0.0
        chance = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        sentence = f"{pair.first} beats {pair.second} on {score.name} by {by} ({ends}{gap.n} questions; {chance})"
        return sentence if pair.gap == gap.value else sentence + self._needed(pair)

    def _needed(self, pair: Pair) -> str:
        """Return a phrase on the number of questions that would show the gap; empty if it is unknown."""
        if pair.needed.value is None:
            return ""
        phrase = f"; about {pair.needed.value:,.0f} questions would be needed"
        return (
            phrase
            if pair.gap == pair.difference.value
            else f"{phrase} to show a gap of {pair.gap:.{self.score.digits}f}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, every number with its interval or its reason."""
        evaluator, score = self.evaluator, self.score
        who = {"judge": evaluator.judge, "evaluator": evaluator.name, "setup": dict(evaluator.setup)}
        who |= evaluator.warnings_json
        who |= {"answer": self.answer}
        return super().to_json() | who | {"score": {"name": score.name, "top": score.top, "about": score.about}}


@dataclass(frozen=True)
class Agreement(Plain):
    """The evaluators of an exam and their agreement; see `limner.scoring.compare.opinions.Opinion` for the rule.

    Attributes:
        score: The score by which all judges together are compared.
        raters: The evaluators that have marked.
        numbers: The agreement of each pair of evaluators: judges, panels, metrics, persons, a study's people combined.
        together: The agreement of all judges, if there are more than two.
        replacements: For each judge and study, whether the judge may replace a person.
    """

    exam: str
    reading: str
    score: Score
    raters: tuple[Opinion, ...]
    reason: str | None = None
    numbers: tuple[AgreementNumber, ...] = ()
    together: tuple[AgreementNumber, ...] = ()
    replacements: tuple[Replacement, ...] = ()

    def number(self, first: str, second: str, measure: str, score: str, **more: Any) -> AgreementNumber | None:
        """Return one number of two evaluators, in either order; ``unit`` is ``drawing`` unless given."""
        wanted = {"measure": measure, "score": score, "unit": "drawing", "tag": None, "category": None} | more
        pair = {first, second}
        rows = (one for one in self.numbers if {one.first, one.second} == pair)
        return next((one for one in rows if all(getattr(one, name) == value for name, value in wanted.items())), None)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; ``pairs`` are the numbers of each pair of evaluators."""
        plain = super().to_json()
        return plain | {"score": self.score.name, "judges": plain.pop("raters"), "pairs": plain.pop("numbers")}


def tied_runs(names: Sequence[str], apart: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Return the longest runs of at least two names in which no two are significantly different.

    >>> tied_runs("abcd", lambda one, other: {one, other} in ({"a", "c"}, {"a", "d"}, {"b", "d"}))
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """
    stretches: list[tuple[str, ...]] = []
    last = 0
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and not any(apart(one, names[end]) for one in names[start:end]):
            end += 1
        if end - start > 1 and end > last:
            stretches.append(tuple(names[start:end]))
            last = end
    return stretches


def make_pair(
    one: str, other: str, both: Paired, asked: float | None, per_cluster: float, *, corrected: bool = True
) -> Pair:
    """Return a pair before the correction, the painter with the larger number first.

    Args:
        one: The first painter.
        other: The second painter.
        both: The comparison of the first painter with the second.
        asked: The gap that `needed` refers to; by default the observed difference.
        per_cluster: The number of questions per cluster, to give `needed` in questions.
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


def with_corrected_p(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p-values corrected over all pairs shown together, and with verdicts."""
    flat = with_verdicts([pair for comparison in comparisons for pair in comparison.pairs])
    tests, rest = _tests(flat), iter(flat)
    return [
        replace(comparison, tests=tests, pairs=tuple(next(rest) for _ in comparison.pairs))
        for comparison in comparisons
    ]


def with_verdicts(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with p-values corrected over those without a control, and with verdicts."""
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
    """Return the better painter by the sign of the difference; the only source for tables, files and pages."""
    p, gap = pair.deciding_p, pair.difference.value
    if p is None or gap is None or p >= ALPHA:
        return None
    return pair.first if gap > 0 else pair.second
