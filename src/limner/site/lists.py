"""The lists behind the gallery, the questions, the failures and the differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.exam import Question
from .chunks import Chunks
from .common import share, small
from .differences import agreement, differing
from .inventory import Survey
from .judge_data import Marked
from .pictures import Pictures

PART = 2500
"""So many rows make one part of a file; of the gallery, one file."""
PROMPT = 160
"""Of a prompt so much stands in lists; searching goes through all of it."""
NAMED = 6
"""So many of the criteria that differ are named in the list."""


def write_gallery(survey: Survey, marked: Marked, pictures: Pictures, chunks: Chunks) -> None:
    """Every drawing in a few columns of numbers."""
    slots = list(survey.slots.items())
    for start in range(0, len(slots) or 1, PART):
        some = slots[start : start + PART]
        body: dict[str, Any] = {"start": start, "d": [id[:12] for id, _ in some]}
        body |= {"q": [slot.question for _, slot in some], "p": [slot.painter for _, slot in some]}
        body |= {"seed": [slot.seed for _, slot in some], "image": [small(slot.image, pictures) for _, slot in some]}
        body["status"] = [0 if slot.status == "done" else slot.status for _, slot in some]
        body["met"] = [[share(met[slot.number]) for _, slot in some] for met in marked.met]
        chunks.add(f"drawings/{start // PART}", body)


def write_questions(survey: Survey, marked: Marked, pictures: Pictures, chunks: Chunks) -> None:
    """Every question in short; and apart, for searching, its words in full."""
    tags = survey.tags
    places = {tag: {value: place for place, value in enumerate(values)} for tag, values in tags.items()}
    means = [_means(survey, met) for met in marked.met]
    drawn = Counter(slot.question for slot in survey.slots.values() if slot.status == "done")
    for start in range(0, len(survey.questions), PART):
        some = list(enumerate(survey.questions))[start : start + PART]
        body: dict[str, Any] = {"start": start, "id": [q.id for _, q in some]}
        body |= {"key": [survey.keys[n] for n, _ in some], "drawn": [drawn[n] for n, _ in some]}
        body["prompt"] = [" ".join(q.prompt[: 4 * PROMPT].split())[:PROMPT] for _, q in some]
        body["criteria"] = [len(survey.criteria(q)) for _, q in some]
        body["reference"] = [small(q.reference.sha256 if q.reference else None, pictures) for _, q in some]
        body["tags"] = {tag: [places[tag].get(q.tags.get(tag, ""), -1) for _, q in some] for tag in tags}
        body["met"] = [[found.get(n) for n, _ in some] for found in means]
        chunks.add("questions", body)
        chunks.add("words", {"start": start, "words": [_words(q) for _, q in some]})


def _means(survey: Survey, met: Sequence[float]) -> dict[int, float | None]:
    """For each question the mean share met, over all painters but controls."""
    sums: dict[int, list[float]] = {}
    for slot in survey.slots.values():
        if not math.isnan(met[slot.number]) and not survey.painters[slot.painter].control:
            sums.setdefault(slot.question, []).append(met[slot.number])
    return {question: share(sum(values) / len(values)) for question, values in sums.items()}


def _words(question: Question[Any]) -> str:
    return " ".join([question.id, *question.tags.values(), *question.prompt.split()]).casefold()


def write_failures(survey: Survey, marked: Marked, drawn: Sequence[list[Any]], chunks: Chunks) -> Counter[str]:
    """Everything that could not be drawn (`drawn`) or marked; returns how often, by kind.

    A row is stage, question, painter, seed, drawing, way, kind, detail, time.
    """
    slots = {slot.number: (id, slot) for id, slot in survey.slots.items()}
    rows = list(drawn)
    for way, number, kind, detail in marked.failures:
        id, slot = slots[number]
        rows.append(["marking", slot.question, slot.painter, slot.seed, id[:12], way, kind, detail, None])
    rows.sort(key=lambda row: (row[0], row[1], row[2], row[3]))
    _write(chunks, "failures", rows)
    return Counter(row[6] for row in rows)


def write_differences(survey: Survey, marked: Marked, chunks: Chunks) -> int:
    """Every drawing about which judges or repeats differ; returns how many.

    A row is question, painter, seed, drawing, criteria decided twice, how many of them differ, between whom, which.
    """
    rows: list[list[Any]] = []
    criteria: dict[int, list[str]] = {}
    for id, slot in survey.slots.items():
        both, places, judges, repeats = differing(marked.vectors.get(slot.number, ()))
        if not places:
            continue
        if slot.question not in criteria:
            found = survey.criteria(survey.questions[slot.question])
            criteria[slot.question] = [criterion.id for criterion in found]
        ids = criteria[slot.question]
        names = [ids[place] for place in places[:NAMED] if place < len(ids)]
        between = [name for name, yes in (("judges", judges), ("repeats", repeats)) if yes]
        rows.append([slot.question, slot.painter, slot.seed, id[:12], both, len(places), between, names])
    rows.sort(key=lambda row: -row[5])
    _write(chunks, "differences", rows, {"agreement": agreement(marked.vectors)})
    return len(rows)


def _write(chunks: Chunks, name: str, rows: list[Any], head: Mapping[str, Any] | None = None) -> None:
    chunks.add(name, {"rows": rows[:PART], **(head or {})})
    for start in range(PART, len(rows), PART):
        chunks.add(name, {"rows": rows[start : start + PART]})
