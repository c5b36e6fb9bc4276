"""Prediction-powered means (PPI++, arXiv 2311.01453): many marks of a judge, corrected by few of people. Pure.

The estimate is ``mean(k f) + mean(Y - k f)``: f is the judge's number for every drawing, Y people's for some of them,
and k, the power, is chosen so that the estimate varies least. It is unbiased for any judge. Drawings of one question
are one cluster; people's drawings count by the inverse of the probability with which they were chosen; where the strata
of all drawings are known, each has a mean and a power of its own (Fisch et al., 2024).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from .proportion import wilson_ends
from .resample import LEAST
from .types import ALPHA, NEAR, Derive, Floats, Plain

Places = NDArray[np.int64]
UNSEEN = 0.5
"""How many errors as large as the largest seen are taken to be in people's drawings beyond those seen."""
OWN_POWER = 10
"""A stratum with fewer human-marked drawings than this shares the power of all."""


@dataclass(frozen=True)
class HumanInterval(Plain):
    """A corrected number with its 95% interval.

    Attributes:
        n: Drawings that the judge marked.
        human: Drawings that people marked, on which the correction rests.
        reason: Why there is no number, or no interval.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    human: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class Judged:
    """What a judge says of many drawings and people of some: one place for each drawing.

    Attributes:
        clusters: The place of its question among all.
        size: How many questions there are.
        judge: What it adds to the score by the judge's marks, the numerator.
        human: The same by people's marks; NaN where nobody marked it.
        bottoms: The denominator; 1 where the score is a plain mean.
        shares: Its share in its question, where a question has several drawings.
        inclusion: The probability that people were to mark it; only looked at where they did.
        strata: The place of its stratum; None where that is not known of all.
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
    """A number, and what each question adds to its error (the influence), which sum to nothing.

    Attributes:
        power: How much the judge counts, from 0 (people alone).
        human: Drawings that people marked.
        questions: Questions of these drawings; fewer where some count more than others (Kish's effective number).
        noise: Variance from errors of the judge that are too rare to be seen in so few drawings.
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
        """Of the number, over questions; two are taken off for the mean and the power that were estimated."""
        m = self.questions
        return float((self.influence**2).sum()) * m / (m - 2) + self.noise if m > 2 else float("nan")

    def minus(self, other: HumanEstimate) -> HumanEstimate:
        """The difference of two numbers over the same questions, paired by these."""
        influence = self.influence - other.influence
        power, fewer = (self.power + other.power) / 2, min(self.questions, other.questions)
        n, human, noise = self.n + other.n, self.human + other.human, self.noise + other.noise
        return HumanEstimate(self.value - other.value, influence, power, n, human, fewer, noise)


def summed(clusters: Places, values: Floats, size: int) -> Floats:
    """The sum of the values of each cluster."""
    found: Floats = np.zeros(size)
    np.add.at(found, clusters, values)
    return found


def estimate(found: Judged, power: float | None = None) -> HumanEstimate | None:
    """The prediction-powered mean; None where people marked nothing.

    Args:
        found: The drawings.
        power: How much the judge counts, the same in all strata; by default as it varies least.
    """
    marked = ~np.isnan(found.human)
    total = found.shares.sum()
    below = float((found.shares * found.bottoms).sum() / total) if total else 0.0
    if not marked.any() or below <= 0:
        return None
    strata = _strata(found, marked)
    powers, value, largest = np.zeros(len(marked)), 0.0, 0.0
    added = np.zeros(len(marked))
    pooled = _power(found, marked, np.ones(len(marked), bool)) if power is None else power
    for stratum in np.unique(strata):
        inside = strata == stratum
        few = int((inside & marked).sum()) < OWN_POWER
        own = pooled if power is not None or few else _power(found, marked, inside)
        powers[inside] = own
        people, weights = inside & marked, np.zeros(len(marked))
        weights[people] = found.shares[people] / found.inclusion[people]
        rest = np.where(people, found.human - own * found.judge, 0.0)
        mean = float((weights * rest).sum() / weights.sum())
        largest = max(largest, float(np.abs(rest[people] - mean).max()))
        share = found.shares[inside].sum() / total
        added[inside] += found.shares[inside] / total * (own * found.judge[inside] + mean)
        value += float(added[inside].sum())
        added[people] += share * weights[people] * (rest[people] - mean) / weights.sum()
    ratio = value / below
    # The influence of a ratio: of its numerator, less the ratio times that of its denominator.
    added -= ratio * found.shares * found.bottoms / total
    influence = summed(found.clusters, added / below, found.size)
    weights = np.where(marked, found.shares / found.inclusion, 0.0)
    held = summed(found.clusters, weights, found.size)
    questions = float(held.sum() ** 2 / (held**2).sum())
    noise = UNSEEN * ((largest if largest > NEAR else float(np.abs(found.judge).max())) / below / questions) ** 2
    power = float(np.mean(powers))
    return HumanEstimate(ratio, influence, power, len(marked), int(marked.sum()), questions, noise)


def difference(one: Judged, other: Judged) -> HumanEstimate | None:
    """How much larger the first number is, paired by question; None where people marked nothing of one of them.

    The power is that at which the difference varies least, the same for both: where people marked both drawings of a
    question, this is the prediction-powered mean of the differences by question.
    """
    ends = [[estimate(found, power) for found in (one, other)] for power in (0.0, 1.0)]
    alone, full = ([first.minus(second) for first, second in [pair] if first and second] for pair in ends)
    if not alone or not full:
        return None
    gain = full[0].influence - alone[0].influence
    spread = float((gain**2).sum())
    most = min(_most(~np.isnan(found.human)) for found in (one, other))
    power = min(max(-float((alone[0].influence * gain).sum()) / spread, 0.0), most) if spread > 0 else 0.0
    value = alone[0].value + power * (full[0].value - alone[0].value)
    noise = max(alone[0].noise, full[0].noise) if power else alone[0].noise
    return replace(alone[0], value=value, influence=alone[0].influence + power * gain, power=power, noise=noise)


def _strata(found: Judged, marked: NDArray[np.bool_]) -> Places:
    """Strata in each of which people have marked two drawings or more; others are taken together."""
    if found.strata is None:
        return np.zeros(len(marked), np.int64)
    strata = found.strata + 1
    for stratum in np.unique(strata):
        if int((marked & (strata == stratum)).sum()) < 2:
            strata = np.where(strata == stratum, 0, strata)
    if 0 in strata and int((marked & (strata == 0)).sum()) < 2:
        # Too little for a mean of its own: joined to the largest.
        others = strata[strata > 0]
        strata = np.where(strata == 0, np.bincount(others).argmax() if len(others) else 0, strata)
    return strata


def _power(found: Judged, marked: NDArray[np.bool_], inside: NDArray[np.bool_]) -> float:
    """Cov(Y, f) / Var(f), between 0 and `_most`."""
    people = marked & inside
    weights = found.shares[people] / found.inclusion[people]
    weights = weights / weights.sum()
    judge, human = found.judge[people], found.human[people]
    together = float((weights * (judge - weights @ judge) * (human - weights @ human)).sum())
    everyone, shares = found.judge[inside], found.shares[inside] / found.shares[inside].sum()
    spread = float((shares * (everyone - shares @ everyone) ** 2).sum())
    return min(max(together / spread, 0.0), _most(marked[inside])) if spread > 0 else 0.0


def _most(marked: NDArray[np.bool_]) -> float:
    """The largest power: PPI++ takes up to 1 of drawings without people's marks, which is more of all drawings."""
    rest = int((~marked).sum())
    return min(len(marked) / rest, 2.0) if rest else 1.0


