"""Prediction-powered estimates (PPI++): a judge's marks of all drawings and people's marks of some. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .stats.resample import MIN_CLUSTERS, NEAR, Derive, Floats, Plain, student, student_p, wilson_ends

Places = NDArray[np.int64]
UNSEEN = 0.5
"""The number of unseen errors, as large as the largest one seen, assumed among the drawings that people marked."""
OWN_POWER = 10
"""The minimum number of human-marked drawings for a stratum to have a separate power; others use the pooled one."""


@dataclass(frozen=True)
class HumanInterval(Plain):
    """A corrected number with its 95% interval.

    Attributes:
        n: The number of drawings that the judge marked.
        human: The number of drawings that people marked, on which the correction is based.
        reason: Why there is no number, or no interval.
        p: For a difference, the two-sided p-value against zero.
        p_holm: The p-value after Holm's correction over all pairs of painters; None for a pair with a control.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    human: int = 0
    reason: str | None = None
    p: float | None = None
    p_holm: float | None = None

    @property
    def deciding_p(self) -> float | None:
        """The p-value that the verdict on two painters is based on, as in `limner compare`."""
        return self.p if self.p_holm is None else self.p_holm


@dataclass(frozen=True)
class Judged:
    """A judge's values of many drawings and people's values of some; arrays have one element per drawing.

    Attributes:
        clusters: The index of the drawing's question.
        size: The number of questions.
        judge: The numerator that the drawing adds to the score by the judge's marks.
        human: The numerator by people's marks; NaN if nobody marked the drawing.
        bottoms: The denominator; 1 if the score is a plain mean.
        shares: The weight of the drawing within its question, which may have several drawings.
        inclusion: The probability that people were asked to mark it; used only for drawings that they marked.
        strata: The index of its stratum; None if the stratum of any drawing is unknown.
    """

    clusters: Places
    size: int
    judge: Floats
    human: Floats
    bottoms: Floats
    shares: Floats
    inclusion: Floats
    strata: Places | None = None


@dataclass(frozen=True)
class HumanEstimate:
    """An estimate, and each question's contribution to its error (the influence); these add up to zero.

    Attributes:
        power: The weight of the judge's marks; 0 uses people's marks only.
        human: The number of drawings that people marked.
        questions: The effective number of questions of these drawings (Kish); unequal weights lower it.
        noise: The variance from errors of the judge that are too rare to show up in so few drawings.
    """

    value: float
    influence: Floats
    power: float
    n: int
    human: int
    questions: float
    noise: float = 0.0

    @property
    def variance(self) -> float:
        """The variance over questions; two degrees of freedom are lost to the estimated mean and power."""
        m = self.questions
        return float((self.influence**2).sum()) * m / (m - 2) + self.noise if m > 2 else float("nan")

    def minus(self, other: HumanEstimate) -> HumanEstimate:
        """Return this estimate minus another over the same questions, paired by question."""
        influence = self.influence - other.influence
        power, fewer = (self.power + other.power) / 2, min(self.questions, other.questions)
        n, human, noise = self.n + other.n, self.human + other.human, self.noise + other.noise
        return HumanEstimate(self.value - other.value, influence, power, n, human, fewer, noise)


def sum_by_cluster(clusters: Places, values: Floats, size: int) -> Floats:
    """Return the sum of the values of each cluster."""
    sums: Floats = np.zeros(size)
    np.add.at(sums, clusters, values)
    return sums


def estimate_mean(judged: Judged, power: float | None = None) -> HumanEstimate | None:
    """Return the prediction-powered mean; None if people marked nothing.

    Args:
        judged: The drawings.
        power: The weight of the judge's marks in all strata; by default the one with the least variance.
    """
    marked = ~np.isnan(judged.human)
    total = judged.shares.sum()
    below = float((judged.shares * judged.bottoms).sum() / total) if total else 0.0
    if not marked.any() or below <= 0:
        return None
    strata = _strata(judged, marked)
    powers, value, largest = np.zeros(len(marked)), 0.0, 0.0
    added = np.zeros(len(marked))
    pooled = _power(judged, marked, np.ones(len(marked), bool)) if power is None else power
    for stratum in np.unique(strata):
        inside = strata == stratum
        few = int((inside & marked).sum()) < OWN_POWER
        own = pooled if power is not None or few else _power(judged, marked, inside)
        powers[inside] = own
        people, weights = inside & marked, np.zeros(len(marked))
        weights[people] = judged.shares[people] / judged.inclusion[people]
        rest = np.where(people, judged.human - own * judged.judge, 0.0)
        mean = float((weights * rest).sum() / weights.sum())
        largest = max(largest, float(np.abs(rest[people] - mean).max()))
        share = judged.shares[inside].sum() / total
        added[inside] += judged.shares[inside] / total * (own * judged.judge[inside] + mean)
        value += float(added[inside].sum())
        added[people] += share * weights[people] * (rest[people] - mean) / weights.sum()
    ratio = value / below
    # The influence of a ratio is that of its numerator minus the ratio times that of its denominator.
    added -= ratio * judged.shares * judged.bottoms / total
    influence = sum_by_cluster(judged.clusters, added / below, judged.size)
    weights = np.where(marked, judged.shares / judged.inclusion, 0.0)
    held = sum_by_cluster(judged.clusters, weights, judged.size)
    questions = float(held.sum() ** 2 / (held**2).sum())
    noise = UNSEEN * ((largest if largest > NEAR else float(np.abs(judged.judge).max())) / below / questions) ** 2
    power = float(np.mean(powers))
    return HumanEstimate(ratio, influence, power, len(marked), int(marked.sum()), questions, noise)


