"""How many questions it takes."""

from __future__ import annotations

from math import ceil, isfinite, log2
from statistics import NormalDist

from .kinds import ALPHA, NEAR, Measure

POWER = 0.8


def questions_needed(deviation: float | None, gap: float | None, alpha: float = ALPHA, power: float = POWER) -> Measure:
    """About how many questions tell two painters apart at this gap, given how much their differences spread.

    Args:
        deviation: Standard deviation of the per-question differences.
        gap: The difference to be found; its sign does not matter.
        alpha: How often a difference may be seen where there is none.
        power: How often the gap is to be found where it is there.

    >>> questions_needed(40.0, 5.0).value
    505.0
    >>> questions_needed(40.0, 0.0).reason
    'no number of questions tells a gap of nothing'
    """
    if deviation is None or gap is None or not (isfinite(deviation) and isfinite(gap)):
        return Measure(None, 0, "the spread of the differences is not known")
    if abs(gap) <= NEAR:
        return Measure(None, 0, "no number of questions tells a gap of nothing")
    if deviation <= NEAR * max(1.0, abs(gap)):
        return Measure(None, 0, "every question shows the same difference: there is no spread to plan with")
    z, reach = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    # The last term makes up for the spread being estimated from the same questions.
    needed = ((z + reach) * deviation / gap) ** 2 + z * z / 2
    # With fewer questions than this even the clearest result does not reach alpha: the sign-flip test has no finer p.
    return Measure(float(max(ceil(needed), ceil(1 - log2(alpha)))), 0)
