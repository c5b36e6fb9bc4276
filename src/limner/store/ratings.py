"""Loading and saving of ratings, choices between drawings, metrics of painters, and certificates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from .schema import certificates, comparisons, content_columns, drawings, metrics, ratings, study_items
from .store import Store, now


@dataclass(frozen=True)
class Rating:
    """One evaluator's number for one drawing; `value` is None, with a reason, if it was skipped.

    Attributes:
        setup: The evaluator: a person, a metric, or a judge asked for a number.
        scale: The aspect that was rated, such as ``overall``, ``clarity`` or ``rank``.
        repeat: 0, or the number of the repetition.
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
        """A hash of study, evaluator, drawing, scale and repetition."""
        return _id(self.study, self.setup, self.drawing, self.scale, self.repeat)


@dataclass(frozen=True)
class PairChoice:
    """One evaluator's choice between two drawings of one question.

    Attributes:
        scale: The aspect that was compared, such as ``logic`` or ``looks``.
        first: The id of a drawing.
        second: The id of another drawing of the same question.
        choice: ``first``, ``second`` or ``tie``; None, with a reason, if it was skipped.
        shown_first: The drawing that was shown first: ``first`` or ``second``; None if unknown.
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
        """A hash of study, evaluator, pair, scale and repetition, independent of the pair's order."""
        first, second = sorted((self.first, self.second))
        return _id(self.study, self.setup, first, second, self.scale, self.repeat)


@dataclass(frozen=True)
class PainterMetric:
    """The value of one metric for all drawings of a painter.

    Attributes:
        strategy: The strategy of the drawings; None for all.
        n: The number of drawings; None if unknown.
        body: How it was computed, such as the reference set.
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
        """A hash of metric, exam, painter, strategy and seed."""
        return _id(self.setup, self.exam, self.painter, self.strategy, self.seed)


def _id(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def save_ratings(store: Store, rows: Sequence[Rating]) -> Future[None]:
    """Store ratings by their ids; the future completes after the commit."""
    return _save(store, ratings, rows)


def save_comparisons(store: Store, rows: Sequence[PairChoice]) -> Future[None]:
    """Store choices by their ids; the future completes after the commit."""
    return _save(store, comparisons, rows)


def save_painter_metrics(store: Store, rows: Sequence[PainterMetric]) -> Future[None]:
    """Store metrics of painters by their ids; the future completes after the commit."""
    return _save(store, metrics, rows)


def _save(store: Store, table: sa.Table, rows: Sequence[Rating | PairChoice | PainterMetric]) -> Future[None]:
    bodies = [{"id": row.id, **row.__dict__} for row in rows]

    def operation(connection: sa.Connection) -> None:
        for row in bodies:
            store.upsert(connection, table, row)

    return store.submit(operation)


def load_ratings(store: Store, exam: str, study: str | None = None) -> Iterator[Rating]:
    """Yield the ratings of the exam's drawings, all or those of one study, oldest first."""
    joined = ratings.join(drawings, drawings.c.id == ratings.c.drawing)
    query = sa.select(*content_columns(ratings)).select_from(joined).where(drawings.c.exam == exam)
    yield from (Rating(**row) for row in _rows(store, ratings, query, study))


def rating_setups(store: Store, exam: str) -> set[str]:
    """Return the ids of setups that have ratings, choices or metrics in the exam."""
    joined = ratings.join(drawings, drawings.c.id == ratings.c.drawing)
    queries = [
        sa.select(ratings.c.setup).select_from(joined).where(drawings.c.exam == exam),
        sa.select(comparisons.c.setup).where(comparisons.c.exam == exam),
        sa.select(metrics.c.setup).where(metrics.c.exam == exam),
    ]
    with store.reading() as connection:
        return {setup for query in queries for setup in connection.scalars(query.distinct())}


def load_inclusion_probabilities(store: Store, study: str) -> dict[str, float]:
    """Return drawing -> the probability of its being in the study's sample; empty if there is no such study."""
    probabilities: dict[str, float] = {}
    for together, probability in _item_probabilities(store, study):
        for drawing in together:
            probabilities.setdefault(drawing, probability)
    return probabilities


