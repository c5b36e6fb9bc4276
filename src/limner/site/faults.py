"""What a painter typically gets wrong: by sort of criterion, with drawings that show it."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from ..core.marks import Criterion, Mark
from ..scoring import Entry
from .inventory import DrawingSlot

SHOWN = 6
"""So many drawings are shown for a sort of fault."""
REASON = 400
"""Of an example's words so much is shown."""


def sort_of(criterion: Criterion) -> str:
    """The sort of a criterion: its name without the numbers that tell it from others of its sort.

    >>> some = ("point/3", "", "point"), ("spelling", "", "rating"), ("text/t1/exact", "", "exact")
    >>> [sort_of(Criterion(*one)) for one in some]
    ['point', 'spelling', 'text exact']
    >>> sort_of(Criterion("layout/panel_count", "", "layout"))
    'layout panel count'
    """
    parts = criterion.id.split("/")
    if len(parts) == 2 and (parts[1].isdigit() or (criterion.kind == parts[0] and parts[0] != "layout")):
        parts = parts[:1]
    elif len(parts) > 2:
        parts = [parts[0], parts[-1]]
    return " ".join(parts).replace("_", " ")


Seen = tuple[DrawingSlot, Criterion, Mark]
"""What an example is made of: it keeps a mark and a drawing's slot alive, and is worded only where it is shown."""


@dataclass
class FaultSort:
    """How often criteria of one sort were decided and met, and the gravest failures."""

    decided: int = 0
    met: float = 0.0
    failed: int = 0
    worst: dict[int, tuple[float, int, Seen]] = field(default_factory=dict)

    def fail(self, question: int, weight: float, chance: int, seen: Seen) -> None:
        """Keep the gravest; of equals those that chance prefers, and one for each question."""
        new = (weight, chance, seen)
        if question not in self.worst or new[:2] > self.worst[question][:2]:
            self.worst[question] = new
        if len(self.worst) > 4 * SHOWN:
            kept = heapq.nlargest(SHOWN, self.worst, key=lambda number: self.worst[number][:2])
            self.worst = {number: self.worst[number] for number in kept}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON, the gravest example first."""
        gravest = heapq.nlargest(SHOWN, self.worst.values(), key=lambda found: found[:2])
        found = {"decided": self.decided, "met": round(self.met, 3), "failed": self.failed}
        return found | {"examples": [_example(*seen) for _, _, seen in gravest]}


def _example(slot: DrawingSlot, criterion: Criterion, mark: Mark) -> dict[str, Any]:
    body = {"q": slot.question, "d": slot.short, "image": slot.image, "text": criterion.text[:REASON]}
    return body | {"reason": mark.reason[:REASON], "value": mark.value, "top": criterion.top}


class Faults:
    """The faults of all painters under all judges; holds a handful of examples of each sort."""

    def __init__(self) -> None:
        self._sorts: dict[tuple[int, int], dict[str, FaultSort]] = {}
        self._names: dict[tuple[str, str], str] = {}

    def add(self, way: int, slot: DrawingSlot, entry: Entry, criteria: Sequence[Criterion]) -> None:
        """Count one marked drawing."""
        known = {criterion.id: criterion for criterion in criteria}
        sorts = self._sorts.setdefault((slot.painter, way), {})
        for mark in entry.marks:
            criterion = known.get(mark.criterion)
            if criterion is None or mark.value is None:
                continue
            if (sort := sorts.get(name := self._name(criterion))) is None:
                sort = sorts[name] = FaultSort()
            sort.decided += 1
            sort.met += mark.value / criterion.top
            if mark.value < criterion.top:
                sort.failed += 1
                lost = (criterion.weight or 1.0) * (1 - mark.value / criterion.top)
                chance = crc32(f"{slot.short} {mark.criterion}".encode("utf-8", "replace"))
                sort.fail(slot.question, lost, chance, (slot, criterion, mark))

    def _name(self, criterion: Criterion) -> str:
        key = criterion.id, criterion.kind
        if key not in self._names:
            self._names[key] = sort_of(criterion)
        return self._names[key]

    def of(self, painter: int, way: int) -> list[dict[str, Any]]:
        """A painter's faults under one judge, the sort with the smallest share met first."""
        found = [{"sort": name, **sort.to_json()} for name, sort in self._sorts.get((painter, way), {}).items()]
        return sorted(found, key=lambda sort: (sort["met"] / sort["decided"], -sort["decided"], sort["sort"]))
