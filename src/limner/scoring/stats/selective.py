"""From which confidence on a judge may decide alone, with a guarantee on its agreement with people. Pure.

Thresholds are tested from the strictest on (fixed-sequence testing, arXiv 2407.18370): each in turn must show that the
judge agrees often enough where it is so sure, by an exact binomial bound; the first that does not ends it. The sequence
is fixed by the confidences alone, so that trying many thresholds costs nothing of the guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log

import numpy as np

from .types import ALPHA, NEAR, Plain


@dataclass(frozen=True)
class Threshold(Plain):
    """Where a judge decides alone.

    Attributes:
        value: The least confidence with which it may; None where no confidence is enough.
        target: How often it is to agree with people there.
        certainty: How sure that is.
        agreement: How often it agreed there on the drawings that people marked.
        at_least: What is proved of that.
        n: Questions of people's drawings on which it decides.
        of: Questions of all drawings that people marked.
        reason: Why there is none.
    """

    value: float | None
    target: float
    certainty: float
    agreement: float | None = None
    at_least: float | None = None
    n: float = 0
    of: int = 0
    reason: str | None = None


def upper_bound(wrong: float, n: float, level: float = 1 - ALPHA) -> float:
    """The largest share of errors that `wrong` of n leave possible (Clopper and Pearson, one-sided).

    >>> round(upper_bound(0, 29), 3), round(upper_bound(2, 50), 3)
    (0.098, 0.121)
    """
    from scipy.special import betaincinv

    return 1.0 if wrong >= n else float(betaincinv(wrong + 1, n - wrong, level))


def threshold(
    confidence: Sequence[float],
    agrees: Sequence[bool],
    questions: Sequence[str],
    weights: Sequence[float],
    target: float = 0.9,
    certainty: float = 1 - ALPHA,
) -> Threshold:
    """The least confidence from which on the judge may decide alone.

    Drawings of one question count as one: their number in the bound is that of questions, or less where weights differ.

    Args:
        confidence: Of the judge in each drawing that people marked too.
        agrees: Whether it agrees with people on it.
        questions: The drawing's question.
        weights: How many drawings it stands for: one over its probability to be chosen.
        target: How often the judge is to agree where it decides.
        certainty: How sure that is to be.
    """
    sure, right, weight = np.array(confidence), np.array(agrees, dtype=np.float64), np.array(weights, dtype=np.float64)
    groups = np.array(questions)
    blank = Threshold(None, target, certainty, of=len(set(questions)))
    needed = ceil(log(1 - certainty) / log(target))
    best: Threshold | None = None
    for value in sorted(set(np.round(sure, 9).tolist()), reverse=True):
        inside = sure >= value - NEAR
        n = _effective(groups[inside], weight[inside])
        if n < needed - NEAR:
            continue
        share = float((weight * right)[inside].sum() / weight[inside].sum())
        proved = 1 - upper_bound((1 - share) * n, n, certainty)
        if proved < target:
            break
        best = Threshold(value, target, certainty, share, proved, n, blank.of)
    if best is not None:
        return best
    few = blank.of < needed
    why = (
        f"people have marked drawings of {blank.of} questions; {needed} are the least, with every one agreed on"
        if few
        else f"nowhere is it proved to agree with people on {target:.0%} of drawings"
    )
    return Threshold(None, target, certainty, of=blank.of, reason=why)


def _effective(
    groups: np.ndarray[tuple[int], np.dtype[np.str_]], weights: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> float:
    """Kish's effective number of questions."""
    _, places = np.unique(groups, return_inverse=True)
    sums = np.bincount(places, weights)
    return float(sums.sum() ** 2 / (sums**2).sum()) if len(sums) else 0.0
