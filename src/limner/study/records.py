"""Rows of studies: items, raters and answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import sqlalchemy as sa

from ..core.errors import StoreError
from ..running.plan import setup_id
from ..store import Store, now
from ..store.records import save_setup
from ..store.schema import content_columns, studies, study_answers, study_items, study_raters

R = TypeVar("R")
OPEN, CLOSED, IMPORTED = "open", "closed", "imported"
"""The states of a study; for an imported one, people rated elsewhere."""
PERSON = "person"
"""The kind of evaluator of a rater."""


@dataclass(frozen=True)
class Study:
    """A sample of drawings that people mark by a design.

    Attributes:
        status: ``open``, ``closed`` or ``imported``.
        body: The design and everything that defines the sample; see `limner.study.design`.
    """

    name: str
    exam: str
    status: str
    body: dict[str, Any]
    created: float = field(default_factory=now)
    updated: float = field(default_factory=now)


@dataclass(frozen=True)
class StudyItem:
    """The drawings shown at one time.

    Attributes:
        n: Its number in the study, from 1.
        kind: ``drawing``, ``pair`` or ``rank``.
        drawings: The ids of the drawings shown, all of one question.
        stratum: The part of the population that it represents.
        probability: The probability that the sample includes it; its weight is the inverse.
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
    """An invited rater.

    Attributes:
        token: The hash of the link's token; the token itself is stored nowhere.
        setup: The person's setup as an evaluator; see `save_person`.
        body: The places in order, consent, further links; see `limner.study.sampling`.
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
    """The latest answer to one field of one form; a value of None is a withdrawn answer.

    Attributes:
        item: The item's number; negative for an attention check.
        repeat: How often the item was shown before.
        at: The time of the click; of two answers, the later counts.
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
    """Store a study, with items and raters if given, in one transaction."""

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
    """Store a rater, replacing the earlier row."""
    rater = replace(rater, updated=now())
    store.write(lambda connection: store.upsert(connection, study_raters, dict(rater.__dict__)))
    return rater


def study_names(store: Store, exam: str | None = None) -> list[str]:
    """Return the names of all studies, or of one exam's, the oldest first."""
    query = sa.select(studies.c.name).order_by(studies.c.created, studies.c.name)
    with store.reading() as connection:
        return list(connection.scalars(query if exam is None else query.where(studies.c.exam == exam)))


def has_study(store: Store, name: str) -> bool:
    """Return whether there is a study of this name."""
    return name in study_names(store)


def load_study(store: Store, name: str) -> Study:
    """Return the study of this name.

    Raises:
        StoreError: There is no such study; lists the stored ones.
    """
    with store.reading() as connection:
        rows = load_rows(connection, Study, studies.c.name == name)
    if not rows:
        names = ", ".join(study_names(store)) or "none; `limner study new` creates one"
        raise StoreError(f"{store.url} has no study {name!r}; it has: {names}")
    return rows[0]


def status_of(store: Store, name: str) -> str | None:
    """Return a study's status; None if there is no such study."""
    with store.reading() as connection:
        status: str | None = connection.scalar(sa.select(studies.c.status).where(studies.c.name == name))
    return status


def load_items(store: Store, study: str) -> list[StudyItem]:
    """Return the items of a study, in the order of their numbers."""
    with store.reading() as connection:
        return load_rows(connection, StudyItem, study_items.c.study == study)


def load_raters(store: Store, study: str) -> list[StudyRater]:
    """Return the raters of a study, in the order of their names."""
    with store.reading() as connection:
        return load_rows(connection, StudyRater, study_raters.c.study == study)


def load_rater(store: Store, study: str, rater: str) -> StudyRater:
    """Return one rater of a study.

    Raises:
        StoreError: There is no rater of this name.
    """
    raters = {each.rater: each for each in load_raters(store, study)}
    if rater not in raters:
        raise StoreError(f"the study {study} has no rater {rater!r}; it has: {', '.join(raters) or 'none'}")
    return raters[rater]


TABLES: dict[Any, tuple[sa.Table, tuple[str, ...]]] = {
    Study: (studies, ()),
    StudyItem: (study_items, ("n",)),
    StudyRater: (study_raters, ("rater",)),
    StudyAnswer: (study_answers, ("at", "field")),
}
"""Kind of row -> its table, and the columns that it is sorted by; answers are in the order of their clicks."""


def load_rows(connection: sa.Connection, kind: type[R], *conditions: Any) -> list[R]:
    """Return the rows of a kind that meet the conditions, sorted; for use inside a transaction."""
    table, order = TABLES[kind]
    query = sa.select(*content_columns(table)).where(*conditions).order_by(*(table.c[name] for name in order))
    return [kind(**row._mapping) for row in connection.execute(query)]


def load_answers(store: Store, study: str, rater: str | None = None) -> list[StudyAnswer]:
    """Return all answers of a study or of one rater, withdrawn ones included, in the order of their clicks."""
    conditions = [study_answers.c.study == study]
    if rater is not None:
        conditions.append(study_answers.c.rater == rater)
    with store.reading() as connection:
        return load_rows(connection, StudyAnswer, *conditions)


def inclusion(items: Iterable[StudyItem]) -> dict[str, float]:
    """Return drawing -> the probability that the sample includes it; if several items have it, the highest."""
    probabilities: dict[str, float] = {}
    for item in items:
        for drawing in item.drawings:
            probabilities[drawing] = max(item.probability, probabilities.get(drawing, 0.0))
    return probabilities
