"""The judges' data for the site: marks for the question pages and numbers for the tables, by judge."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import Any
from zlib import crc32

from ...core.evaluator import Evaluator
from ...core.marks import Criterion, Mark
from ...scoring import Entry, EvaluatorFilter, Group, load_groups
from ...scoring.entries import with_texts
from ...scoring.groups import with_warnings
from ...scoring.numbers import shares
from .chunks import Chunks, no_folders
from .inventory import DrawingSlot, Inventory
from .leaderboard import JudgeTable, boards, rounded
from .pictures import Pictures

MAX_REASON = 4000
"""The most characters shown of a reason or an error."""
BATCH_DRAWINGS = 500
"""The approximate number of drawings whose reasons are in memory at a time."""


class JudgeData:
    """The judges' marks and numbers.

    Reasons are read only in batches, when the pages of questions are written.

    Attributes:
        tables: One table for each evaluator.
        met: For each table, drawing -> the share of decided criteria that are met; absent if none is decided.
        failures: Drawings that could not be marked, each as table, slot, kind and detail.
    """

    def __init__(self, inventory: Inventory, chunks: Chunks) -> None:
        self.inventory, self.chunks = inventory, chunks
        self.tables: list[JudgeTable] = []
        self.met: list[dict[int, float]] = []
        self.failures: list[tuple[int, DrawingSlot, str, str]] = []
        self.faults = Faults()
        self._versions: set[str] = set()

    def add(self, evaluator: Evaluator) -> None:
        """Add one evaluator's marks."""
        groups = self._groups(evaluator)
        if not groups:
            return
        table = JudgeTable(len(self.tables), groups[0].evaluator, groups, boards(self.inventory, groups))
        self.tables.append(table)
        met: dict[int, list[float]] = {}
        for slot, entry in self._by_question(groups):
            self._entry(table, slot, entry)
            if entry.scored:
                met.setdefault(slot.number, []).extend(shares(entry, self.inventory.protocol).values())
        self.met.append({drawing: fmean(each) for drawing, each in met.items() if each})

    def tile(self, table: JudgeTable, slot: DrawingSlot, pictures: Pictures) -> dict[str, Any]:
        """Return a drawing for a list of pictures, with the share of its criteria that are met."""
        met, inventory = rounded(self.met[table.number].get(slot.number), 4), self.inventory
        body = {"p": slot.painter, "d": slot.short, "image": pictures.small(slot.image), "met": met}
        return body | {"id": inventory.questions[slot.question].id, "key": inventory.keys[slot.question]}

    def _groups(self, evaluator: Evaluator) -> list[Group]:
        inventory, terms = self.inventory, self.inventory.terms
        groups = load_groups(
            inventory.store,
            inventory.name,
            reading=terms.reading,
            which=EvaluatorFilter((evaluator.id,)),
            opened=inventory.kind,
            backends=terms.backends,
            brief=True,
        )
        # Warnings about a judge also depend on controls, even if the pages do not show controls.
        groups = with_warnings(groups, inventory.protocol)
        return [group for group in groups if (group.painter, group.strategy) in inventory.places]

    def _by_question(self, groups: Sequence[Group]) -> Iterator[tuple[DrawingSlot, Entry]]:
        """Yield the entries with the reasons for their marks, ordered by question id."""
        inventory = self.inventory
        questions: dict[int, list[tuple[DrawingSlot, Entry]]] = {}
        for group in groups:
            for entry in group.entries:
                if (slot := inventory.slots.get(entry.drawing.id)) is not None:
                    questions.setdefault(slot.question, []).append((slot, entry))
        some: list[tuple[DrawingSlot, Entry]] = []
        for number in sorted(questions, key=lambda number: inventory.questions[number].id):
            some += questions.pop(number)
            if len(some) >= BATCH_DRAWINGS or not questions:
                entries = [entry for _, entry in some]
                whole = with_texts(inventory.store, entries, inventory.protocol, inventory.terms.reading)
                yield from zip((slot for slot, _ in some), whole, strict=True)
                some = []

    def _entry(self, table: JudgeTable, slot: DrawingSlot, entry: Entry) -> None:
        criteria = self.inventory.criteria(entry.question)
        marking = entry.marking
        if marking is not None:
            table.times.append(marking.created)
        if entry.drawing.status != "done" or (marking is None and not entry.scored):
            return  # Failed drawings are listed elsewhere; a drawing that is not marked yet has no marks to show.
        body: dict[str, Any] = {"d": slot.short, "way": table.number, "status": entry.status}
        if marking is not None:
            body |= {"repeat": marking.repeat, "calls": [reply[-1][:12] for reply in marking.replies][:40]}
            body |= {"cost": marking.cost, "time": marking.created, "origin": marking.origin}
        if not entry.scored:
            body["detail"] = no_folders(entry.detail or "")[:MAX_REASON]
            self.failures.append((table.number, slot, entry.status, body["detail"]))
        else:
            body["scores"] = {name: value for name, value in entry.scores.items() if value is not None}
            body["marks"] = _marks(entry, criteria)
            evidence = {name: finding for name, finding in entry.evidence.items() if isinstance(finding, Mapping)}
            body["evidence"] = {name: _short(finding) for name, finding in evidence.items()}
            self.faults.add(table.number, slot, entry, criteria)
        if entry.question.hash != self.inventory.questions[slot.question].hash:
            body["version"] = self._version(slot, entry, criteria)
        self.chunks.add(f"q/{self.inventory.keys[slot.question]}", {"marking": body})

    def _version(self, slot: DrawingSlot, entry: Entry, criteria: Sequence[Criterion]) -> str:
        """Write the version of the question that the drawing was made for, once, and return its short hash."""
        hash = entry.question.hash
        if hash not in self._versions:
            self._versions.add(hash)
            body = {"hash": hash[:12], "prompt": entry.question.prompt, "criteria": criteria_json(criteria)}
            self.chunks.add(f"q/{self.inventory.keys[slot.question]}", {"version": body})
        return hash[:12]


