"""What one drawing costs, drawing and marking apart. What is not known is never nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..store.records import Drawing
from .entries import Entry
from .stats.types import Plain

ELSEWHERE = ("folder/", "python/")
"""Painters whose images come about outside: nobody here knows what was paid for them."""


@dataclass(frozen=True)
class Costs(Plain):
    """Dollars for one drawing, failed tries included; None where that is not known of every one.

    Attributes:
        drawing: For making it.
        marking: For marking it once.
    """

    drawing: float | None
    marking: float | None


NOT_KNOWN = Costs(None, None)


def costs(entries: Sequence[Entry], drawings: Iterable[Drawing] | None = None) -> Costs:
    """What a drawing behind these entries costs on average; `drawings` are the entries', where they are at hand."""
    if drawings is None:
        drawings = {entry.drawing.id: entry.drawing for entry in entries}.values()
    return Costs(drawing_cost(drawings), marking_cost(entries))


def drawing_cost(drawings: Iterable[Drawing]) -> float | None:
    """Dollars for one finished drawing, failed ones included."""
    tried = [drawing for drawing in drawings if drawing.status != "not_applicable"]
    return _mean([_paid(drawing) for drawing in tried], sum(drawing.status == "done" for drawing in tried))


def marking_cost(entries: Iterable[Entry]) -> float | None:
    """Dollars for one finished marking, failed ones included."""
    markings = [entry.marking for entry in entries if entry.marking is not None]
    return _mean([marking.cost for marking in markings], sum(marking.status == "done" for marking in markings))


def _paid(drawing: Drawing) -> float | None:
    return None if drawing.origin == "import" or drawing.spec.startswith(ELSEWHERE) else drawing.cost


def _mean(paid: Sequence[float | None], done: int) -> float | None:
    known = [cost for cost in paid if cost is not None]
    return sum(known) / done if done and len(known) == len(paid) else None
