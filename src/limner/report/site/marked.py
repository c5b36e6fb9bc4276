"""One judge after the other: its marks go to the pages of the questions, its numbers are kept."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...calls import digest
from ...core.evaluator import Evaluator
from ...marks import Criterion
from ...protocol import Reading
from ...scoring import Comparable, Entry, On, Standing, Which, comparables, load_groups, standings
from ...stats import rank_intervals
from .chunks import Chunks
from .faults import Faults
from .survey import Slot, Survey

LONGEST = 4000
"""Of a reason or an error so much is shown."""
UNDECIDED = 255
"""Stands for no value where marks are kept as bytes."""


@dataclass
class Way:
    """An evaluator: its tables, and when and how much it marked.

    Attributes:
        id: The setup's digest as pages have always named it.
        compared: Whom it compares, on which questions.
    """

    number: int
    evaluator: Evaluator
    id: str
    compared: Comparable | None = None
    rows: list[Standing] = field(default_factory=list)
    ranks: dict[str, dict[tuple[str, str], tuple[int, int]]] = field(default_factory=dict)
    markings: int = 0
    first: float | None = None
    last: float | None = None

    def count(self, time: float) -> None:
        """Count a marking."""
        self.markings += 1
        self.first = time if self.first is None else min(self.first, time)
        self.last = time if self.last is None else max(self.last, time)


class Marked:
    """What the judges say, gathered judge by judge; no more than one judge's marks are in memory at a time.

    Attributes:
        ways: Judges with how they were asked; each has a table of its own.
        met: By way: for every drawing the share of decided criteria that are met, NaN where there is none.
        decided: By way: for every drawing how many criteria were decided, summed over repeats.
        vectors: By drawing: its markings as way, repeat and one byte for each criterion.
        failures: Drawings that could not be marked: way, drawing, kind, detail.
    """

    def __init__(
        self, survey: Survey, chunks: Chunks, reading: Reading, without: Sequence[str] = (), on: On = "common"
    ) -> None:
        self.survey, self.chunks, self.reading, self.without, self.on = survey, chunks, reading, without, on
        self.ways: list[Way] = []
        self.met: list[array[float]] = []
        self.decided: list[array[int]] = []
        self.vectors: dict[int, list[tuple[int, int, bytes]]] = {}
        self.failures: list[tuple[int, int, str, str]] = []
        self.faults = Faults()
        self._versions: set[str] = set()
        self._criteria: dict[str, list[Criterion]] = {}

    def add(self, evaluator: Evaluator) -> None:
        """Take one evaluator's marks."""
        survey = self.survey
        which = Which((evaluator.label,))
        groups = load_groups(survey.store, survey.name, which=which, reading=self.reading)
        groups = [group for group in groups if group.entries and not set(self.without) & {group.painter, group.name}]
        if not groups:
            return
        way = Way(len(self.ways), evaluator, digest(evaluator.setup))
        self.ways.append(way)
        self.met.append(array("d", [float("nan")]) * len(survey.slots))
        self.decided.append(array("L", [0]) * len(survey.slots))
        way.rows = standings(survey.name, groups, survey.protocol, self.reading, list(survey.tags), self.on)
        (way.compared,) = comparables(groups, survey.protocol)
        way.ranks = _ranks(way.compared)
        for group in groups:
            for entry in group.entries:
                if (slot := survey.slots.get(entry.drawing.id)) is not None:
                    self._entry(way, slot, entry)

    def _entry(self, way: Way, slot: Slot, entry: Entry) -> None:
        criteria = self._known(entry)
        marking = entry.marking
        if marking is not None:
            way.count(marking.created)
        if entry.drawing.status != "done" or (marking is None and not entry.scored):
            return  # What could not be drawn is told once, with the drawing; what nobody has marked yet has no marks.
        body: dict[str, Any] = {"d": entry.drawing.id[:12], "way": way.number, "status": entry.status}
        if marking is not None:
            body |= {"repeat": marking.repeat, "calls": [reply[-1][:12] for reply in marking.replies][:40]}
            body |= {"cost": marking.cost, "time": marking.created, "origin": marking.origin}
        if not entry.scored:
            body["detail"] = (entry.detail or "")[:LONGEST]
            self.failures.append((way.number, slot.number, entry.status, (entry.detail or "")[:LONGEST]))
        else:
            body["scores"] = {name: value for name, value in entry.scores.items() if value is not None}
            body["marks"] = _marks(entry, criteria)
            evidence = {name: found for name, found in entry.evidence.items() if isinstance(found, Mapping)}
            body["evidence"] = {name: _short(found) for name, found in evidence.items()}
            self._count(way, slot, entry, criteria)
            self.faults.add(way.number, slot, body["d"], entry, criteria)
        if entry.question.hash != self.survey.questions[slot.question].hash:
            body["version"] = self._version(slot, entry, criteria)
        self.chunks.add(f"q/{self.survey.keys[slot.question]}", {"marking": body})

    def _known(self, entry: Entry) -> list[Criterion]:
        hash = entry.question.hash
        if hash not in self._criteria:
            self._criteria[hash] = self.survey.criteria(entry.question)
        return self._criteria[hash]

    def _version(self, slot: Slot, entry: Entry, criteria: Sequence[Criterion]) -> str:
        """The drawing was made for an earlier version of its question, which has criteria of its own."""
        hash = entry.question.hash
        if hash not in self._versions:
            self._versions.add(hash)
            body = {"hash": hash[:12], "prompt": entry.question.prompt, "criteria": criteria_json(criteria)}
            self.chunks.add(f"q/{self.survey.keys[slot.question]}", {"version": body})
        return hash[:12]

    def _count(self, way: Way, slot: Slot, entry: Entry, criteria: Sequence[Criterion]) -> None:
        values = {mark.criterion: mark.value for mark in entry.marks}
        found = [(values[c.id], c.top) for c in criteria if values.get(c.id) is not None]
        share = sum((value or 0) / top for value, top in found) / len(found) if found else float("nan")
        met, decided = self.met[way.number], self.decided[way.number]
        before, now = decided[slot.number], len(found)
        if found and before:  # A repeat, or several of them: their mean.
            share = (met[slot.number] * before + share * now) / (before + now)
        if found:
            met[slot.number], decided[slot.number] = share, before + now
        bytes_ = bytes(UNDECIDED if values.get(c.id) is None else min(values[c.id] or 0, 254) for c in criteria)
        repeat = entry.marking.repeat if entry.marking else 0
        self.vectors.setdefault(slot.number, []).append((way.number, repeat, bytes_))