def load_comparisons(store: Store, exam: str, study: str | None = None) -> Iterator[PairChoice]:
    """Yield the choices between the exam's drawings, all or those of one study, oldest first."""
    query = sa.select(*content_columns(comparisons)).where(comparisons.c.exam == exam)
    yield from (PairChoice(**row) for row in _rows(store, comparisons, query, study))


def load_painter_metrics(store: Store, exam: str) -> Iterator[PainterMetric]:
    """Yield the metrics of painters in the exam, oldest first."""
    query = sa.select(*content_columns(metrics)).where(metrics.c.exam == exam)
    yield from (PainterMetric(**row) for row in _rows(store, metrics, query, None))


def _rows(store: Store, table: sa.Table, query: sa.Select[Any], study: str | None) -> Iterable[dict[str, Any]]:
    if study is not None:
        query = query.where(table.c.study == study)
    with store.reading() as connection:
        for row in connection.execute(query.order_by(table.c.created, table.c.id)):
            yield {name: value for name, value in row._mapping.items() if name != "id"}


def inclusion_weights(store: Store, study: str) -> dict[frozenset[str], float]:
    """Return drawings shown together in a study -> the inverse of the probability of their being sampled."""
    return {
        frozenset(together): 1 / probability
        for together, probability in _item_probabilities(store, study)
        if probability
    }


def _item_probabilities(store: Store, study: str) -> list[tuple[list[str], float]]:
    """Return the study's items in order: drawings shown together, and the probability of sampling them."""
    query = sa.select(study_items).where(study_items.c.study == study).order_by(study_items.c.n)
    with store.reading() as connection:
        return [(row.drawings, float(row.probability)) for row in connection.execute(query)]


CERTIFICATE, DRIFT = "certificate", "drift"
IDENTIFYING_FIELDS = ("kind", "seed", "selected", "quick", "session", "predecessor")
"""Fields of a certificate's body that distinguish the rows of one evaluator."""


@dataclass(frozen=True)
class CertificateRow:
    """A stored certificate, or a later check of whether the judge has drifted."""

    id: str
    setup: str
    exam: str
    body: dict[str, Any]
    created: float

    @property
    def day(self) -> str:
        """The date on which it was made, in UTC."""
        return datetime.fromtimestamp(self.created, UTC).date().isoformat()

    @property
    def words(self) -> str:
        """The date and the result, such as ``2026-11-18: clear``."""
        return f"{self.day}: {self.body['verdict']}"


def save_certificate(store: Store, setup: str, exam: str, body: Mapping[str, Any]) -> CertificateRow:
    """Store and return a certificate; an identical stored one is returned with its date unchanged."""
    words = json.dumps([setup, exam, {name: body.get(name) for name in IDENTIFYING_FIELDS}], sort_keys=True)
    id = hashlib.sha256(words.encode()).hexdigest()
    stored = next((row for row in load_certificates(store, exam) if row.id == id), None)
    if stored is not None and stored.body == dict(body):
        return stored
    made = CertificateRow(id, setup, exam, dict(body), now())
    store.write(lambda connection: store.upsert(connection, certificates, dict(vars(made))))
    return made


def load_certificates(store: Store, exam: str) -> list[CertificateRow]:
    """Return all certificates of an exam, oldest first."""
    query = sa.select(certificates).where(certificates.c.exam == exam)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(certificates.c.created, certificates.c.id)).all()
    return [CertificateRow(row.id, row.setup, row.exam, dict(row.body), row.created) for row in rows]


def newest_certificates(store: Store, exam: str) -> dict[str, CertificateRow]:
    """Return the newest certificate of each evaluator, by setup id."""
    return {row.setup: row for row in load_certificates(store, exam) if row.body.get("kind") == CERTIFICATE}


def count_drift_sessions(store: Store, exam: str, setup: str) -> int:
    """Return the number of an evaluator's drift sessions."""
    return sum(row.setup == setup and row.body.get("kind") == DRIFT for row in load_certificates(store, exam))
