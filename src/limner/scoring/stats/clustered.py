"""Shares and gaps of shares for answers in clusters (questions): estimates, tests, and detectable differences."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from math import exp, inf, isfinite, log, sqrt
from typing import Literal

import numpy as np

from .resample import MIN_CLUSTERS, student, wilson_ends
from .types import NEAR, Floats, Interval, Plain

BETS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""The stakes of the sequential test; its capital is split equally among them and between both directions."""


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
        from scipy.special import stdtr

        if self.value is None or self.error is None:
            return None
        t = (self.value - null) / self.error
        return float(stdtr(self.clusters - 1, -t) if side == "above" else 2 * stdtr(self.clusters - 1, -abs(t)))

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


def sequential_moves(differences: Iterable[float]) -> Iterator[float]:
    """Yield, after each difference, the evidence that they are not centred on zero; at 1/alpha, it counts as a move.

    If old and new do not differ, each difference is equally likely to have the opposite sign, whatever came before. A
    bet on the sign then wins nothing on average, however often one looks (a test martingale): its capital reaches
    1/alpha with a probability of at most alpha.

    >>> [round(value, 2) for value in sequential_moves([0.0, 0.0])]
    [1.0, 1.0]
    """
    logs = [0.0] * (2 * len(BETS))
    bets = [*BETS, *(-bet for bet in BETS)]
    for difference in differences:
        for n, bet in enumerate(bets):
            stake = bet * difference
            logs[n] += stake - _log_cosh(stake)
        top = max(logs)
        capital = log(sum(exp(value - top) for value in logs) / len(logs)) + top
        yield exp(capital) if capital < 700 else inf


def _log_cosh(value: float) -> float:
    return abs(value) + float(np.log1p(exp(-2 * abs(value)))) - log(2)
