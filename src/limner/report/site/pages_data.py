"""The data behind pages that list many drawings: gallery, questions, failures, differences, painters."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...core.exam import Question
from ...scoring import Standing
from .chunks import Chunks
from .inventory import DrawingSlot, Inventory
from .judge_data import UNDECIDED, JudgeData, JudgeTable
from .leaderboard import numbers_json
from .pictures import Pictures

PART_ROWS = 2500
"""The most rows in one part of a file, or in one file of the gallery."""
MAX_PROMPT = 160
"""The most characters of a prompt in lists; the search uses the whole prompt."""
MAX_NAMED = 6
"""The most differing criteria that a list names."""
MAX_QUOTED = 2
"""The most differing criteria whose text a list shows."""
EXTREMES = 6
"""The number of best and of worst drawings shown for a painter."""
Vectors = Sequence[tuple[int, int, bytes]]
"""A drawing's markings: table, repeat, and one byte for each criterion."""


def _share(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def write_gallery(inventory: Inventory, judges: JudgeData, pictures: Pictures, chunks: Chunks) -> None:
    """Write all drawings as a few columns of numbers."""
    slots = list(inventory.slots.values())
    for start in range(0, len(slots) or 1, PART_ROWS):
        some = slots[start : start + PART_ROWS]
        body = {
            "start": start,
            "d": [slot.short for slot in some],
            "q": [slot.question for slot in some],
            "p": [slot.painter for slot in some],
            "seed": [slot.seed for slot in some],
            "image": [pictures.small(slot.image) for slot in some],
            "status": [0 if slot.status == "done" else slot.status for slot in some],
            "met": [[_share(met[slot.number]) for slot in some] for met in judges.met],
        }
        chunks.add(f"drawings/{start // PART_ROWS}", body)


def write_questions(inventory: Inventory, judges: JudgeData, pictures: Pictures, chunks: Chunks) -> None:
    """Write a summary of every question and, in a separate file for searching, its full text."""
    tags = inventory.tags
    places = {tag: {value: place for place, value in enumerate(values)} for tag, values in tags.items()}
    means = [_means(inventory, met) for met in judges.met]
    drawn = Counter(slot.question for slot in inventory.slots.values() if slot.status == "done")
    for start in range(0, len(inventory.questions), PART_ROWS):
        some = inventory.questions[start : start + PART_ROWS]
        numbers = range(start, start + len(some))
        body = {
            "start": start,
            "id": [q.id for q in some],
            "key": [inventory.keys[n] for n in numbers],
            "drawn": [drawn[n] for n in numbers],
            "prompt": [" ".join(q.prompt[: 4 * MAX_PROMPT].split())[:MAX_PROMPT] for q in some],
            "criteria": [len(inventory.criteria(q)) for q in some],
            "reference": [pictures.small(_emblem(q)) for q in some],
            "tags": {tag: [places[tag].get(q.tags.get(tag, ""), -1) for q in some] for tag in tags},
            "met": [[by_question.get(n) for n in numbers] for by_question in means],
        }
        chunks.add("questions", body)
        chunks.add("words", {"start": start, "words": [_words(q) for q in some]})


def _emblem(question: Question[Any]) -> str | None:
    """Return the picture that stands for a question in lists: its reference, or its first input."""
    picture = question.reference or next(iter(question.inputs), None)
    return picture.sha256 if picture else None


def _means(inventory: Inventory, met: Sequence[float]) -> dict[int, float | None]:
    """Return for each question the mean share of criteria met, over all painters except controls."""
    sums: dict[int, list[float]] = {}
    for slot in inventory.slots.values():
        if not math.isnan(met[slot.number]) and not inventory.painters[slot.painter].control:
            sums.setdefault(slot.question, []).append(met[slot.number])
    return {question: _share(sum(values) / len(values)) for question, values in sums.items()}


def _words(question: Question[Any]) -> str:
    return " ".join([question.id, *question.tags.values(), *question.prompt.split()]).casefold()


def write_failures(judges: JudgeData, drawn: Sequence[list[Any]], pictures: Pictures, chunks: Chunks) -> Counter[str]:
    """Write everything that could not be drawn (`drawn`) or marked, and return the counts by kind.

    A row is stage, question, painter, seed, drawing, way, kind, detail, time, image.
    """
    rows = [[*row, None] for row in drawn]
    for way, slot, kind, detail in judges.failures:
        image = pictures.small(slot.image)
        rows.append(["marking", slot.question, slot.painter, slot.seed, slot.short, way, kind, detail, None, image])
    rows.sort(key=lambda row: row[:4])
    _write(chunks, "failures", rows)
    return Counter(row[6] for row in rows)


def write_differences(
    inventory: Inventory, judges: JudgeData, agreement: Sequence[Mapping[str, Any]], pictures: Pictures, chunks: Chunks
) -> int:
    """Write every drawing on which judges or repeats differ, and their agreement; return the number of drawings.

    A row is question, painter, seed, drawing, the number of criteria decided twice, the number of those that differ,
    between whom, which ones, the text of the first of these, and the image.
    """
    rows: list[list[Any]] = []
    for slot in inventory.slots.values():
        vectors = judges.vectors.get(slot.number, ())
        if len(vectors) < 2:
            continue
        criteria = inventory.criteria(inventory.questions[slot.question])
        both, places, between_judges, between_repeats = differing(vectors)
        if places:
            criteria_shown = [criteria[place] for place in places[:MAX_NAMED] if place < len(criteria)]
            names, words = (
                [criterion.id for criterion in criteria_shown],
                [criterion.text[:MAX_PROMPT] for criterion in criteria_shown[:MAX_QUOTED]],
            )
            between = [name for name, yes in (("judges", between_judges), ("repeats", between_repeats)) if yes]
            place = [slot.question, slot.painter, slot.seed, slot.short]
            rows.append([*place, both, len(places), between, names, words, pictures.small(slot.image)])
    rows.sort(key=lambda row: -row[5])
    _write(chunks, "differences", rows, {"agreement": agreement})
    return len(rows)


def _write(chunks: Chunks, name: str, rows: list[Any], head: Mapping[str, Any] | None = None) -> None:
    chunks.add(name, {"rows": rows[:PART_ROWS], **(head or {})})
    for start in range(PART_ROWS, len(rows), PART_ROWS):
        chunks.add(name, {"rows": rows[start : start + PART_ROWS]})


def differing(vectors: Vectors) -> tuple[int, list[int], bool, bool]:
    """Compare the markings of a drawing: which criteria were decided differently, and by whom.

    Returns:
        The number of criteria decided twice, the indices of those that differ, whether two judges differ, and whether
        two repeats of one judge differ.

    >>> differing([(0, 0, bytes([1, 0, 255])), (1, 0, bytes([1, 1, 0])), (1, 1, bytes([0, 1, 0]))])
    (3, [0, 1], True, True)
    """
    both, places, judges, repeats = 0, [], False, False
    for place in range(min((len(marks) for _, _, marks in vectors), default=0)):
        values = [(way, marks[place]) for way, _, marks in vectors if marks[place] != UNDECIDED]
        both += len(values) > 1
        if len({value for _, value in values}) > 1:
            places.append(place)
            by_way: dict[int, set[int]] = {}
            for way, value in values:
                by_way.setdefault(way, set()).add(value)
            repeats = repeats or any(len(values_given) > 1 for values_given in by_way.values())
            judges = judges or len({frozenset(values_given) for values_given in by_way.values()}) > 1
    return both, places, judges, repeats


def write_painters(inventory: Inventory, judges: JudgeData, pictures: Pictures, chunks: Chunks) -> None:
    """Write one file for each painter, with a part for each judge's table."""
    drawn: dict[int, list[DrawingSlot]] = {}
    for slot in inventory.slots.values():
        drawn.setdefault(slot.painter, []).append(slot)
    for place, painter in enumerate(inventory.painters):
        name = f"painters/{painter.key}"
        chunks.add(name, {"painter": place})
        for table in judges.tables:
            for row in table.rows:
                if inventory.places[row.painter, row.strategy] == place:
                    chunks.add(name, _painter(table, row, drawn[place], inventory, judges, pictures))


def _painter(
    table: JudgeTable,
    row: Standing,
    drawn: Sequence[DrawingSlot],
    inventory: Inventory,
    judges: JudgeData,
    pictures: Pictures,
) -> dict[str, Any]:
    met = judges.met[table.number]
    ranked = sorted((slot for slot in drawn if not math.isnan(met[slot.number])), key=lambda slot: met[slot.number])

    def named(question: int) -> dict[str, str]:
        return {"id": inventory.questions[question].id, "key": inventory.keys[question]}

    def shown(slot: DrawingSlot) -> dict[str, Any]:
        body = {"d": slot.short, "image": pictures.small(slot.image), "met": _share(met[slot.number])}
        return body | named(slot.question)

    faults = judges.faults.of(inventory.places[row.painter, row.strategy], table.number)
    for sort in faults:
        for example in sort["examples"]:
            example |= {"image": pictures.small(example["image"]), **named(example.pop("q"))}
    return {
        "way": table.number,
        "by": {tag: {value: numbers_json(body) for value, body in values.items()} for tag, values in row.by.items()},
        "faults": faults,
        "best": [shown(slot) for slot in ranked[::-1][:EXTREMES]],
        "worst": [shown(slot) for slot in ranked[:EXTREMES]],
        "analyses": dict(row.analyses),
    }