def criteria_json(criteria: Sequence[Criterion]) -> list[dict[str, Any]]:
    """Criteria as the pages know them."""
    return [{"id": c.id, "text": c.text, "kind": c.kind, "top": c.top, "weight": c.weight} for c in criteria]


def _marks(entry: Entry, criteria: Sequence[Criterion]) -> list[list[Any]]:
    """Criterion by number (findings beyond the criteria by name), value, reason; the verdict where it is no answer."""
    places = {criterion.id: place for place, criterion in enumerate(criteria)}
    found: list[list[Any]] = []
    for mark in entry.marks:
        row: list[Any] = [places.get(mark.criterion, mark.criterion), mark.value, mark.reason[:LONGEST]]
        found.append(row if mark.verdict == "answer" else [*row, mark.verdict])
    return found


def _short(found: Mapping[str, Any]) -> dict[str, Any]:
    value = found.get("value")
    if isinstance(value, Mapping):
        value = value.get("count", value.get("value"))
    plain = value if isinstance(value, int | float | str) else len(value) if isinstance(value, list) else None
    return {"value": plain, "backend": str(found.get("backend", ""))[:200]}


def _ranks(compared: Comparable) -> dict[str, dict[tuple[str, str], tuple[int, int]]]:
    """Score -> painter and strategy -> best and worst place, on the questions all painters have."""
    groups = compared.groups
    if len(groups) < 2 or not compared.questions:
        return {}
    found = {}
    for score in compared.protocol.scored:
        known = {str(n): one[score.name] for n, one in enumerate(compared.drawn) if score.name in one}
        if len(known) == len(groups) and not any(np.isnan(values).all() for values in known.values()):
            places = rank_intervals(known)
            rows = {(groups[int(n)].painter, groups[int(n)].strategy): (p.low, p.high) for n, p in places.items()}
            found[score.name] = rows
    return found
