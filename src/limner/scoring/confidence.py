"""How sure a judge is of its marks on a drawing, between 0 and 1, without asking it. Pure.

Of a panel it is how far its members agree; of a judge with repeats, how far these agree; of a judge that marked once,
how far its score is from the middle of the scale: a drawing that is all right or all wrong is surer than a half right
one. A criterion that is left open counts as no agreement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.marks import values
from ..core.protocol import Protocol, Score
from .entries import Entry, Group

MEMBERS, REPEATS, DISTANCE = "agreement of the panel's members", "agreement of repeats", "distance from the middle"


def confidences(
    groups: Sequence[Group], members: Sequence[Group], score: Score, protocol: Protocol[Any]
) -> tuple[dict[str, float], str]:
    """Drawing -> how sure the evaluator is, and what that rests on.

    Args:
        groups: What the evaluator marked.
        members: What the members marked, where it is a panel.
        score: The score whose distance from the middle counts where nothing else is known.
        protocol: The exam's.
    """
    mine = _by_drawing(groups)
    given = _by_drawing(members)
    if given:
        return {id: agreement(given.get(id, ()), protocol) for id in mine}, MEMBERS
    if all(len(entries) > 1 for entries in mine.values()) and mine:
        return {id: agreement(entries, protocol) for id, entries in mine.items()}, REPEATS
    return {id: _distance(entries[0], score) for id, entries in mine.items()}, DISTANCE


def _by_drawing(groups: Sequence[Group]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in (entry for group in groups for entry in group.scored):
        found.setdefault(entry.drawing.id, []).append(entry)
    return found


def agreement(entries: Sequence[Entry], protocol: Protocol[Any]) -> float:
    """Of several markings of one drawing: the share that gives the commonest mark, averaged over criteria."""
    if not entries:
        return 0.0
    criteria, given = protocol.criteria(entries[0].question), [values(entry.marks) for entry in entries]
    return sum(_commonest(given, each.id) for each in criteria) / len(criteria) if criteria else 0.0


def _commonest(given: Sequence[Mapping[str, int]], criterion: str) -> float:
    counts = Counter(marks[criterion] for marks in given if criterion in marks)
    return max(counts.values(), default=0) / len(given)


def _distance(entry: Entry, score: Score) -> float:
    value = entry.scores.get(score.name)
    return 0.0 if value is None else abs(2 * value / score.top - 1)
