"""What evaluators say besides criteria, as rows: ratings of drawings, choices between two, numbers of painters."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from .schema import certificates, comparisons, drawings, metrics, ratings, study_items
from .store import Store, now


@dataclass(frozen=True)
class Rating:
    """One number of one evaluator about one drawing; `value` is None where it was skipped, with the reason.

    Attributes:
        setup: The evaluator: a person, a metric, or a judge asked for a number.
        scale: What was rated, such as ``overall``, ``clarity`` or ``rank``.
        repeat: 0, or which time the same was asked again.
    """

    drawing: str
    setup: str
    scale: str
    value: float | None
    study: str | None = None
    repeat: int = 0
    reason: str | None = None
    seconds: float | None = None
    created: float = field(default_factory=now)

    @property
    def id(self) -> str:
        """One place for each evaluator, drawing, scale and repeat in a study."""
        return _id(self.study, self.setup, self.drawing, self.scale, self.repeat)


@dataclass(frozen=True)
class PairChoice:
    """One evaluator's choice between two drawings of one question.

    Attributes:
        scale: What was asked, such as ``logic`` or ``looks``.
        first: A drawing.
        second: Another of the same question.
        choice: ``first``, ``second`` or ``tie``; None where it was skipped, with the reason.
        shown_first: ``first`` or ``second``; None where nobody knows.
    """

    exam: str
    question_id: str
    first: str
    second: str
    setup: str
    scale: str
    choice: str | None
    shown_first: str | None = None
    study: str | None = None
    repeat: int = 0
    reason: str | None = None
    seconds: float | None = None
    created: float = field(default_factory=now)

    @property
    def id(self) -> str:
        """One place for each evaluator, pair, question and repeat in a study, whichever drawing is named first."""
        one, other = sorted((self.first, self.second))
        return _id(self.study, self.setup, one, other, self.scale, self.repeat)


@dataclass(frozen=True)
class PainterMetric:
    """One number of one metric about a painter's drawings together.

    Attributes:
        strategy: None where all of the painter's drawings are meant.
        n: Over how many drawings; None where nobody said.
        body: What it was computed with, such as the reference set.
    """

    exam: str
    painter: str
    setup: str
    value: float
    strategy: str | None = None
    seed: int | None = None
    n: int | None = None
    body: dict[str, Any] = field(default_factory=dict)
    created: float = field(default_factory=now)

    @property
    def id(self) -> str:
        """One place for each metric and painter."""
        return _id(self.setup, self.exam, self.painter, self.strategy, self.seed)


def _id(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def save_ratings(store: Store, rows: Sequence[Rating]) -> Future[None]:
    """Keep ratings, each in its place; the future ends with the commit."""
    return _save(store, ratings, rows)


def save_comparisons(store: Store, rows: Sequence[PairChoice]) -> Future[None]:
    """Keep choices, each in its place; the future ends with the commit."""
    return _save(store, comparisons, rows)


def save_painter_metrics(store: Store, rows: Sequence[PainterMetric]) -> Future[None]:
    """Keep numbers of painters, each in its place; the future ends with the commit."""
    return _save(store, metrics, rows)


def _save(store: Store, table: sa.Table, rows: Sequence[Rating | PairChoice | PainterMetric]) -> Future[None]:
    found = [{"id": row.id, **row.__dict__} for row in rows]

    def operation(connection: sa.Connection) -> None:
        for row in found:
            store.upsert(connection, table, row)

    return store.submit(operation)


def load_ratings(store: Store, exam: str, study: str | None = None) -> Iterator[Rating]:
    """Yield the ratings of the exam's drawings, oldest first; all, or those of one study."""
    query = sa.select(ratings).join(drawings, drawings.c.id == ratings.c.drawing).where(drawings.c.exam == exam)
    yield from (Rating(**row) for row in _rows(store, ratings, query, study))


def rating_setups(store: Store, exam: str) -> set[str]:
    """The ids of the setups under which drawings of the exam, or its painters, have ratings, choices or numbers."""
    joined = ratings.join(drawings, drawings.c.id == ratings.c.drawing)
    queries = [
        sa.select(ratings.c.setup).select_from(joined).where(drawings.c.exam == exam),
        sa.select(comparisons.c.setup).where(comparisons.c.exam == exam),
        sa.select(metrics.c.setup).where(metrics.c.exam == exam),
    ]
    with store.reading() as connection:
        return {setup for query in queries for setup in connection.scalars(query.distinct())}


