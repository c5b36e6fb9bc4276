"""Numbers with how sure they are: what every plot's frame is made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ....compare.fields import Field, numbers
from ....frames import Cell
from ....marks import fill
from ....protocol import Protocol, Score
from ....scoring import Entry, summed
from ....stats import interval


def cells(field: Field, score: Score) -> list[Cell]:
    """Every painter's number with its interval, from resamples that all painters share."""
    found = []
    for entries, values, drawn in zip(field.inside, field.values, field.drawn, strict=True):
        n = len({entry.question.id for entry in entries})
        if (value := values.get(score.name)) is not None:
            spread = interval(value, drawn[score.name], n)
            found.append(Cell(value, spread.low, spread.high, n))
        else:
            found.append(_possible(entries, field.protocol, score, n))
    return found


def _possible(entries: Sequence[Entry], protocol: Protocol[Any], score: Score, n: int) -> Cell:
    """What the score could be with everything undecided filled in the worst and the best way."""
    undecided = any(mark.value is None for entry in entries for mark in entry.marks)
    if not (score.monotone and undecided):
        return Cell(n=n)
    ends = []
    for best in (False, True):
        filled = []
        for entry in entries:
            marks = tuple(fill(entry.marks, protocol.criteria(entry.question), best))
            filled.append(replace(entry, marks=marks, scores=protocol.scores(entry.question, marks, entry.evidence)))
        ends.append(numbers(summed(filled, protocol), protocol).get(score.name))
    return Cell(n=n, least=ends[0], most=ends[1])


def tops(protocol: Protocol[Any]) -> Mapping[str, float]:
    """Score -> its best value."""
    return {score.name: score.top for score in protocol.scored}