def estimate_difference(mine: Judged, theirs: Judged) -> HumanEstimate | None:
    """Return the first number minus the second, paired by question; None if people marked nothing of either side.

    Both sides have the same power, the one with the least variance of the difference. If people marked both drawings of
    every question, this is the prediction-powered mean of the differences by question.
    """
    ends = [[estimate_mean(side, power) for side in (mine, theirs)] for power in (0.0, 1.0)]
    alone, full = ([first.minus(second) for first, second in [pair] if first and second] for pair in ends)
    if not alone or not full:
        return None
    gain = full[0].influence - alone[0].influence
    spread = float((gain**2).sum())
    most = min(_most(~np.isnan(side.human)) for side in (mine, theirs))
    power = min(max(-float((alone[0].influence * gain).sum()) / spread, 0.0), most) if spread > 0 else 0.0
    value = alone[0].value + power * (full[0].value - alone[0].value)
    noise = max(alone[0].noise, full[0].noise) if power else alone[0].noise
    return replace(alone[0], value=value, influence=alone[0].influence + power * gain, power=power, noise=noise)


def _strata(judged: Judged, marked: NDArray[np.bool_]) -> Places:
    """Return the strata, with those merged in which people marked fewer than two drawings."""
    if judged.strata is None:
        return np.zeros(len(marked), np.int64)
    strata = judged.strata + 1
    for stratum in np.unique(strata):
        if int((marked & (strata == stratum)).sum()) < 2:
            strata = np.where(strata == stratum, 0, strata)
    if 0 in strata and int((marked & (strata == 0)).sum()) < 2:
        # Still too few for a mean: merge them into the largest stratum.
        others = strata[strata > 0]
        strata = np.where(strata == 0, np.bincount(others).argmax() if len(others) else 0, strata)
    return strata


def _power(judged: Judged, marked: NDArray[np.bool_], inside: NDArray[np.bool_]) -> float:
    """Return Cov(Y, f) / Var(f), between 0 and `_most`."""
    people = marked & inside
    weights = judged.shares[people] / judged.inclusion[people]
    weights = weights / weights.sum()
    judge, human = judged.judge[people], judged.human[people]
    together = float((weights * (judge - weights @ judge) * (human - weights @ human)).sum())
    everyone, shares = judged.judge[inside], judged.shares[inside] / judged.shares[inside].sum()
    spread = float((shares * (everyone - shares @ everyone) ** 2).sum())
    return min(max(together / spread, 0.0), _most(marked[inside])) if spread > 0 else 0.0


def _most(marked: NDArray[np.bool_]) -> float:
    """Return the largest power; the limit of 1 in PPI++ refers to unmarked drawings, this one to all drawings."""
    rest = int((~marked).sum())
    return min(len(marked) / rest, 2.0) if rest else 1.0


def derive_estimates(estimates: Mapping[str, HumanEstimate], derive: Derive) -> dict[str, HumanEstimate]:
    """Return the numbers derived from ratios, with their influence by the delta method."""
    values = {name: each.value for name, each in estimates.items()}
    numbers = {}
    for name, value in derive(values).items():
        influence, first, noise = None, None, 0.0
        for part, each in estimates.items():
            step = 1e-4 * max(1.0, abs(each.value))
            up, down = (float(derive({**values, part: each.value + way * step})[name]) for way in (1, -1))
            if (slope := (up - down) / (2 * step)) != 0:
                influence = slope * each.influence + (0 if influence is None else influence)
                noise += slope**2 * each.noise
                first = each if first is None or each.questions > first.questions else first
        if first is not None and influence is not None:
            numbers[name] = replace(first, value=float(value), influence=influence, noise=noise)
    return numbers


def derive_known(estimates: Mapping[str, HumanEstimate | None], derive: Derive) -> dict[str, HumanEstimate]:
    """Return the derived numbers; if any ratio has no estimate, return the ratios that have one."""
    estimated = {name: each for name, each in estimates.items() if each is not None}
    return derive_estimates(estimated, derive) if len(estimated) == len(estimates) else estimated


def human_interval(estimated: HumanEstimate | None, top: float | None = None) -> HumanInterval:
    """Return the estimate with its 95% interval by Student's t over questions, or Wilson's form with `top`.

    Args:
        estimated: The estimate.
        top: The best value, if the number lies between 0 and this value.
    """
    if estimated is None:
        return HumanInterval(reason="people have marked none of these drawings")
    plain = HumanInterval(estimated.value, None, None, estimated.n, estimated.human)
    if estimated.questions < MIN_CLUSTERS - NEAR:
        few = (
            f"people have marked drawings of {estimated.questions:.0f} questions; fewer than {MIN_CLUSTERS} are too few"
        )
        return replace(plain, reason=few)
    reach, variance = student(estimated.questions), estimated.variance
    low, high = estimated.value - reach * sqrt(variance), estimated.value + reach * sqrt(variance)
    if top is not None:
        share = min(max(estimated.value / top, 0.0), 1.0)
        # A number at either end has no variance, so it is moved inwards by half a question.
        inner = min(max(share, 0.5 / estimated.n), 1 - 0.5 / estimated.n)
        number = inner * (1 - inner) / (variance / top**2) if variance > 0 else float(estimated.n)
        low, high = (top * end for end in wilson_ends(inner, number, reach))
        # An estimate may lie outside the scale, but the true value cannot.
        value = min(max(estimated.value, 0.0), top)
        return replace(plain, value=value, low=max(0.0, min(low, value)), high=min(top, max(high, value)))
    p = 1.0 if abs(estimated.value) <= NEAR else 0.0
    if variance > 0:
        p = student_p(estimated.value / sqrt(variance), estimated.questions)
    return replace(plain, low=low, high=high, p=p)
