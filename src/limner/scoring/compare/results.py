"""Results of comparing: places and pairs of painters with verdicts, and how far judges agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from ...core.evaluator import Evaluator, row_name
from ...core.protocol import Score
from .. import Comparable
from ..stats import ALPHA, Interval, Measure, Paired, RankInterval, holm, questions_needed
from ..stats.types import Plain
from .everyone import Replacement
from .opinions import AgreementNumber, Opinion


@dataclass(frozen=True)
class Place(Plain):
    """One painter's place.

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
        corrected: Whether the verdict goes by `p_holm`; a pair with a control is not a test and goes by `p`.
        effect: Cohen's d_z, the difference in standard deviations of the per-question differences.
        differing: Questions (clusters) on which the two differ.
        gap: The gap that `needed` is for: the difference seen, or the one asked about.
        needed: About how many questions show that gap, with power 0.8 at alpha 0.05.
        winner: Who is better; None where the difference is not significant.
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
        """Return the pair of these two, in either order; None where they are not compared."""
        return next((pair for pair in self.pairs if {pair.first, pair.second} == {one, other}), None)

    def ties(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return runs of these painters of which no two are significantly different.

        The longest runs alone, of two painters or more: a painter may be in several, and one that differs from its
        neighbours in none.
        """
        apart = {frozenset((pair.first, pair.second)) for pair in self.pairs if pair.winner}
        compared_names = {name for pair in self.pairs for name in (pair.first, pair.second)}
        listed = [name for name in names if name in compared_names]
        return tied_runs(listed, lambda one, other: frozenset((one, other)) in apart)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON; every number with its interval or its reason."""
        evaluator, score = self.evaluator, self.score
        who = {"judge": evaluator.judge, "evaluator": evaluator.name, "setup": dict(evaluator.setup)}
        who |= evaluator.warnings_json
        return super().to_json() | who | {"score": {"name": score.name, "top": score.top, "about": score.about}}


@dataclass(frozen=True)
class Agreement(Plain):
    """All evaluators of an exam, and how far they agree; see `limner.scoring.compare.opinions.Opinion` for the rule.

    Attributes:
        score: The score that judges together are compared by.
        raters: Those that have marked.
        numbers: How any two evaluators agree: judges, panels, metrics, persons, the people of a study together.
        together: How all judges agree, where there are more than two.
        replacements: Whether each judge may replace a person, by the people of each study.
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
        """Return plain JSON; ``pairs`` are the numbers of any two evaluators."""
        plain = super().to_json()
        return plain | {"score": self.score.name, "judges": plain.pop("raters"), "pairs": plain.pop("numbers")}


def tied_runs(names: Sequence[str], apart: Callable[[str, str], bool]) -> list[tuple[str, ...]]:
    """Return the longest stretches of a list in which no two are significantly different, of two members or more.

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


def with_corrected_p(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons with p corrected over all pairs that are shown together, and the verdicts."""
    flat = with_verdicts([pair for comparison in comparisons for pair in comparison.pairs])
    tests, rest = _tests(flat), iter(flat)
    return [
        replace(comparison, tests=tests, pairs=tuple(next(rest) for _ in comparison.pairs))
        for comparison in comparisons
    ]


def with_verdicts(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs with p corrected over those of two painters, and the verdicts."""
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
    """Return the better one, by the sign of the difference; every table, file and page takes it from here."""
    p, gap = pair.deciding_p, pair.difference.value
    if p is None or gap is None or p >= ALPHA:
        return None
    return pair.first if gap > 0 else pair.second