def derived(estimates: Mapping[str, HumanEstimate], derive: Derive) -> dict[str, HumanEstimate]:
    """Numbers that follow from ratios, with their influence by the delta method."""
    values = {name: each.value for name, each in estimates.items()}
    found = {}
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
            found[name] = replace(first, value=float(value), influence=influence, noise=noise)
    return found


def derived_known(estimates: Mapping[str, HumanEstimate | None], derive: Derive) -> dict[str, HumanEstimate]:
    """The same where some ratios have no estimate: then only what needs no deriving is known."""
    known = {name: each for name, each in estimates.items() if each is not None}
    return derived(known, derive) if len(known) == len(estimates) else known


def human_interval(found: HumanEstimate | None, top: float | None = None) -> HumanInterval:
    """The estimate with its 95% interval by Student's t over questions; Wilson's form where the score has a range.

    Args:
        found: The estimate.
        top: The best value, where the number lies between 0 and that.
    """
    if found is None:
        return HumanInterval(reason="people have marked none of these drawings")
    plain = HumanInterval(found.value, None, None, found.n, found.human)
    if found.questions < LEAST - NEAR:
        few = f"people have marked drawings of {found.questions:.0f} questions; fewer than {LEAST} are too few"
        return replace(plain, reason=few)
    from scipy.special import stdtrit

    reach, variance = float(stdtrit(found.questions - 1, 1 - ALPHA / 2)), found.variance
    low, high = found.value - reach * sqrt(variance), found.value + reach * sqrt(variance)
    if top is not None:
        share = min(max(found.value / top, 0.0), 1.0)
        # A number at the very end has no spread of its own; half a question away from it there is some.
        inner = min(max(share, 0.5 / found.n), 1 - 0.5 / found.n)
        number = inner * (1 - inner) / (variance / top**2) if variance > 0 else float(found.n)
        low, high = (top * end for end in wilson_ends(inner, number, reach))
        # An estimate may fall beside the scale; what it is for cannot.
        value = min(max(found.value, 0.0), top)
        return replace(plain, value=value, low=max(0.0, min(low, value)), high=min(top, max(high, value)))
    return replace(plain, low=low, high=high)