def load_inclusion(store: Store, study: str) -> dict[str, float]:
    """Drawing -> the probability with which the study's sample takes it; empty where there is no such study."""
    found: dict[str, float] = {}
    for together, probability in _chances(store, study):
        for drawing in together:
            found.setdefault(drawing, probability)
    return found


def load_comparisons(store: Store, exam: str, study: str | None = None) -> Iterator[PairChoice]:
    """Yield the choices between drawings of the exam, oldest first; all, or those of one study."""
    query = sa.select(comparisons).where(comparisons.c.exam == exam)
    yield from (PairChoice(**row) for row in _rows(store, comparisons, query, study))


def load_painter_metrics(store: Store, exam: str) -> Iterator[PainterMetric]:
    """Yield the numbers of painters in the exam, oldest first."""
    query = sa.select(metrics).where(metrics.c.exam == exam)
    yield from (PainterMetric(**row) for row in _rows(store, metrics, query, None))


def _rows(store: Store, table: sa.Table, query: sa.Select[Any], study: str | None) -> Iterable[dict[str, Any]]:
    if study is not None:
        query = query.where(table.c.study == study)
    with store.reading() as connection:
        for row in connection.execute(query.order_by(table.c.created, table.c.id)):
            yield {name: value for name, value in row._mapping.items() if name != "id"}


def inclusion_weights(store: Store, study: str) -> dict[frozenset[str], float]:
    """Return the drawings shown together as one item of a study -> one over the probability that they were chosen."""
    return {frozenset(together): 1 / probability for together, probability in _chances(store, study) if probability}


def _chances(store: Store, study: str) -> list[tuple[list[str], float]]:
    """The items of a study in their order: the drawings shown together, and the probability that they were chosen."""
    query = sa.select(study_items).where(study_items.c.study == study).order_by(study_items.c.n)
    with store.reading() as connection:
        return [(row.drawings, float(row.probability)) for row in connection.execute(query)]


CERTIFICATE, DRIFT = "certificate", "drift"
HOW = ("kind", "seed", "selected", "every_dose", "session", "predecessor")
"""What of a body tells one row of an evaluator from another."""


@dataclass(frozen=True)
class CertificateRow:
    """A stored certificate, or a stored answer to whether the judge has moved since."""

    id: str
    setup: str
    exam: str
    body: dict[str, Any]
    created: float

    @property
    def day(self) -> str:
        """The day it was made, in universal time."""
        return datetime.fromtimestamp(self.created, UTC).date().isoformat()


def save_certificate(store: Store, setup: str, exam: str, body: Mapping[str, Any]) -> CertificateRow:
    """Keep a certificate; one that says the same as the one that is there keeps its date."""
    words = json.dumps([setup, exam, {name: body.get(name) for name in HOW}], sort_keys=True)
    id = hashlib.sha256(words.encode()).hexdigest()
    there = next((row for row in load_certificates(store, exam) if row.id == id), None)
    if there is not None and there.body == dict(body):
        return there
    made = CertificateRow(id, setup, exam, dict(body), now())
    store.write(lambda connection: store.upsert(connection, certificates, dict(vars(made))))
    return made


def load_certificates(store: Store, exam: str) -> list[CertificateRow]:
    """All of an exam, the oldest first."""
    query = sa.select(certificates).where(certificates.c.exam == exam)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(certificates.c.created, certificates.c.id)).all()
    return [CertificateRow(row.id, row.setup, row.exam, dict(row.body), row.created) for row in rows]


def newest_certificates(store: Store, exam: str) -> dict[str, CertificateRow]:
    """By evaluator, its newest certificate."""
    return {row.setup: row for row in load_certificates(store, exam) if row.body.get("kind") == CERTIFICATE}


def sessions(store: Store, exam: str, setup: str) -> int:
    """How often an evaluator was asked again."""
    return sum(row.setup == setup and row.body.get("kind") == DRIFT for row in load_certificates(store, exam))
