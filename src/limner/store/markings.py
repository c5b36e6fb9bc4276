"""Loading and saving of markings, ratings, choices between drawings, metrics of painters, and certificates."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa

from .records import FETCH_ROWS, json_as_text, read_records
from .schema import (
    certificates,
    comparisons,
    content_columns,
    drawings,
    markings,
    metrics,
    ratings,
    read_marks,
    setups,
    study_items,
)
from .store import Store, now, parse_json_column

RARE_FIELDS = ("fault", "detail")
"""Fields of a marking that are mostly None, which is the class's default."""


@dataclass(frozen=True)
class Marking:
    """One judge's work on one drawing: its replies, its marks, or the reason why there are none."""

    id: str
    drawing: str
    question_hash: str
    image: str | None
    setup: str
    repeat: int
    status: str
    rounds: int = 0
    replies: list[list[str]] = field(default_factory=list)
    marks: list[dict[str, Any]] | None = None
    fault: str | None = None
    detail: str | None = None
    cost: float | None = 0.0
    seconds: float | None = None
    origin: str = "run"
    created: float = field(default_factory=now)


class BriefMarking(Marking):
    """A marking with only the fields needed to compute numbers; for the texts see `limner.store.records`."""

    id: str
    drawing: str
    setup: str
    repeat: int
    status: str
    fault: str | None
    detail: str | None
    cost: float | None
    origin: str
    created: float
    question_hash, image = "", None
    replies: ClassVar[list[list[str]]] = []  # type: ignore[misc]  # Replies are never loaded.


def _select_markings(exam: str, *chosen: Any, by: MarksReader | None = None) -> sa.Select[Any]:
    """Return a query of the markings of the exam's current drawings; with `by`, joined with that reader's marks."""
    join: sa.FromClause = markings.join(drawings, drawings.c.id == markings.c.drawing)
    if by is not None:
        join = join_read_marks(join, by)
    # A marking does not apply if the image has been replaced since.
    return (
        sa.select(*chosen)
        .select_from(join)
        .where(
            drawings.c.exam == exam,
            markings.c.image.is_not_distinct_from(drawings.c.image),
            markings.c.question_hash == drawings.c.question_hash,
        )
    )


def load_markings(store: Store, exam: str, setups: Iterable[str] | None = None) -> Iterator[Marking]:
    """Yield the markings of the exam's current drawings, all or those of these setups, oldest first."""
    query = _select_markings(exam, *json_as_text(markings))
    if setups is not None:
        query = query.where(markings.c.setup.in_(sorted(setups)))
    with store.reading() as connection:
        yield from read_records(Marking, connection, query.order_by(markings.c.created, markings.c.id))


def stream_markings(
    store: Store, exam: str, setups: Iterable[str], brief: bool = False, by: MarksReader | None = None
) -> Iterator[list[tuple[Marking, str | None, str | None]]]:
    """Yield the markings of these setups in batches, in database order, each with its marks as text.

    They are not sorted, because that takes as long as reading. Parsed marks take many times the memory of text, so the
    caller parses them with `parse_json_column`. With `brief`, each is a `BriefMarking`. With `by`, each comes with the
    marks of that reader if they are stored, and then without its replies and original marks.
    """
    kind, fields = (BriefMarking, BriefMarking.__annotations__) if brief else (Marking, Marking.__annotations__)
    names = tuple(name for name in fields if name not in ("setup", *RARE_FIELDS, "marks", "replies"))
    shared, put = {id: id for id in setups}, object.__setattr__
    texts = json_as_text(markings, "replies", "marks")
    if by is not None:  # Cached marks replace the original texts, which are the largest part of a marking.
        texts = [sa.case((read_marks.c.marks.is_(None), one)).label(one.name) for one in texts]
    before = sa.null() if by is None else read_marks.c.marks
    query = _select_markings(
        exam, *json_as_text(markings, *names, "setup", *RARE_FIELDS), *texts, before.label("read"), by=by
    )
    with store.reading() as connection:
        rows = connection.execution_options(yield_per=FETCH_ROWS).execute(
            query.where(markings.c.setup.in_(sorted(shared)))
        )
        for partition in rows.partitions():
            batch: list[tuple[Marking, str | None, str | None]] = []
            for row in partition:
                one = object.__new__(kind)
                for name, value in zip(names, row, strict=False):
                    put(one, name, value)
                setup, fault, detail, replies, marks, read = row[-6:]
                put(one, "setup", shared[setup])
                if fault is not None or detail is not None:
                    put(one, "fault", fault)
                    put(one, "detail", detail)
                if replies is not None:
                    put(one, "replies", parse_json_column(replies))
                batch.append((one, None if marks == "null" else marks, read))
            yield batch


