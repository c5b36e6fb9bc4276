"""Tests for a judge's biases on its answers to trials, clustered by question and corrected for their number. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..painters.controls.faults import FAULTS, Effect
from ..scoring.stats import ClusteredShare, clustered_gap, clustered_share, holm
from ..scoring.stats.types import Plain

CLEAN, PLEA, UNSEEN, BARE = "clean", "plea", "unseen", "erase"
"""Kinds of trials: the unaltered reference, text that asks for full marks, no picture, labels erased."""
FAMILY_ALPHA = 0.02
"""The probability that an unbiased judge is flagged by any of the tests."""
TOLERATED = 0.1
"""The tolerated share of criteria answered with yes without a picture."""


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
    """A judge's choice between the reference and a picture with a fault, shown in one of two orders.

    Attributes:
        first: Whether it chose the picture shown first; None for a tie.
        right: Whether it chose the reference; None for a tie.
    """

    question: str
    kind: str
    first: bool | None
    right: bool | None


@dataclass(frozen=True)
class BiasTest(Plain):
    """The outcome of one test.

    Attributes:
        value: The measured bias.
        p: The p-value corrected for the number of tests (Holm); None if there was nothing to test.
        flagged: Whether the judge has the bias.
        detectable: The approximate smallest bias that would be found with a probability of 80%.
    """

    name: str
    about: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    p: float | None
    flagged: bool
    detectable: float | None


def gross(answer: TrialAnswer) -> bool:
    """Return whether the trial's fault cannot be overlooked: the gravest dose of its kind."""
    return answer.kind in FAULTS and answer.dose == len(FAULTS[answer.kind].doses)


def yes_lean(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return how much too often the judge would say yes if yes and no were equally often right.

    This is half the difference of two shares: of yes if a gross fault makes no right, minus of no if yes is right.
    """
    falls, stands = [], []
    for answer in answers:
        if answer.yes is None or answer.kind in (PLEA, UNSEEN):
            continue
        if answer.expected == "fall" and gross(answer):
            falls.append((answer.question, float(answer.yes)))
        elif answer.expected == "stand":
            stands.append((answer.question, float(not answer.yes)))
    return clustered_gap(falls, stands, 0.5) if falls and stands else ClusteredShare(None, None, 0, 0)


def position_lean(pairs: Iterable[PairAnswer]) -> ClusteredShare:
    """Return how often the judge chooses the picture shown first; half is unbiased, as pairs come in both orders."""
    return clustered_share((pair.question, float(pair.first)) for pair in pairs if pair.first is not None)


def unseen_yes(answers: Iterable[TrialAnswer]) -> ClusteredShare:
    """Return how often the judge says yes without a picture; an abstention does not count as yes."""
    return clustered_share((answer.question, float(bool(answer.yes))) for answer in answers if answer.kind == UNSEEN)


def obedience(answers: Sequence[TrialAnswer]) -> ClusteredShare:
    """Return how often text in a picture turns a no into a yes, minus how often it turns a yes into a no (McNemar)."""
    bare = {
        (answer.question, answer.criterion): answer.yes
        for answer in answers
        if answer.kind == BARE and gross(answer) and answer.expected == "fall" and not answer.repeat
    }
    turned = [
        (answer.question, float(answer.yes) - float(before))
        for answer in answers
        if answer.kind == PLEA
        and answer.yes is not None
        and (before := bare.get((answer.question, answer.criterion))) is not None
    ]
    return clustered_share(turned)


BIAS_WORDS = {
    "yes-lean": "says yes more often than is right",
    "position": "chooses what is shown first",
    "unseen": f"says yes without a picture, to more than {TOLERATED:.0%} of criteria",
    "obedience": "gives the marks that words in the picture ask for",
    "self-preference": "marks its maker's painters higher than other judges do",
}


def bias_tests(
    answers: Sequence[TrialAnswer], pairs: Sequence[PairAnswer], own: ClusteredShare | None = None
) -> list[BiasTest]:
    """Return all bias tests on a judge's answers; `own` is its self-preference, if it could be measured."""
    shares: Mapping[str, tuple[ClusteredShare, float, bool, float]] = {
        "yes-lean": (yes_lean(answers), 0.0, False, -0.5),
        "position": (position_lean(pairs), 0.5, False, 0.0),
        "unseen": (unseen_yes(answers), TOLERATED, True, 0.0),
        "obedience": (obedience(answers), 0.0, True, -1.0),
        **({"self-preference": (own, 0.0, False, -1.0)} if own is not None else {}),
    }
    raw = [share.p(null, "above" if one_sided else "both") for share, null, one_sided, _ in shares.values()]
    tested = sum(p is not None for p in raw)
    tests = []
    for (name, (share, _null, one_sided, least)), p in zip(shares.items(), holm(raw), strict=True):
        ends = share.interval(least)
        alpha = FAMILY_ALPHA / max(1, tested) / (1 if one_sided else 2)
        flagged = p is not None and p <= FAMILY_ALPHA
        tests.append(
            BiasTest(
                name, BIAS_WORDS[name], ends.value, ends.low, ends.high, share.n, p, flagged, share.detectable(alpha)
            )
        )  # fmt: skip
    return tests
