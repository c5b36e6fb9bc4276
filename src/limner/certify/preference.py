"""Does a judge prefer its own maker's painters? Held against what other makers' judges say of the same drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..core.catalogue import ModelFacts
from ..scoring import Group
from ..scoring.stats import ClusteredShare, clustered_gap

Scored = Mapping[tuple[str, str], float]
"""Painter and question -> the main score, as a share of the best."""


def self_preference(own: Scored, others: Scored, by_maker: Mapping[str, bool]) -> ClusteredShare | None:
    """How much higher it marks its maker's painters than others do, beyond how much higher it marks all painters.

    Args:
        own: What the judge gave.
        others: What other judges gave the same drawings, on average.
        by_maker: Painter -> whether it is of the judge's maker.

    Returns:
        The gap, by question; None without drawings of both sorts that others have marked too.
    """
    sides: dict[bool, list[tuple[str, float]]] = {True: [], False: []}
    for key in own.keys() & others.keys():
        painter, question = key
        sides[by_maker[painter]].append((question, own[key] - others[key]))
    return clustered_gap(sorted(sides[True]), sorted(sides[False])) if sides[True] and sides[False] else None


def stored_preference(
    groups: Sequence[Group], judge: str, setup: str, score: str, top: float, models: Mapping[str, ModelFacts]
) -> ClusteredShare | None:
    """The same from what a store has; None where the judge's maker is not known or has no painter there."""
    maker = _maker(judge, models)
    if maker is None:
        return None
    own: dict[tuple[str, str], float] = {}
    others: dict[tuple[str, str], list[float]] = {}
    by_maker: dict[str, bool] = {}
    for group in groups:
        if group.control:
            continue
        by_maker[group.name] = _maker(group.spec, models) == maker
        for entry in group.scored:
            value, key = entry.scores.get(score), (group.name, entry.question.id)
            if value is None:
                continue
            if group.evaluator.id == setup:
                own[key] = value / top
            elif _maker(group.judge, models) != maker:
                others.setdefault(key, []).append(value / top)
    return self_preference(own, {key: sum(found) / len(found) for key, found in others.items()}, by_maker)


def _maker(spec: str, models: Mapping[str, ModelFacts]) -> str | None:
    return models[spec].maker if spec in models else None
