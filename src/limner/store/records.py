"""Loading and saving of exams, drawings, setups, replies and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from sys import intern
from typing import Any, NamedTuple, TypeVar

import sqlalchemy as sa

from ..core.errors import StoreError, UsageError
from ..core.evaluator import label
from ..core.exam import Exam, Question, Reference, know_exam
from ..core.images import BadImage
from .schema import attempts, calls, content_columns, drawings, evidence, exams, markings, questions, setups
from .store import Store, now, parse_json_column

PROMPT_CUT = "prompt_cut"
"""The key, in a drawing's notes, of the lengths of the prompt as ``sent`` and as ``read`` by the painter.

They are counted in characters, or in ``unit``; ``rest`` is the text that was not read, if known.
"""
PROMPT_REWRITTEN = "prompt_rewritten"
"""The key, in a drawing's notes, of whether the service rewrote the prompt without being asked.

The drawing's ``prompt_sent`` is then the rewritten prompt, if the service returned it.
"""
OVERLAP = "overlap"
"""The key, in a drawing's notes, of the part of an exam seen in training: ``exam``, ``concepts``, ``questions``."""


def describe_cut_prompt(cut: Mapping[str, Any]) -> str:
    """Return a description of a prompt that was read only in part.

    >>> describe_cut_prompt({"sent": 2500, "read": 2100})
    'the painter read 2,100 of 2,500 characters of the prompt'
    """
    text = f"the painter read {cut['read']:,} of {cut['sent']:,} {cut.get('unit', 'characters')} of the prompt"
    return text + (f"; not read: {cut['rest']}" if cut.get("rest") else "")


@dataclass(frozen=True)
class Drawing:
    """A slot, identified by question, painter, strategy, options and seed, with its current contents."""

    id: str
    exam: str
    question_id: str
    question_hash: str
    painter: str
    spec: str
    strategy: str
    seed: int
    status: str
    options: dict[str, Any] = field(default_factory=dict)
    image: str | None = None
    width: int | None = None
    height: int | None = None
    prompt_sent: str | None = None
    notes: dict[str, Any] | None = None
    fault: str | None = None
    detail: str | None = None
    calls: list[str] = field(default_factory=list)
    cost: float | None = 0.0
    origin: str = "run"
    created: float = field(default_factory=now)

    @property
    def label(self) -> str:
        """The painter's name with its options, as shown in tables."""
        return label(self.painter, self.options)

    @property
    def rounds(self) -> int:
        """The number of times that the strategy's models were asked again because of unreadable replies."""
        return int((self.notes or {}).get("rounds", 0))


def add_exam(store: Store, exam: Exam[Any]) -> None:
    """Store the exam's questions with their pictures; existing ones are kept.

    Raises:
        StoreError: The store has an exam of the same name but another kind.
    """
    store.blobs.check()
    created, subsets = now(), sorted(exam.subsets.items())

    def row(position: int, question: Question[Any]) -> dict[str, Any]:
        return {
            "hash": question.hash,
            "exam": exam.name,
            "id": question.id,
            "position": position,
            "body": question.to_json(),
            "reference": question.reference.sha256 if question.reference else None,
            "subsets": [name for name, ids in subsets if question.id in ids],
            "created": created,
        }

    def operation(connection: sa.Connection) -> str:
        own = {"name": exam.name, "kind": exam.kind, "files": exam.files, "created": created}
        store.insert_new(connection, exams, own)
        if exam.files is not None:
            connection.execute(sa.update(exams).where(exams.c.name == exam.name).values(files=exam.files))
        for start in range(0, len(exam.questions), FETCH_ROWS):
            some = exam.questions[start : start + FETCH_ROWS]
            store.insert_new(connection, questions, *(row(n, question) for n, question in enumerate(some, start)))
        return str(connection.scalar(sa.select(exams.c.kind).where(exams.c.name == exam.name)))

    # Images come first, because they may take long; then all rows are written in one transaction.
    store_pictures(store, exam.questions)
    kind = store.write(operation)
    if kind != exam.kind:
        raise StoreError(f"{store.url} has an exam {exam.name!r} of kind {kind}; give this one another name")


