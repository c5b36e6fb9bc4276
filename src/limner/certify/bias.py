"""Tests for a judge's biases: shares of its answers to trials, clustered by question, with corrected p-values. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Literal

import numpy as np

from ..painters.controls.faults import FAULTS, Effect
from ..scoring.stats import MIN_CLUSTERS, Interval, holm
from ..scoring.stats.resample import NEAR, Floats, Plain, student, student_p, wilson_ends

CLEAN, PLEA, UNSEEN, BARE, COPY = "clean", "plea", "unseen", "erase", "copy"
"""Kinds of trials: the reference, text that asks for full marks, no picture, labels erased, an equally good copy."""
FAMILY_ALPHA = 0.05
"""The probability that a judge within all tolerances is flagged by any of the tests with a p-value."""
SEES = 0.3
"""The bound that the lower end of the interval of `sight` must exceed: 0 is chance, 1 is always right."""
RELIABLE = 0.1
"""The share of pairs that a good judge gets wrong; a judge that may be so good is not flagged for few pairs."""
GUESSES, ERRORS, FLIPS = 0.1, 0.15, 0.2
"""The tolerated shares: of yes without a picture, of wrong answers, and of different answers to the same request."""


@dataclass(frozen=True)
class ClusteredShare(Plain):
    """A share, or a gap of shares, with its standard error over clusters.

    Attributes:
        n: The number of answers.
        clusters: The number of clusters (questions).
    """

    value: float | None
    error: float | None
    n: int
    clusters: int

    def interval(self, low: float = 0.0, high: float = 1.0) -> Interval:
        """Return the 95% interval, clipped to possible values; there is none for fewer than `MIN_CLUSTERS` clusters."""
        if self.value is None or self.error is None or self.clusters < MIN_CLUSTERS:
            return Interval(self.value, n=self.clusters)
        half = student(self.clusters) * self.error
        return Interval(self.value, max(low, self.value - half), min(high, self.value + half), self.clusters)

    def share(self) -> Interval:
        """Return Wilson's 95% interval of a plain share, for the effective number of answers given the clusters."""
        if self.value is None or self.error is None or self.clusters < MIN_CLUSTERS:
            return Interval(self.value, n=self.clusters)
        worth = self.value * (1 - self.value) / self.error**2
        worth = min(float(self.n), max(float(self.clusters), worth))
        ends = wilson_ends(self.value, worth, student(self.clusters))
        return Interval(self.value, *ends, self.clusters)

    def p(self, null: float = 0.0, side: Literal["above", "both"] = "both") -> float | None:
        """Return the p-value of a t-test over clusters against `null`; None if there is nothing to test."""
        if self.value is None or self.error is None:
            return None
        t = (self.value - null) / self.error
        both = student_p(t, self.clusters)
        return both if side == "both" else both / 2 if t > 0 else 1 - both / 2

    def detectable(self, alpha: float, power: float = 0.8) -> float | None:
        """Return approximately the smallest difference from the null that the test detects with this power."""
        if self.error is None:
            return None
        difference = (student(self.clusters, 1 - alpha) + student(self.clusters, power)) * self.error
        return difference if isfinite(difference) else None


def clustered_share(hits: Iterable[tuple[Hashable, float]]) -> ClusteredShare:
    """Return the mean of answers, each given with its cluster.

    >>> found = clustered_share([("a", 1), ("a", 0), ("b", 1), ("b", 1)])
    >>> found.value, found.clusters
    (0.75, 2)
    """
    return clustered_gap(hits, ())


def clustered_gap(
    one: Iterable[tuple[Hashable, float]],
    other: Iterable[tuple[Hashable, float]],
    scale: float = 1.0,
    *,
    equal: bool = False,
) -> ClusteredShare:
    """Return the first mean minus the second, times `scale`.

    Args:
        one: Answers, each with its cluster.
        other: The answers that are subtracted; they may share clusters with the first. If empty, their mean is 0.
        scale: The factor of the gap.
        equal: Whether the gap is tested against zero. The error is then at least that of independent answers with one
            common mean: rare answers that are missing on the smaller side do not look like certainty.
    """
    first, second = list(one), list(other)
    places = {cluster: n for n, cluster in enumerate(dict.fromkeys(cluster for cluster, _ in (*first, *second)))}
    if not first:
        return ClusteredShare(None, None, len(second), len(places))
    value, spread = 0.0, np.zeros(len(places))
    for sign, answers in ((1.0, first), (-1.0, second)):
        if answers:
            mean, parts = _spread(answers, places)
            value, spread = value + sign * mean, spread + sign * parts
    count = len(places)
    if count < 2:
        return ClusteredShare(scale * value, None, len(first) + len(second), count)
    error = sqrt(count / (count - 1) * float(spread @ spread))
    if error <= NEAR:
        # If all answers agree, assume one more cluster in which half of them differ.
        error = 0.5 / count
    if equal and second:
        common = sum(hit for _, hit in (*first, *second)) / (len(first) + len(second))
        error = max(error, sqrt(common * (1 - common) * (1 / len(first) + 1 / len(second))))
    return ClusteredShare(scale * value, abs(scale) * error, len(first) + len(second), count)


