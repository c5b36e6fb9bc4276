"""Whether a judge passes wrong drawings: what it gives another question's drawing, beside the reference. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..core.evaluator import REFERENCE, SHOWN, SHUFFLED, Evaluator, WrongDrawings, by_evaluator
from ..core.protocol import Protocol, Score
from .comparable import comparable
from .entries import Group
from .parts import deriving, score_parts, values_of
from .stats import difference_interval
from .stats.types import NEAR

ENOUGH = 10
"""On fewer common questions nothing is said of a judge."""
SHARE = 0.8
"""Another question's drawing that gets so much of the reference's score is passed."""


def called_out(groups: Sequence[Group], protocol: Protocol[Any]) -> list[Group]:
    """The same groups; the evaluators of those judges that pass wrong drawings say so.

    Args:
        groups: All painters, so that the controls are among them, whichever of them will be shown.
        protocol: The exam's.
    """
    found: dict[str, Evaluator] = {}
    for members in by_evaluator(groups):
        evaluator = members[0].evaluator
        if evaluator.kind in SHOWN and (wrong := wrong_drawings(members, protocol)) is not None:
            found[evaluator.id] = replace(evaluator, passes_wrong_drawings=wrong)
    return [replace(g, evaluator=found[g.evaluator.id]) if g.evaluator.id in found else g for g in groups]


def wrong_drawings(groups: Sequence[Group], protocol: Protocol[Any]) -> WrongDrawings | None:
    """What one evaluator gives ``control/shuffled`` and ``control/reference``, where it does not tell them apart.

    It does not where, by the exam's leading main score, another question's drawing gets at least 80% of what the
    reference gets, or the 95% interval of their paired difference includes 0. Nothing is said

    - on fewer than ten questions for which both have this score, as where the judge abstains;
    - where another question's drawing gets nothing: a judge that fails everything passes nothing.

    A control that was drawn in several ways counts in its plainest, the one with the shortest name.

    Args:
        groups: The painters under this evaluator, all in one reading.
        protocol: The exam's.
    """
    score = next((each for each in protocol.scored if each.main), None)
    if score is None:
        return None
    controls = [_control(groups, spec, score) for spec in (REFERENCE, SHUFFLED)]
    pair = [group for group in controls if group is not None]
    if len(pair) < len(controls):
        return None
    side = comparable(pair, protocol)
    if len(side.questions) < ENOUGH:
        return None
    right, wrong = (score_parts(side.common(group), protocol, decided=True) for group in pair)
    reference, shuffled = (values_of(parts, protocol).get(score.name) for parts in (right, wrong))
    if reference is None or shuffled is None or shuffled <= 0:
        return None
    if shuffled < SHARE * reference - NEAR * score.top:
        gap = difference_interval(right, wrong, score.name, deriving(protocol), top=score.top)
        if gap.low is None or gap.low > 0:
            return None
    return WrongDrawings(score.name, shuffled, reference, len(side.questions), score.digits)


def _control(groups: Sequence[Group], spec: str, score: Score) -> Group | None:
    """The plainest painter of this spec, with those of its drawings that have the score."""
    named = sorted((group for group in groups if group.spec == spec), key=lambda group: (len(group.name), group.name))
    if not named:
        return None
    return replace(named[0], entries=tuple(e for e in named[0].scored if e.scores.get(score.name) is not None))
