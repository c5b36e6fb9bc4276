"""Shares of yes corrected for a judge's errors (Rogan and Gladen, 1978), with intervals by the delta method. Pure.

A judge says yes to q of what it sees. With its sensitivity se (yes where people say yes) and specificity sp (no where
people say no) the share that people would give is ``(q + sp - 1) / (se + sp - 1)``. It holds for drawings on which the
share is quite another one than in the study, as long as the judge errs alike there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .prediction_powered import HumanEstimate, Places, summed
from .resample import HANDFUL
from .types import NEAR, Floats

LEAST_INFORMED = 0.2
"""A judge with se + sp - 1 below this says too little about what it sees."""


@dataclass(frozen=True)
class ErrorRates:
    """How a judge errs on one sort of decision, by people's marks.

    Attributes:
        sensitivity: Share of yes where people say yes; None where they never do.
        specificity: Share of no where people say no; None where they never do.
        yes: Decisions to which people say yes; of several people each counts in part.
        no: Decisions to which they say no.
        of_sensitivity: What each question adds to its error.
        of_specificity: The same.
    """

    sensitivity: float | None
    specificity: float | None
    yes: float
    no: float
    of_sensitivity: Floats
    of_specificity: Floats

    @property
    def informed(self) -> float | None:
        """se + sp - 1 (Youden's J): 1 for a judge without errors, 0 for one that does not look."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return self.sensitivity + self.specificity - 1

    def to_json(self) -> dict[str, Any]:
        """The rates, and on how many decisions they rest."""
        return {name: getattr(self, name) for name in ("sensitivity", "specificity", "yes", "no")}

    @property
    def reason(self) -> str | None:
        """Why nothing can be corrected by it; None where something can."""
        if self.informed is None:
            return f"people said {'yes' if self.sensitivity is None else 'no'} to none of what the judge marked"
        if self.informed < LEAST_INFORMED - NEAR:
            return (
                f"the judge's sensitivity {self.sensitivity:.2f} and specificity {self.specificity:.2f} give "
                f"se + sp - 1 = {self.informed:.2f}, below {LEAST_INFORMED:g}: it says too little"
            )
        return None


def rogan_gladen(share: float, sensitivity: float, specificity: float) -> float:
    """The share of yes that is behind the judge's share of yes.

    >>> round(rogan_gladen(23 / 150, 0.96, 0.89), 3)
    0.051
    """
    return (share + specificity - 1) / (sensitivity + specificity - 1)


def error_rates(clusters: Places, size: int, weights: Floats, judge: Floats, human: Floats) -> ErrorRates:
    """Sensitivity and specificity from decisions that both made.

    Args:
        clusters: The place of each decision's question.
        size: How many questions there are.
        weights: How much each decision counts.
        judge: The share of the judge's answers that are yes: 0 or 1 but for repeats.
        human: The share of people who say yes.
    """
    rates: list[tuple[float | None, float, Floats]] = []
    for right, said in ((human, judge), (1 - human, 1 - judge)):
        counted = weights * right
        total, number = float(counted.sum()), float(right.sum())
        if total <= 0:
            rates.append((None, 0.0, np.zeros(size)))
            continue
        rate = float((counted * said).sum() / total)
        influence = summed(clusters, counted * (said - rate) / total, size)
        few = min(rate, 1 - rate) * number < HANDFUL
        # Where hardly an error was seen there may be more.
        if few and (spread := float((influence**2).sum())) < (least := _unseen(rate, number)):
            influence = influence * np.sqrt(least / spread) if spread > 0 else _spread(clusters, counted, size, least)
        rates.append((rate, number, influence))
    (se, yes, of_se), (sp, no, of_sp) = rates
    return ErrorRates(se, sp, yes, no, of_se, of_sp)


def _unseen(rate: float, number: float) -> float:
    """The variance of a rate with one right and one wrong decision more, as Lang and Reiczigel (2014) add them."""
    inner = (rate * number + 1) / (number + 2)
    return inner * (1 - inner) / (number + 2)


def _spread(clusters: Places, counted: Floats, size: int, variance: float) -> Floats:
    """Errors of this variance, spread over the questions that have decisions, turn by turn up and down."""
    there = np.flatnonzero(summed(clusters, counted, size) > 0)
    found = np.zeros(size)
    found[there] = np.where(np.arange(len(there)) % 2, -1.0, 1.0) * np.sqrt(variance / len(there))
    return found


@dataclass(frozen=True)
class Sum:
    """A score as a weighted sum of yes and no, question by question.

    Attributes:
        constant: What it is where everything is no.
        yes: Sort of decision -> weight of what the judge says yes to.
        weights: Sort of decision -> weight of all such decisions.
        bottoms: The denominator; 1 for each question where the score is a plain mean.
    """

    constant: Floats
    yes: Mapping[str, Floats]
    weights: Mapping[str, Floats]
    bottoms: Floats
    n: int


def corrected_sum(found: Sum, rates: Mapping[str, ErrorRates], human: int, questions: int) -> HumanEstimate:
    """The score with each sort's share of yes corrected.

    Args:
        found: The score as the judge marks it.
        rates: How the judge errs on every sort, none of which may have a `reason`.
        human: Drawings that the rates rest on.
        questions: Questions of these.
    """
    below = float(found.bottoms.sum())
    tops, more = found.constant.astype(np.float64), np.zeros(len(found.constant))
    for sort, yes in found.yes.items():
        each, weights = rates[sort], found.weights[sort]
        assert each.informed is not None
        assert each.specificity is not None
        given = yes - (1 - each.specificity) * weights
        tops = tops + given / each.informed
        share = float(given.sum() / each.informed)
        # The delta method: d/d se is -share/J, d/d sp is (all - share)/J, both of what the sort adds to the score.
        more += (-share * each.of_sensitivity + (float(weights.sum()) - share) * each.of_specificity) / each.informed
    value = float(tops.sum()) / below
    influence = (tops - value * found.bottoms + more) / below
    return HumanEstimate(value, influence, 1.0, found.n, human, questions)


def weakest(rates: Mapping[str, ErrorRates], sorts: Sequence[str]) -> str | None:
    """Why a score of these sorts of decisions cannot be corrected, for the first of them that says so."""
    for sort in sorts:
        if sort not in rates:
            return f"{sort}: people have marked none of them"
        if (reason := rates[sort].reason) is not None:
            return f"{sort}: {reason}"
    return None
