"""The data behind a painter's page: categories, typical faults, best and worst drawings."""

from __future__ import annotations

import math
from typing import Any

from ..scoring import Standing
from .chunks import Chunks
from .common import share, small
from .inventory import Slot, Survey
from .judge_data import Marked, Way
from .pictures import Pictures
from .rows import view

EXTREMES = 6
"""So many of the best and of the worst drawings are shown."""


def write_painters(survey: Survey, marked: Marked, pictures: Pictures, chunks: Chunks) -> None:
    """One file for each painter, with one part for each judge's table it stands in."""
    drawn: dict[int, list[tuple[str, Slot]]] = {}
    for id, slot in survey.slots.items():
        drawn.setdefault(slot.painter, []).append((id, slot))
    for place, painter in enumerate(survey.painters):
        name = f"painters/{painter.key}"
        chunks.add(name, {"painter": place})
        for way in marked.ways:
            for row in way.rows:
                if (row.painter, row.strategy) == (painter.label, painter.strategy):
                    chunks.add(name, _under(way, row, place, drawn[place], survey, marked, pictures))


def _under(
    way: Way,
    row: Standing,
    painter: int,
    drawn: list[tuple[str, Slot]],
    survey: Survey,
    marked: Marked,
    pictures: Pictures,
) -> dict[str, Any]:
    met = marked.met[way.number]
    ranked = [pair for pair in drawn if not math.isnan(met[pair[1].number])]
    ranked.sort(key=lambda pair: met[pair[1].number])

    def shown(id: str, slot: Slot) -> dict[str, Any]:
        body = {"d": id[:12], "image": small(slot.image, pictures), "met": share(met[slot.number])}
        return body | named(slot.question)

    def named(question: int) -> dict[str, str]:
        return {"id": survey.questions[question].id, "key": survey.keys[question]}

    faults = marked.faults.of(painter, way.number)
    for sort in faults:
        for example in sort["examples"]:
            example |= {"image": small(example["image"], pictures), **named(example.pop("q"))}
    return {
        "way": way.number,
        "by": {tag: {value: view(body) for value, body in values.items()} for tag, values in row.by.items()},
        "faults": faults,
        "best": [shown(*pair) for pair in ranked[::-1][:EXTREMES]],
        "worst": [shown(*pair) for pair in ranked[:EXTREMES]],
        "analyses": dict(row.analyses),
    }
