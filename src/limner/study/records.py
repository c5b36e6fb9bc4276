"""Studies, what they show, who rates and what was answered, as rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sqlalchemy as sa

from ..core.errors import StoreError
from ..running.plan import setup_id
from ..store import Store, now
from ..store.records import save_setup
from ..store.schema import studies, study_answers, study_items, study_raters

OPEN, CLOSED, IMPORTED = "open", "closed", "imported"
"""What a study's status can be; in an imported one people rated elsewhere."""
PERSON = "person"
"""The kind of evaluator a rater is."""


@dataclass(frozen=True)
class Study:
    """People who mark a sample of drawings by a design.

    Attributes:
        status: ``open``, ``closed`` or ``imported``.
        body: The design with everything the sample was drawn by; see `limner.study.design`.
    """

    name: str
    exam: str
    status: str
    body: dict[str, Any]
    created: float = field(default_factory=now)
    updated: float = field(default_factory=now)


@dataclass(frozen=True)
class StudyItem:
    """What is shown at one time.

    Attributes:
        n: Its number in the study, from 1.
        kind: ``drawing``, ``pair`` or ``rank``.
        drawings: The ids of the drawings shown, all of one question.
        stratum: The part of the population it stands for.
        probability: How probable it was that the sample takes it; its weight is one over this.
    """

    study: str
    n: int
    kind: str
    question_id: str
    drawings: list[str]
    stratum: str = ""
    probability: float = 1.0


@dataclass(frozen=True)
class StudyRater:
    """Who was invited.

    Attributes:
        token: The hash of the link's token; the token itself is stored nowhere.
        setup: The evaluator this person is; see `save_person`.
        body: The places to be answered in their order, consent, further links; see `limner.study.places`.
    """

    study: str
    rater: str
    token: str
    setup: str
    body: dict[str, Any] = field(default_factory=dict)
    created: float = field(default_factory=now)
    updated: float = field(default_factory=now)


@dataclass(frozen=True)
class StudyAnswer:
    """One field of one form as it was last answered; a value of None was taken back.

    Attributes:
        item: The item's number; below 0, an attention check.
        repeat: 0, or which time the same item was shown again.
        at: When it was clicked; of two answers the later counts.
    """

    study: str
    rater: str
    item: int
    repeat: int
    field: str
    value: Any
    reason: str | None = None
    seconds: float | None = None
    at: float = dataclasses.field(default_factory=now)


def save_person(store: Store, rater: str, study: str) -> str:
    """Store a person as an evaluator and return the id of its setup."""
    body = {"judge": f"{PERSON}/{rater}", "study": study}
    id = setup_id(body)
    save_setup(store, id, body, PERSON)
    return id


def save_study(store: Store, study: Study, items: Sequence[StudyItem] = (), raters: Sequence[StudyRater] = ()) -> None:
    """Keep a study, with items and raters where they are given, all or nothing."""

    def operation(connection: sa.Connection) -> None:
        store.upsert(connection, studies, {**study.__dict__, "updated": now()})
        for table, rows in ((study_items, items), (study_raters, raters)):
            for row in rows:
                store.upsert(connection, table, dict(row.__dict__))

    store.write(operation)


def set_status(store: Store, name: str, status: str) -> None:
    """Close a study, or open it again."""
    save_study(store, replace(load_study(store, name), status=status))


def save_rater(store: Store, rater: StudyRater) -> StudyRater:
    """Keep a rater, in the place of what was there."""
    rater = replace(rater, updated=now())
    store.write(lambda connection: store.upsert(connection, study_raters, dict(rater.__dict__)))
    return rater


def study_names(store: Store, exam: str | None = None) -> list[str]:
    """Return the names of all studies, or of one exam's, oldest first."""
    query = sa.select(studies.c.name).order_by(studies.c.created, studies.c.name)
    with store.reading() as connection:
        return list(connection.scalars(query if exam is None else query.where(studies.c.exam == exam)))


def has_study(store: Store, name: str) -> bool:
    """Whether there is a study of this name."""
    return name in study_names(store)


def load_study(store: Store, name: str) -> Study:
    """Return the study of this name.

    Raises:
        StoreError: There is none; says which there are.
    """
    with store.reading() as connection:
        row = connection.execute(sa.select(studies).where(studies.c.name == name)).first()
    if row is None:
        there = ", ".join(study_names(store)) or "none; `limner study new` makes one"
        raise StoreError(f"{store.url} has no study {name!r}; there is: {there}")
    return Study(**row._mapping)


def status_of(store: Store, name: str) -> str | None:
    """Return a study's status alone; None where there is no such study."""
    with store.reading() as connection:
        found: str | None = connection.scalar(sa.select(studies.c.status).where(studies.c.name == name))
    return found


def load_items(store: Store, study: str) -> list[StudyItem]:
    """Return what the study shows, in the order of its numbers."""
    query = sa.select(study_items).where(study_items.c.study == study).order_by(study_items.c.n)
    with store.reading() as connection:
        return [StudyItem(**row._mapping) for row in connection.execute(query)]


def load_raters(store: Store, study: str) -> list[StudyRater]:
    """Who was invited, in the order of their names."""
    query = sa.select(study_raters).where(study_raters.c.study == study).order_by(study_raters.c.rater)
    with store.reading() as connection:
        return [StudyRater(**row._mapping) for row in connection.execute(query)]


def load_rater(store: Store, study: str, rater: str) -> StudyRater:
    """One rater of a study.

    Raises:
        StoreError: There is none of that name.
    """
    found = {one.rater: one for one in load_raters(store, study)}
    if rater not in found:
        raise StoreError(f"the study {study} has no rater {rater!r}; there is: {', '.join(found) or 'none'}")
    return found[rater]


def rows_of_answers(connection: sa.Connection, *conditions: Any) -> list[StudyAnswer]:
    """Return the answers for which the conditions hold, in the order of their clicks; for use inside a write."""
    query = sa.select(study_answers).where(*conditions).order_by(study_answers.c.at, study_answers.c.field)
    return [StudyAnswer(**row._mapping) for row in connection.execute(query)]


def load_answers(store: Store, study: str, rater: str | None = None) -> list[StudyAnswer]:
    """Everything answered in a study, or by one rater, in the order of the clicks; what was taken back included."""
    conditions = [study_answers.c.study == study]
    if rater is not None:
        conditions.append(study_answers.c.rater == rater)
    with store.reading() as connection:
        return rows_of_answers(connection, *conditions)


def inclusion(items: Iterable[StudyItem]) -> dict[str, float]:
    """Drawing -> the probability that the sample took it, for weights in statistics; the likeliest item counts."""
    found: dict[str, float] = {}
    for item in items:
        for drawing in item.drawings:
            found[drawing] = max(item.probability, found.get(drawing, 0.0))
    return found