def kind_of(store: Store, exam: str) -> str:
    """Return the kind of a stored exam.

    Raises:
        StoreError: The store has no such exam; the message lists those it has.
    """
    with store.reading() as connection:
        stored = {row.name: row for row in connection.execute(sa.select(exams))}
    if exam not in stored:
        raise StoreError(f"{store.url} has no exam {exam!r}; it has: {', '.join(sorted(stored)) or 'none'}")
    know_exam(stored[exam].kind, stored[exam].files)
    return str(stored[exam].kind)


def _question_rows(store: Store, exam: str) -> Iterator[Any]:
    """Yield all versions of the exam's questions, oldest first."""
    query = sa.select(questions).where(questions.c.exam == exam).order_by(questions.c.created, questions.c.position)
    with store.reading() as connection:
        yield from connection.execution_options(yield_per=FETCH_ROWS).execute(query)


def _question(row: Any, rubric: type[Any]) -> Question[Any]:
    question = Question.from_json(row.body, rubric, row.reference)
    question.know_hash(row.hash)
    return question


def load_questions(store: Store, exam: str, rubric: type[Any]) -> dict[str, Question[Any]]:
    """Return all versions of the exam's questions by content hash, in order."""
    return {row.hash: _question(row, rubric) for row in _question_rows(store, exam)}


def load_exam(store: Store, name: str, rubric: type[Any]) -> Exam[Any]:
    """Return the stored exam with the newest version of each question."""
    kind, subsets = kind_of(store, name), dict[str, set[str]]()
    newest = {row.id: row for row in _question_rows(store, name)}
    rows = sorted(newest.values(), key=lambda row: (row.position, row.id))
    for row in rows:
        for subset in row.subsets:
            subsets.setdefault(subset, set()).add(row.id)
    loaded = tuple(_question(row, rubric) for row in rows)
    return Exam(name, kind, loaded, {subset: frozenset(ids) for subset, ids in subsets.items()})


def load_drawings(
    store: Store, exam: str, painter: str | None = None, *, ordered: bool = True, brief: bool = False
) -> Iterator[Drawing]:
    """Yield the exam's drawings, oldest first.

    Sorting takes as long as reading, so `ordered=False` skips it. With `brief`, prompts and calls are omitted to save
    memory.
    """
    left_out: dict[str, Any] = {"prompt_sent": None, "calls": []} if brief else {}
    names = [column.name for column in content_columns(drawings) if column.name not in left_out]
    query = sa.select(*json_as_text(drawings, *names)).where(drawings.c.exam == exam)
    if painter is not None:
        query = query.where(drawings.c.painter == painter)
    if ordered:
        query = query.order_by(drawings.c.created, drawings.c.id)
    with store.reading() as connection:
        yield from read_records(Drawing, connection, query, left_out)


def drawing_places(store: Store, exam: str) -> list[tuple[str, str, str]]:
    """Return the id, question hash and painter of each of the exam's drawings, oldest first."""
    query = sa.select(drawings.c.id, drawings.c.question_hash, drawings.c.painter).where(drawings.c.exam == exam)
    with store.reading() as connection:
        rows = connection.execute(query.order_by(drawings.c.created, drawings.c.id))
        return [(row.id, row.question_hash, row.painter) for row in rows]


def load_drawings_by_id(store: Store, ids: Iterable[str]) -> dict[str, Drawing]:
    """Return the stored drawings with these ids."""
    return {
        row.id: Drawing(**row._mapping) for row in store.rows(sa.select(*content_columns(drawings)), drawings.c.id, ids)
    }


