"""Numbers with how sure they are: what every plot's frame is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...core.plot_data import Cell
from ...core.protocol import Protocol, Score
from ...scoring import Comparable, Entry
from ...scoring.numbers import ends


def cells(field: Comparable, score: Score) -> list[Cell]:
    """Every painter's number with its interval, from resamples that all painters share."""
    found = []
    for at, entries in enumerate(field.inside):
        n = len({entry.question.id for entry in entries})
        known = field.interval(at, score.name)
        if known.value is not None:
            found.append(Cell(known.value, known.low, known.high, n))
        else:
            found.append(_possible(entries, field.protocol, score, n))
    return found


def _possible(entries: Sequence[Entry], protocol: Protocol[Any], score: Score, n: int) -> Cell:
    """What the score could be with everything undecided filled in the worst and the best way."""
    undecided = any(mark.value is None for entry in entries for mark in entry.marks)
    least, most = ends(entries, protocol).get(score.name, (None, None)) if undecided else (None, None)
    return Cell(n=n, least=least, most=most)


def tops(protocol: Protocol[Any]) -> Mapping[str, float]:
    """Score -> its best value."""
    return {score.name: score.top for score in protocol.scored}
