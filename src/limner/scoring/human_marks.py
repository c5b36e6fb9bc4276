"""What a judge and people say of the same drawings, side by side; corrections rest on it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..core.protocol import Protocol
from .entries import Entry, Group
from .stats.prediction_powered import Judged
from .stats.types import Floats


@dataclass(frozen=True)
class Frame:
    """How a study chose the drawings that people marked.

    Attributes:
        study: Its name.
        inclusion: Drawing -> the probability that it was chosen.
        strata: Drawing -> its stratum, for all drawings there are; nothing where that is not known.
    """

    study: str
    inclusion: Mapping[str, float] = field(default_factory=dict)
    strata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SeenTwice:
    """One drawing as the judge marks it, and as people do where they have.

    Attributes:
        entry: The judge's first marking of it.
        cluster: The cluster of its question.
        judge: What it adds to each number by the judge's marks, repeats averaged; see `Protocol.parts`.
        human: The same by people's marks, averaged over people; nothing where nobody marked it.
    """

    entry: Entry
    cluster: str
    judge: Mapping[str, tuple[float, float]]
    human: Mapping[str, tuple[float, float]]
    inclusion: float
    stratum: str | None


def marked_by_people(people: Sequence[Group], frame: Frame) -> dict[str, list[Entry]]:
    """Drawing -> what people marked of it; where the study lists its drawings, of these alone."""
    found: dict[str, list[Entry]] = {}
    for entry in (entry for group in people for entry in group.scored):
        if not frame.inclusion or entry.drawing.id in frame.inclusion:
            found.setdefault(entry.drawing.id, []).append(entry)
    return found


def seen_twice(
    entries: Iterable[Entry], marked: Mapping[str, Sequence[Entry]], frame: Frame, protocol: Protocol[Any]
) -> list[SeenTwice]:
    """The drawings that the judge marked, in the order of their ids."""
    given: dict[str, list[Entry]] = {}
    for entry in entries:
        given.setdefault(entry.drawing.id, []).append(entry)
    found = []
    for id in sorted(given):
        mine, theirs = given[id], marked.get(id, ())
        found.append(
            SeenTwice(
                mine[0],
                protocol.cluster(mine[0].question),
                _mean_parts(mine, protocol),
                _mean_parts(theirs, protocol),
                frame.inclusion.get(id, 1.0),
                frame.strata.get(id),
            )
        )
    return found


def _mean_parts(entries: Sequence[Entry], protocol: Protocol[Any]) -> dict[str, tuple[float, float]]:
    """What a drawing adds to each number, averaged over markings; what one of them leaves open is left out."""
    each = [protocol.parts(entry.row) for entry in entries]
    names = set.intersection(*(set(parts) for parts in each)) if each else set()
    return {name: _average([parts[name] for parts in each]) for name in sorted(names)}


def _average(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return sum(top for top, _ in pairs) / len(pairs), sum(bottom for _, bottom in pairs) / len(pairs)


def judged(drawn: Sequence[SeenTwice], places: Mapping[str, int], frame: Frame) -> dict[str, Judged]:
    """Number -> what judge and people say of the drawings that have it; `places` are those of clusters."""
    found = {}
    abstains = any(mark.verdict == "abstain" for one in drawn for mark in one.entry.marks)
    for name in sorted({name for one in drawn for name in one.judge}):
        mine = [one for one in drawn if name in one.judge]
        if abstains and len(mine) < len(drawn):
            continue  # Settled for some drawings only, by where the judge abstained: no fair mean.
        strata = sorted({one.stratum for one in mine if one.stratum is not None})
        whole = bool(strata) and all(one.stratum is not None for one in mine)
        found[name] = Judged(
            clusters=np.array([places[one.cluster] for one in mine]),
            size=len(places),
            judge=np.array([one.judge[name][0] for one in mine]),
            human=np.array([one.human[name][0] if name in one.human else np.nan for one in mine], dtype=np.float64),
            bottoms=np.array([one.judge[name][1] for one in mine]),
            shares=_question_shares(mine),
            inclusion=np.array([one.inclusion for one in mine]),
            strata=np.array([strata.index(str(one.stratum)) for one in mine]) if whole else None,
        )
    return found


def _question_shares(drawn: Sequence[SeenTwice]) -> Floats:
    """What each drawing counts: every question the same, however many drawings of it there are."""
    counts: dict[str, int] = {}
    for one in drawn:
        counts[one.entry.question.id] = counts.get(one.entry.question.id, 0) + 1
    return np.array([1 / counts[one.entry.question.id] for one in drawn])