def load_outcomes(store: Store, exam: str, setups: Iterable[str]) -> dict[str, Marking]:
    """Return the markings of `load_markings` by id, without replies and marks."""
    left_out: dict[str, Any] = {"replies": [], "marks": None}
    names = [column.name for column in markings.c if column.name not in left_out]
    query = _select_markings(exam, *json_as_text(markings, *names)).where(markings.c.setup.in_(sorted(setups)))
    with store.reading() as connection:
        return {marking.id: marking for marking in read_records(Marking, connection, query, left_out)}


def load_markings_by_id(store: Store, ids: Iterable[str]) -> dict[str, Marking]:
    """Return the stored markings with these ids."""
    return {
        row.id: Marking(**row._mapping) for row in store.rows(sa.select(*content_columns(markings)), markings.c.id, ids)
    }


def marking_setups(store: Store, exam: str) -> set[str]:
    """Return the ids of setups with markings of the exam's drawings."""
    # One marking of each setup is enough; looking at all of them takes as long as reading them.
    marked = _select_markings(exam, sa.literal(1)).where(markings.c.setup == setups.c.id).correlate(setups).exists()
    with store.reading() as connection:
        return set(connection.scalars(sa.select(setups.c.id).where(marked)))


def save_marking(store: Store, marking: Marking) -> Future[None]:
    """Store a marking; the future completes after the commit."""
    return store.save(markings, dict(marking.__dict__))


MIN_MARKINGS_KEPT = 500
"""The minimum number of markings for which read marks are cached; fewer are quickly read again."""


class MarksReader(NamedTuple):
    """A reading of markings, and the identity of the code that reads them."""

    reading: str
    reader: str


class ReadMarks(NamedTuple):
    """The marks read from one marking.

    Attributes:
        made: The time when the marking was made.
        marks: Its marks, serialised by their reader.
    """

    marking: str
    made: float
    marks: str


def join_read_marks(table: sa.FromClause, by: MarksReader) -> sa.FromClause:
    """Join a table with the marks that this reader has read from the current markings."""
    same = (
        (read_marks.c.marking == markings.c.id)
        & (read_marks.c.reading == by.reading)
        & (read_marks.c.reader == by.reader)
        & (read_marks.c.made == markings.c.created)
    )
    return table.outerjoin(read_marks, same)


def save_read_marks(store: Store, by: MarksReader, read: Sequence[ReadMarks]) -> None:
    """Cache read marks in the background; if that fails, they are simply read again later."""
    if store.readonly:
        return
    store.save(read_marks, *({**by._asdict(), **entry._asdict()} for entry in read))


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


def save_ratings(store: Store, rows: Sequence[Rating | PairChoice | PainterMetric]) -> Future[None]:
    """Store ratings, choices and metrics of painters by their ids; the future completes after the commit."""

    def operation(connection: sa.Connection) -> None:
        for kind, table in {Rating: ratings, PairChoice: comparisons, PainterMetric: metrics}.items():
            same = [{"id": row.id, **row.__dict__} for row in rows if isinstance(row, kind)]
            store.upsert(connection, table, *same)

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