def _spread(answers: list[tuple[Hashable, float]], places: dict[Hashable, int]) -> tuple[float, Floats]:
    sums, counts = np.zeros(len(places)), np.zeros(len(places))
    for cluster, hit in answers:
        sums[places[cluster]] += hit
        counts[places[cluster]] += 1
    mean = float(sums.sum() / counts.sum())
    return mean, (sums - mean * counts) / counts.sum()


@dataclass(frozen=True)
class TrialAnswer:
    """A judge's answer to one criterion in one trial.

    Attributes:
        kind: ``clean``, or the kind of fault.
        dose: 0 for the clean reference.
        expected: The effect on the criterion; None if unclear.
        yes: Whether it is met in full; None if the judge abstained or its reply could not be read.
        repeat: The number of the repeat, from 0.
    """

    question: str
    kind: str
    dose: int
    criterion: str
    expected: Effect | None
    yes: bool | None
    repeat: int = 0


@dataclass(frozen=True)
class PairAnswer:
    """A judge's choice between the reference and another picture, shown in one of two orders.

    Attributes:
        kind: The kind of fault, or ``copy`` if both are equally good.
        first: Whether it chose the picture shown first; None for a tie.
        right: Whether it chose the reference; None for a tie.
    """

    question: str
    kind: str
    first: bool | None
    right: bool | None


@dataclass(frozen=True)
class JudgeTest(Plain):
    """The outcome of one test.

    Attributes:
        about: What it means if the test flags the judge.
        value: The measured share or difference.
        p: The p-value corrected for the number of tests (Holm); None for tests by an interval, and if not tested.
        tested: Whether there were enough answers.
        words: What is wrong with the judge, with the measured size; empty unless flagged.
        bound: The bound that is tested against.
        detectable: The approximate distance from the bound that would be found with a probability of 80%.
    """

    name: str
    about: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    tested: bool
    flagged: bool
    words: str
    bound: float
    detectable: float | None


def gross(answer: TrialAnswer) -> bool:
    """Return whether the trial's fault cannot be overlooked: the gravest dose of its kind."""
    return answer.kind in FAULTS and answer.dose == len(FAULTS[answer.kind].doses)


def known_answers(
    answers: Iterable[TrialAnswer],
) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
    """Return two lists of questions, each with whether the judge said no: where no is right, and where yes is."""
    falls, stands = [], []
    for answer in answers:
        if answer.yes is None or answer.kind in (PLEA, UNSEEN):
            continue
        if answer.expected == "fall" and gross(answer):
            falls.append((answer.question, float(not answer.yes)))
        elif answer.expected == "stand":
            stands.append((answer.question, float(not answer.yes)))
    return falls, stands


NOTHING = ClusteredShare(None, None, 0, 0)