def load_setups(store: Store) -> dict[str, dict[str, Any]]:
    """Return the bodies of all setups by id."""
    with store.reading() as connection:
        return {row.id: row.body for row in connection.execute(sa.select(setups))}


def models_used(store: Store) -> set[str]:
    """Return the names of all models that were called."""
    with store.reading() as connection:
        return set(connection.scalars(sa.select(calls.c.target).distinct()))


def load_replies(store: Store, keys: Iterable[str]) -> dict[str, str]:
    """Return the accepted reply text of each of these calls, by key."""
    return {key: result.get("text", "") for key, result in load_results(store, keys).items()}


def load_results(store: Store, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the accepted result of each of these calls, by key."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    query = sa.select(calls.c.key, attempts.c.result).select_from(accepted)
    return {row.key: dict(row.result) for row in store.rows(query, calls.c.key, keys)}


def save_drawing(store: Store, drawing: Drawing) -> Future[None]:
    """Store a drawing in its slot; the future completes after the commit."""
    return store.save(drawings, dict(drawing.__dict__))


def evaluator_kinds(store: Store) -> dict[str, str]:
    """Return setup id -> kind of evaluator: ``judge``, ``person``, ``metric`` or ``panel``."""
    with store.reading() as connection:
        return {row.id: row.kind for row in connection.execute(sa.select(setups.c.id, setups.c.kind))}


def save_setup(store: Store, id: str, body: dict[str, Any], kind: str = "judge") -> None:
    """Store the setup of a judge or another evaluator."""
    row = {"id": id, "judge": body["judge"], "body": body, "created": now(), "kind": kind}
    store.write(lambda connection: store.insert_new(connection, setups, row))


def painters_by_spec(store: Store, exam: str, specs: Sequence[str]) -> frozenset[str]:
    """Return the names of painters with these specs that have drawings of the exam."""
    query = sa.select(drawings.c.painter).distinct().where(drawings.c.exam == exam, drawings.c.spec.in_(specs))
    with store.reading() as connection:
        return frozenset(connection.scalars(query))


def known_painters(store: Store, exam: str, names: Sequence[str]) -> frozenset[str]:
    """Return these names after checking that each painter has drawings of the exam.

    Raises:
        UsageError: A painter has none; the message lists those that have some.
    """
    if not names:
        return frozenset()
    painters = {name for drawing in load_drawings(store, exam) for name in (drawing.painter, drawing.label)}
    if unknown := sorted(set(names) - painters):
        listed = ", ".join(sorted(painters)) or "none"
        raise UsageError(f"{store.url} has no drawing of {exam} by {unknown[0]!r}; it has: {listed}")
    return frozenset(names)


def store_pictures(store: Store, questions: Iterable[Question[Any]]) -> None:
    """Store the questions' input pictures and reference images, each file once, and set their hashes.

    Raises:
        StoreError: A picture cannot be read or stored, or is not an image; the message names the question.
    """
    stored: dict[Path, str | None] = {}
    for question in questions:
        for picture in question.pictures:
            shared = picture.path if picture.load is None else None
            try:
                sha256 = stored[shared] if shared in stored else _store_picture(store, picture)
            except (OSError, BadImage) as error:
                raise StoreError(f"{question.id}: {picture.path or picture.name}: {error}") from error
            if shared is not None:
                stored[shared] = sha256
            if sha256 is not None and picture.known_sha256 is None:
                picture.__dict__["sha256"] = sha256


def _store_picture(store: Store, picture: Reference) -> str | None:
    data = picture.read()
    return None if data is None else store.blobs.put(data)[0]


T = TypeVar("T")
FETCH_ROWS = 500
"""The number of rows fetched at a time."""
JSON_FIELDS = frozenset(one.name for table in (drawings, markings) for one in table.c if isinstance(one.type, sa.JSON))
"""Fields of drawings and markings that are stored as JSON."""
SHARED_FIELDS = ("exam", "question_id", "question_hash", "painter", "spec", "strategy", "status", "origin")
"""Fields of a drawing whose values many drawings share."""


def json_as_text(table: sa.Table, *names: str) -> list[sa.ColumnElement[Any]]:
    """Return the named columns of a table, by default all, with JSON as text for `parse_json_column`."""
    chosen = [table.c[name] for name in names] if names else content_columns(table)
    return [sa.cast(c, sa.Text).label(c.name) if isinstance(c.type, sa.JSON) else c for c in chosen]


def read_records(
    record: type[T], connection: sa.Connection, query: sa.Select[Any], rest: Mapping[str, Any] | None = None
) -> Iterator[T]:
    """Yield the records of a query that selects `json_as_text`; `rest` has the values of omitted fields."""
    rows = connection.execution_options(yield_per=FETCH_ROWS).execute(query)
    names, always = tuple(rows.keys()), (rest or {}).items()
    conversions = [
        parse_json_column if name in JSON_FIELDS else intern if name in SHARED_FIELDS else None for name in names
    ]
    # Setting the fields without calling the class is far faster, and records share their key tables.
    put = object.__setattr__
    for partition in rows.partitions():
        for row in partition:
            instance = object.__new__(record)
            for name, convert, value in zip(names, conversions, row, strict=True):
                put(instance, name, value if convert is None or value is None else convert(value))
            for name, value in always:
                put(instance, name, value)
            yield instance


class MarkingTexts(NamedTuple):
    """The texts of a marking: its marks with reasons, or the keys of the replies behind them."""

    id: str
    created: float
    replies: list[list[str]]
    marks: list[dict[str, Any]] | None


def marking_texts(store: Store, ids: Iterable[str]) -> Iterator[MarkingTexts]:
    """Yield the texts of these markings, in no particular order; missing ones are skipped."""
    fields = (markings.c[name] for name in MarkingTexts._fields)
    for row in store.rows(sa.select(*fields), markings.c.id, ids):
        yield MarkingTexts(*row)


def load_drawings_in_order(store: Store, ids: Iterable[str]) -> list[Drawing]:
    """Return these drawings, oldest first; missing ones are skipped."""
    return sorted(load_drawings_by_id(store, ids).values(), key=lambda drawing: (drawing.created, drawing.id))


def evidence_row(subject: str, name: str, backend: str, value: Any) -> dict[str, Any]:
    """Return a row of the evidence table; `subject` is an image's hash or a drawing's id."""
    return {"subject": subject, "name": name, "backend": backend, "value": value, "created": now()}


@dataclass(frozen=True)
class Measurement:
    """One measured value; `subject` is the hash of an image or the id of a drawing."""

    subject: str
    name: str
    backend: str
    value: Any
    created: float


def load_evidence(store: Store, subjects: Iterable[str], skip: Iterable[str] = ()) -> list[Measurement]:
    """Return all measurements of these subjects, by any backend, except evidence named in `skip`."""
    query = sa.select(*content_columns(evidence)).where(evidence.c.name.not_in(sorted(skip)))
    return [Measurement(**row._mapping) for row in store.rows(query, evidence.c.subject, subjects)]


def known_evidence(store: Store, names: Iterable[str]) -> dict[tuple[str, str], set[str]]:
    """Return the subjects that have evidence of these names, by name and backend."""
    if not (wanted := sorted(set(names))):
        return {}
    query = sa.select(evidence.c.subject, evidence.c.name, evidence.c.backend)
    subjects: dict[tuple[str, str], set[str]] = {}
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=500).execute(query.where(evidence.c.name.in_(wanted))):
            subjects.setdefault((row.name, row.backend), set()).add(row.subject)
    return subjects


def save_evidence(store: Store, subject: str, name: str, backend: str, value: Any) -> Future[None]:
    """Store a measured value; the future completes after the commit."""
    return store.save(evidence, evidence_row(subject, name, backend, value))
