"""Puts persons, their marks, ratings and choices into a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from limner.core.marks import Mark
from limner.running.plan import setup_id
from limner.store import Store, now
from limner.store.markings import Marking, PairChoice, Rating, save_marking, save_ratings
from limner.store.records import Drawing, save_setup
from limner.store.schema import studies, study_items

STUDY = "trial"


def person(store: Store, name: str, study: str | None = STUDY) -> str:
    """A person who marks; the setup's id."""
    body = {"judge": f"person/{name}", "study": study}
    save_setup(store, setup_id(body), body, "person")
    return setup_id(body)


def study_of(store: Store, exam: str, items: Mapping[tuple[str, ...], float], name: str = STUDY) -> None:
    """A study whose items are these drawings, each with the probability that it was chosen."""
    row = {"name": name, "exam": exam, "status": "open", "body": {}, "created": now(), "updated": now()}

    def write(connection: sa.Connection) -> None:
        store.upsert(connection, studies, row)
        for n, (drawings, probability) in enumerate(items.items()):
            item = {"study": name, "n": n, "kind": "pair" if len(drawings) > 1 else "drawing", "question_id": "",
                    "drawings": list(drawings), "stratum": "", "probability": probability}  # fmt: skip
            store.upsert(connection, study_items, item)

    store.write(write)


def choose(store: Store, setup: str, first: Drawing, second: Drawing, choice: str | None, **how: Any) -> None:
    """One choice; shown in the order named, unless `how` says otherwise."""
    given = {"scale": "logic", "shown_first": "first", "study": STUDY, **how}
    row = PairChoice(first.exam, first.question_id, first.id, second.id, setup, choice=choice, **given)
    save_ratings(store, [row]).result()


def rate(store: Store, setup: str, drawing: Drawing, value: float, scale: str = "overall", study: str = STUDY) -> None:
    """One rating."""
    save_ratings(store, [Rating(drawing.id, setup, scale, value, study)]).result()


def mark(store: Store, setup: str, drawing: Drawing, values: Mapping[str, float]) -> None:
    """A person's answers to the exam's criteria."""

    marks = [Mark(id, int(value)).to_json() for id, value in values.items()]
    made = Marking(
        f"{setup[:20]}{drawing.id[:40]}", drawing.id, drawing.question_hash, drawing.image, setup, 0, "done",
        marks=marks, origin="study",
    )  # fmt: skip
    save_marking(store, made).result()
