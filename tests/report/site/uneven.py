"""A store in which painters have unlike questions, some have no score at all, and one judge marked at two efforts."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from limner import exams
from limner.calls import digest
from limner.core.exam import Question
from limner.core.marks import Mark
from limner.running.plan import marking_id, slot_id
from limner.store import Store
from limner.store.markings import Marking
from limner.store.records import Drawing, add_exam, save_setup
from limner.store.schema import drawings, markings
from tests.report.tables import synthetic

QUESTIONS = 12
JUDGE = "openai/gpt-5"
EFFORTS = ("low", "high")
SKILLS = {
    "lab/even": 0.8,
    "lab/twin": 0.8,
    "lab/better": 0.97,
    "lab/cutter": 0.6,
    "lab/refused": 0.5,
    "lab/garbled": 0.5,
    "control/reference": 1.0,
}
"""Painters by how well they draw. ``lab/twin`` gets the same marks as ``lab/even``."""
HAS = {"lab/cutter": 4}
"""Who has drawn less than the whole exam."""
REFUSED, GARBLED = "lab/refused", "lab/garbled"
"""All drawings of the one failed; nothing that was said of the other's can be read."""


def fill(store: Store, *, cut: bool = True) -> None:
    """GenExam by seven painters; `cut` says whether one of them has drawn but a few questions."""
    whole = synthetic.exam("genexam", QUESTIONS)
    add_exam(store, whole)
    setups = {effort: _setup(effort) for effort in EFFORTS}
    for setup in setups.values():
        save_setup(store, digest("setup-1", setup), setup)
    rows: list[tuple[Any, dict[str, Any]]] = []
    for painter in SKILLS:
        for question in whole.questions[: HAS.get(painter) if cut else None]:
            rows += _one(store, painter, question, setups)

    def write(connection: sa.Connection) -> None:
        for table, row in rows:
            store.upsert(connection, table, row)

    store.write(write)


def _setup(effort: str) -> dict[str, Any]:
    args = {"reasoning_effort": effort}
    return {"judge": JUDGE, "model": "gpt-5", "variant": "release", "options": {}, "args": args, "templates": "0123"}


def _one(
    store: Store, painter: str, question: Question[Any], setups: dict[str, dict[str, Any]]
) -> list[tuple[Any, dict[str, Any]]]:
    id = slot_id("genexam", question.hash, painter, "direct", {}, 0)
    drawing = Drawing(id, "genexam", question.id, question.hash, painter, painter, "direct", 0, "done", cost=0.04)
    if painter == REFUSED:
        failed = replace(drawing, status="failed", fault="refusal", detail="the service will not draw this")
        return [(drawings, dict(failed.__dict__))]
    sha256, info = store.blobs.put(synthetic.picture(question.id, painter))
    drawing = replace(drawing, image=sha256, width=info.width, height=info.height)
    found: list[tuple[Any, dict[str, Any]]] = [(drawings, dict(drawing.__dict__))]
    for effort, setup in setups.items():
        known = digest("setup-1", setup)
        head = (marking_id(id, question.hash, sha256, known, 0), id, question.hash, sha256, known, 0)
        if painter == GARBLED:
            marking = Marking(*head, "failed", fault="unreadable", detail="the reply holds no JSON", rounds=3)
        else:
            marks = [mark.to_json() for mark in _marks(question, painter, effort)]
            marking = Marking(*head, "done", marks=marks, cost=0.01)
        found.append((markings, dict(marking.__dict__)))
    return found


def _marks(question: Question[Any], painter: str, effort: str) -> list[Mark]:
    chance = random.Random(f"{question.id} {painter.replace('twin', 'even')} {effort}")
    found = []
    for criterion in exams.kind("genexam").protocol.criteria(question):
        value = sum(chance.random() < SKILLS[painter] for _ in range(criterion.top))
        found.append(Mark(criterion.id, value, "seen" if value == criterion.top else "not as it should be"))
    return found