def criteria_json(criteria: Sequence[Criterion]) -> list[dict[str, Any]]:
    """Return criteria as JSON for the pages."""
    return [{"id": c.id, "text": c.text, "kind": c.kind, "top": c.top, "weight": c.weight} for c in criteria]


def _marks(entry: Entry, criteria: Sequence[Criterion]) -> list[list[Any]]:
    """Return each mark as a list: criterion (number or name), value, reason, and any verdict but ``answer``."""
    places = {criterion.id: place for place, criterion in enumerate(criteria)}
    rows: list[list[Any]] = []
    for mark in entry.marks:
        row: list[Any] = [places.get(mark.criterion, mark.criterion), mark.value, mark.reason[:MAX_REASON]]
        rows.append(row if mark.verdict == "answer" else [*row, mark.verdict])
    return rows


def _short(finding: Mapping[str, Any]) -> dict[str, Any]:
    value = finding.get("value")
    if isinstance(value, Mapping):
        value = value.get("count", value.get("value"))
    plain = value if isinstance(value, int | float | str) else len(value) if isinstance(value, list) else None
    return {"value": plain, "backend": str(finding.get("backend", ""))[:200]}


MAX_EXAMPLES = 6
"""The most drawings shown for a sort of fault."""
MAX_EXAMPLE_TEXT = 400
"""The most characters shown of an example's text."""


@cache
def sort_of(id: str, kind: str) -> str:
    """Return the sort of a criterion: its id in words, without the part that numbers single criteria.

    >>> sort_of("point/3", "point"), sort_of("spelling", "rating"), sort_of("text/t1/exact", "exact")
    ('point', 'spelling', 'text exact')
    >>> sort_of("layout/panel_count", "layout")
    'layout panel count'
    """
    parts = id.split("/")
    if len(parts) == 2 and (parts[1].isdigit() or (kind == parts[0] and parts[0] != "layout")):
        parts = parts[:1]
    elif len(parts) > 2:
        parts = [parts[0], parts[-1]]
    return " ".join(parts).replace("_", " ")


FaultExample = tuple[DrawingSlot, Criterion, Mark]
"""An example of a fault, formatted only if it is shown."""


@dataclass
class FaultSort:
    """The counts of decided and met criteria of one sort, with the worst failures."""

    decided: int = 0
    met: float = 0.0
    failed: int = 0
    worst: dict[int, tuple[float, int, FaultExample]] = field(default_factory=dict)

    def fail(self, question: int, weight: float, chance: int, seen: FaultExample) -> None:
        """Keep a failure if it is among the worst, at most one per question; `chance` breaks ties."""
        new = (weight, chance, seen)
        if question not in self.worst or new[:2] > self.worst[question][:2]:
            self.worst[question] = new
        if len(self.worst) > 4 * MAX_EXAMPLES:
            kept = heapq.nlargest(MAX_EXAMPLES, self.worst, key=lambda number: self.worst[number][:2])
            self.worst = {number: self.worst[number] for number in kept}

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON, the worst example first."""
        worst = heapq.nlargest(MAX_EXAMPLES, self.worst.values(), key=lambda failure: failure[:2])
        counts = {"decided": self.decided, "met": round(self.met, 3), "failed": self.failed}
        return counts | {"examples": [_example(*seen) for _, _, seen in worst]}


def _example(slot: DrawingSlot, criterion: Criterion, mark: Mark) -> dict[str, Any]:
    body = {"q": slot.question, "d": slot.short, "image": slot.image, "text": criterion.text[:MAX_EXAMPLE_TEXT]}
    return body | {"reason": mark.reason[:MAX_EXAMPLE_TEXT], "value": mark.value, "top": criterion.top}


class Faults:
    """The faults of all painters under all judges, with a few examples of each sort."""

    def __init__(self) -> None:
        self._sorts: dict[tuple[int, int], dict[str, FaultSort]] = {}

    def add(self, way: int, slot: DrawingSlot, entry: Entry, criteria: Sequence[Criterion]) -> None:
        """Count the marks of one drawing."""
        by_id = {criterion.id: criterion for criterion in criteria}
        sorts = self._sorts.setdefault((slot.painter, way), {})
        for mark in entry.marks:
            criterion = by_id.get(mark.criterion)
            if criterion is None or mark.value is None:
                continue
            sort = sorts.setdefault(sort_of(criterion.id, criterion.kind), FaultSort())
            sort.decided += 1
            sort.met += criterion.share(mark.value)
            if mark.value < criterion.top:
                sort.failed += 1
                lost = (criterion.weight or 1.0) * (1 - criterion.share(mark.value))
                chance = crc32(f"{slot.short} {mark.criterion}".encode("utf-8", "replace"))
                sort.fail(slot.question, lost, chance, (slot, criterion, mark))

    def of(self, painter: int, way: int) -> list[dict[str, Any]]:
        """Return a painter's faults under one judge, starting with the sort of which the smallest share is met."""
        faults = [{"sort": name, **sort.to_json()} for name, sort in self._sorts.get((painter, way), {}).items()]
        return sorted(faults, key=lambda sort: (sort["met"] / sort["decided"], -sort["decided"], sort["sort"]))