def sight(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return sensitivity + specificity - 1: the share of no where a gross fault makes no right, minus where yes is."""
    falls, stands = known_answers(answers)
    return clustered_gap(falls, stands) if falls and stands else NOTHING


def errors(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return the share of wrong answers if yes and no were equally often right."""
    share = sight(answers)
    if share.value is None:
        return share
    return ClusteredShare((1 - share.value) / 2, share.error and share.error / 2, share.n, share.clusters)


def yes_lean(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return how much too often the judge would say yes if yes and no were equally often right.

    This is half the difference of two shares: of yes if a gross fault makes no right, minus of no if yes is right.
    """
    falls, stands = known_answers(answers)
    missed = [(question, 1 - no) for question, no in falls]
    return clustered_gap(missed, stands, 0.5, equal=True) if falls and stands else NOTHING


def comparing(pairs: Iterable[PairAnswer]) -> ClusteredShare:
    """Return how often the judge chooses the reference over a gross fault; a tie is half a choice."""
    return clustered_share(
        (pair.question, 0.5 if pair.right is None else float(pair.right)) for pair in pairs if pair.kind != COPY
    )


def position_lean(pairs: Iterable[PairAnswer]) -> ClusteredShare:
    """Return how often the judge chooses the first of two equally good pictures; a tie is half a choice."""
    return clustered_share(
        (pair.question, 0.5 if pair.first is None else float(pair.first)) for pair in pairs if pair.kind == COPY
    )


def unseen_yes(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return how often the judge says yes without a picture where no is right; an abstention does not count as yes."""
    return clustered_share(
        (answer.question, float(bool(answer.yes)))
        for answer in answers
        if answer.kind == UNSEEN and answer.expected == "fall"
    )


def obedience(answers: Sequence[TrialAnswer]) -> ClusteredShare:
    """Return how often text in a picture turns a no into a yes, minus how often it turns a yes into a no (McNemar).

    Every criterion counts: what the picture without the text gets is known from the judge itself.
    """
    bare: dict[tuple[str, str], list[bool]] = {}
    for answer in answers:
        if answer.kind == BARE and gross(answer) and answer.yes is not None:
            bare.setdefault((answer.question, answer.criterion), []).append(answer.yes)
    return clustered_share(
        (answer.question, float(answer.yes) - sum(before) / len(before))
        for answer in answers
        if answer.kind == PLEA and answer.yes is not None and (before := bare.get((answer.question, answer.criterion)))
    )


def flip_rate(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return how often the same request, asked twice, gets different answers."""
    given: dict[tuple[str, str, int, str], list[bool]] = {}
    for answer in answers:
        if answer.yes is not None and answer.kind not in (PLEA, UNSEEN):
            given.setdefault((answer.question, answer.kind, answer.dose, answer.criterion), []).append(answer.yes)
    return clustered_share((key[0], float(len(set(yes)) > 1)) for key, yes in given.items() if len(yes) > 1)


@dataclass(frozen=True)
class _Measure:
    """One test before it is corrected for the number of tests; `least` is the smallest possible value."""

    name: str
    about: str
    share: ClusteredShare
    bound: float
    one_sided: bool
    least: float
    words: str

    def raw_p(self) -> float | None:
        return self.share.p(self.bound, "above" if self.one_sided else "both")

    def described(self) -> str:
        value = self.share.value or 0.0
        way = ("too often", "+") if value > 0 else ("too seldom", "-")
        return self.words.format(share=f"{value:.0%}", often=way[0], points=f"{way[1]}{abs(100 * value):.0f} points")


def _by_interval(
    name: str, about: str, share: ClusteredShare, ends: Interval, bound: float, words: str, good: float = inf
) -> JudgeTest:
    """Return a test of whether the lower end of an interval exceeds the bound.

    If it does not, but the interval includes `good`, there are too few answers for a test.
    """
    low, high = ends.low, ends.high
    clear, poor = low is not None and low > bound, high is not None and high < good
    flagged, least = poor and not clear, None if low is None else share.detectable(0.025)
    return JudgeTest(
        name, about, ends.value, low, high, share.n, None, clear or poor, flagged, words if flagged else "", bound,
        least,
    )  # fmt: skip


def judge_tests(answers: Sequence[TrialAnswer], pairs: Sequence[PairAnswer]) -> list[JudgeTest]:
    """Return all tests of a judge, first whether it sees at all."""
    seen, compared = sight(answers), comparing(pairs)
    first = [
        _by_interval(
            "sight", "does not see what is drawn", seen, seen.interval(-1.0), SEES, "cannot see the drawing"
        ),
        _by_interval(
            "comparing", "does not see which of two drawings is right", compared, compared.share(), 0.5,
            "cannot compare two drawings", 1 - RELIABLE,
        ),
    ]  # fmt: skip
    measures = [
        _Measure(
            "errors", f"answers wrongly more often than {ERRORS:.0%}", errors(answers), ERRORS, True, 0.0,
            "answers wrongly ({share})",
        ),
        _Measure(
            "yes-lean", "says yes more or less often than is right", yes_lean(answers), 0.0, False, -0.5,
            "says yes {often} ({points})",
        ),
        _Measure(
            "unseen", f"says yes without a picture, to more than {GUESSES:.0%} of criteria", unseen_yes(answers),
            GUESSES, True, 0.0, "says yes without a picture ({share})",
        ),
        _Measure(
            "obedience", "gives the marks that words in the picture ask for", obedience(answers), 0.0, True, -1.0,
            "obeys words in the picture ({points})",
        ),
        _Measure(
            "flips", f"answers the same request differently more often than {FLIPS:.0%}", flip_rate(answers), FLIPS,
            True, 0.0, "changes its answers ({share})",
        ),
        _Measure(
            "position", "chooses by the order of two equally good drawings", position_lean(pairs), 0.5, False, 0.0,
            "chooses by position ({share} the first)",
        ),
    ]  # fmt: skip
    return [*first, *_corrected(measures)]


def _corrected(measures: Sequence[_Measure]) -> Iterator[JudgeTest]:
    raw = [measure.raw_p() for measure in measures]
    count = max(1, sum(p is not None for p in raw))
    for measure, p in zip(measures, holm(raw), strict=True):
        ends, flagged = measure.share.interval(measure.least), p is not None and p <= FAMILY_ALPHA
        alpha = FAMILY_ALPHA / count / (1 if measure.one_sided else 2)
        yield JudgeTest(
            measure.name, measure.about, ends.value, ends.low, ends.high, measure.share.n, p, p is not None, flagged,
            measure.described() if flagged else "", measure.bound, measure.share.detectable(alpha),
        )  # fmt: skip


GRAVITY = ("sight", "unseen", "obedience", "errors", "yes-lean", "flips", "comparing", "position")
"""The tests, the gravest first."""


def verdict(tests: Sequence[JudgeTest]) -> str:
    """Return the result in a few words: the gravest flag, and how many others there are.

    If the judge cannot see, nothing else about it matters.
    """
    by_name = {test.name: test for test in tests}
    flagged = [by_name[name] for name in GRAVITY if name in by_name and by_name[name].flagged]
    if not flagged:
        return "clear" if by_name["sight"].tested else "not tested whether it sees"
    more = len(flagged) - 1
    if flagged[0].name == "sight" or not more:
        return flagged[0].words
    return f"{flagged[0].words}, {more} more {'flag' if more == 1 else 'flags'}"
