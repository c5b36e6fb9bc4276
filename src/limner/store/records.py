"""Exams, drawings, markings and setups as rows: what the runner writes and the scores read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from sys import intern
from typing import Any, TypeVar

import sqlalchemy as sa

from ..core.errors import StoreError, UsageError
from ..core.exam import Exam, Question
from ..core.images import BadImage
from ..core.spool import PutAside, SpooledQuestions, spooled
from .schema import attempts, calls, drawings, exams, markings, questions, setups
from .store import Store, now

T = TypeVar("T")
AT_ONCE = 500
"""So many rows of many are fetched at a time."""
CONTROL = "control/"
"""What the specs of controls begin with."""
PROMPT_CUT = "prompt_cut"
"""In a drawing's notes: how much of its prompt was ``sent``, and how much of that the painter ``read``.

Counted in characters, or in what ``unit`` names; ``rest`` is what was not read, where that is known.
"""

SHARED = ("exam", "question_id", "question_hash", "painter", "spec", "strategy", "status", "origin")
"""Words of a drawing that many others have too."""
OVERLAP = "overlap"
"""In a drawing's notes: what of an exam the weights were trained on; ``exam``, ``concepts``, ``questions``."""


def cut_words(cut: Mapping[str, Any]) -> str:
    """What is told of one prompt that was read in part.

    >>> cut_words({"sent": 2500, "read": 2100})
    'the painter read 2,100 of 2,500 characters of the prompt'
    """
    said = f"the painter read {cut['read']:,} of {cut['sent']:,} {cut.get('unit', 'characters')} of the prompt"
    return said + (f"; not read: {cut['rest']}" if cut.get("rest") else "")


def label(painter: str, options: Mapping[str, Any]) -> str:
    """A painter's name with its options: one row of a table."""
    words = "&".join(f"{key}={value}" for key, value in sorted(options.items()))
    return f"{painter}?{words}" if words else painter


def row_name(painter: str, strategy: str) -> str:
    """A painter's row in tables: with its strategy, where that is not the direct one.

    >>> row_name("mine", "direct"), row_name("mine", "rewrite")
    ('mine', 'mine + rewrite')
    """
    return painter if strategy == "direct" else f"{painter} + {strategy}"


def short_row_name(name: str) -> str:
    """A row's name where room is scarce: without the providers before its slashes.

    >>> short_row_name("lab/brush?quality=high + best-of-3[chooser=lab/chooser2]")
    'brush?quality=high + best-of-3[chooser=chooser2]'
    >>> short_row_name("control/blank"), short_row_name("folder/./out/mine")
    ('control/blank', 'mine')
    """
    painter, plus, strategy = name.partition(" + ")
    head, mark, options = painter.partition("?")
    if not head.startswith(CONTROL):
        head = head.rstrip("/").rpartition("/")[2] or head
    return f"{head}{mark}{options}{plus}{re.sub(r'=[^][=,&]*/', '=', strategy)}"


@dataclass(frozen=True)
class Drawing:
    """A slot (question, painter, strategy, options, seed) and what stands in it."""

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
        """The painter's name with its options: one row of a table."""
        return label(self.painter, self.options)

    @property
    def rounds(self) -> int:
        """How often its strategy's models were asked anew because their replies could not be read."""
        return int((self.notes or {}).get("rounds", 0))


@dataclass(frozen=True)
class Marking:
    """One judge's work on one drawing: its replies, or its marks, or why there are none."""

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


def add_exam(store: Store, exam: Exam[Any]) -> None:
    """Keep the exam's questions with their reference images; what is there already stays.

    Raises:
        StoreError: The name is taken by an exam of another kind.
    """
    store.blobs.check()
    created = now()

    def row(position: int, question: Question[Any]) -> dict[str, Any]:
        reference = question.reference.sha256 if question.reference else None
        subsets = sorted(name for name, ids in exam.subsets.items() if question.id in ids)
        body = {"body": question.to_json(), "subsets": subsets, "reference": reference, "created": created}
        return {"hash": question.hash, "exam": exam.name, "id": question.id, "position": position, **body}

    def operation(connection: sa.Connection) -> str:
        store.insert_new(connection, exams, {"name": exam.name, "kind": exam.kind, "created": created})
        kept = iter(rows)
        while some := list(islice(kept, AT_ONCE)):
            store.insert_new(connection, questions, *some)
        return str(connection.scalar(sa.select(exams.c.kind).where(exams.c.name == exam.name)))

    # Images first, however long that takes; then all rows in one transaction.
    with PutAside[dict[str, Any]]() as rows:
        for position, question in enumerate(exam.questions):
            _keep_reference(store, question)
            if isinstance(exam.questions, SpooledQuestions):
                exam.questions.remember(position, question)
            rows.add(row(position, question))
        found = store.write(operation)
    if found != exam.kind:
        raise StoreError(f"{store.url} has an exam {exam.name!r} of kind {found}; give this one another name")


def _keep_reference(store: Store, question: Question[Any]) -> None:
    """Put its reference image into the store, and let the question know its hash, for which it was read."""
    reference = question.reference
    if reference is None:
        return
    try:
        if (data := reference.read()) is not None:
            found, _ = store.blobs.put(data)
            if reference.known_sha256 is None:
                reference.__dict__["sha256"] = found
    except (OSError, BadImage) as error:
        raise StoreError(f"{question.id}: {reference.path or reference.name}: {error}") from error


def kind_of(store: Store, exam: str) -> str:
    """The kind of a stored exam.

    Raises:
        StoreError: The store has no such exam; says which it has.
    """
    with store.reading() as connection:
        found: dict[str, str] = {row.name: row.kind for row in connection.execute(sa.select(exams))}
    if exam not in found:
        raise StoreError(f"{store.url} has no exam {exam!r}; it has: {', '.join(sorted(found)) or 'none'}")
    return found[exam]


def _question_rows(store: Store, exam: str) -> Sequence[Any]:
    """All versions of the exam's questions, in their order."""
    query = sa.select(questions).where(questions.c.exam == exam)
    with store.reading() as connection:
        return connection.execute(query.order_by(questions.c.created, questions.c.position)).all()


def load_questions(store: Store, exam: str, rubric: type[Any]) -> dict[str, Question[Any]]:
    """All versions of the exam's questions, by content hash, in their order."""
    rows = _question_rows(store, exam)
    return {row.hash: Question.from_json(row.body, rubric, row.reference) for row in rows}


def load_exam(store: Store, name: str, rubric: type[Any]) -> Exam[Any]:
    """The stored exam with the newest version of each question."""
    kind, subsets, hashes = kind_of(store, name), dict[str, set[str]](), bytearray()
    latest = sa.func.row_number().over(
        partition_by=questions.c.id, order_by=(questions.c.created.desc(), questions.c.position.desc())
    )
    columns = (questions.c.hash, questions.c.id, questions.c.position, questions.c.subsets)
    each = sa.select(*columns, latest.label("latest")).where(questions.c.exam == name).subquery()
    query = sa.select(each).where(each.c.latest == 1).order_by(each.c.position, each.c.id)
    with store.reading() as connection:
        for row in connection.execution_options(yield_per=AT_ONCE).execute(query):
            hashes += bytes.fromhex(row.hash)
            for subset in row.subsets:
                subsets.setdefault(subset, set()).add(row.id)

    def make(raw: bytes) -> Question[Any]:
        body, reference = json.loads(raw)
        return Question.from_json(body, rubric, reference)

    found = spooled(_bodies(store, name, hashes), make)
    return Exam(name, kind, found, {subset: frozenset(ids) for subset, ids in subsets.items()})


def _bodies(store: Store, exam: str, hashes: bytearray) -> Iterator[tuple[str, bytes]]:
    """Of stored questions the id, and body and reference as JSON."""
    # As the text it is: nobody looks into it until its question is asked for.
    body = sa.cast(questions.c.body, sa.Text).label("body")
    query = sa.select(questions.c.hash, questions.c.id, body, questions.c.reference)
    size = AT_ONCE * 32
    for start in range(0, len(hashes), size):
        some = [hashes[at : at + 32].hex() for at in range(start, min(start + size, len(hashes)), 32)]
        rows = {row.hash: row for row in store.rows(query.where(questions.c.exam == exam), questions.c.hash, some)}
        for row in (rows[hash] for hash in some):
            yield row.id, f"[{row.body},{json.dumps(row.reference)}]".encode()


def _made(record: type[T], connection: sa.Connection, query: sa.Select[Any]) -> Iterator[T]:
    """The records behind the rows of a query that selects a whole table, some at a time."""
    rows = connection.execution_options(yield_per=AT_ONCE).execute(query)
    names = tuple(rows.keys())
    for some in rows.partitions():
        for row in some:
            # Every field is given, so that nothing is left for the class to make: many times faster than calling it.
            one = object.__new__(record)
            one.__dict__.update(zip(names, row, strict=True))
            yield one


def load_drawings(store: Store, exam: str, painter: str | None = None, *, brief: bool = False) -> Iterator[Drawing]:
    """The exam's drawings, oldest first; `brief` leaves out prompts and calls, for who keeps many of them."""
    query = sa.select(drawings).where(drawings.c.exam == exam)
    if painter is not None:
        query = query.where(drawings.c.painter == painter)
    with store.reading() as connection:
        found = _made(Drawing, connection, query.order_by(drawings.c.created, drawings.c.id))
        yield from map(_without_words, found) if brief else found


def _without_words(drawing: Drawing) -> Drawing:
    """The drawing without prompt and calls; words that many drawings have are one object."""
    own = drawing.__dict__
    own.update({name: intern(own[name]) for name in SHARED}, prompt_sent=None, calls=[])
    # Objects whose fields are set one by one share the names of these, which takes a third of the room.
    one = object.__new__(Drawing)
    for name, value in own.items():
        object.__setattr__(one, name, value)
    return one


def _of_markings(exam: str, *columns: Any) -> sa.Select[Any]:
    """Of the markings of the exam's drawings as they stand now."""
    join = markings.join(drawings, drawings.c.id == markings.c.drawing)
    # A marking of an image that has since been replaced says nothing about the new one.
    return (
        sa.select(*columns)
        .select_from(join)
        .where(
            drawings.c.exam == exam,
            markings.c.image.is_not_distinct_from(drawings.c.image),
            markings.c.question_hash == drawings.c.question_hash,
        )
    )


def load_markings(
    store: Store, exam: str, setups: Iterable[str] | None = None, *, ordered: bool = True
) -> Iterator[Marking]:
    """The markings of the exam's drawings as they stand now; all, or those under these setups.

    The oldest first, unless the order does not matter: to sort many takes as long as to read them.
    """
    query = _of_markings(exam, markings)
    if setups is not None:
        query = query.where(markings.c.setup.in_(sorted(setups)))
    if ordered:
        query = query.order_by(markings.c.created, markings.c.id)
    with store.reading() as connection:
        yield from _made(Marking, connection, query)


def some_markings(store: Store, exam: str, setups: Iterable[str]) -> Iterator[list[Marking]]:
    """The markings of `load_markings` in an order of the database's own, some at a time."""
    found = load_markings(store, exam, setups, ordered=False)
    while some := list(islice(found, AT_ONCE)):
        yield some


def without_texts(marking: Marking, drawing: Drawing) -> Marking:
    """The marking with no more than its numbers: neither marks nor keys of replies, and its drawing's own words."""
    own = {"drawing": drawing.id, "question_hash": drawing.question_hash, "image": drawing.image}
    marking.__dict__.update(own, setup=intern(marking.setup), marks=None, replies=[])
    return marking


def marking_ids(exam: str, setups: Sequence[str]) -> sa.Select[Any]:
    """A query for the ids of the markings that `load_markings` would load."""
    return _of_markings(exam, markings.c.id).where(markings.c.setup.in_(setups))


def marking_setups(store: Store, exam: str) -> set[str]:
    """The ids of the setups under which drawings of the exam are marked."""
    # One marking of each is enough; to look at all of them takes as long as to read them.
    marked = _of_markings(exam, sa.literal(1)).where(markings.c.setup == setups.c.id).correlate(setups).exists()
    with store.reading() as connection:
        return set(connection.scalars(sa.select(setups.c.id).where(marked)))


def load_setups(store: Store) -> dict[str, dict[str, Any]]:
    """Every way a judge was asked, by id."""
    with store.reading() as connection:
        return {row.id: row.body for row in connection.execute(sa.select(setups))}


def models_used(store: Store) -> set[str]:
    """The names of all models that were ever called."""
    with store.reading() as connection:
        return set(connection.scalars(sa.select(calls.c.target).distinct()))


def load_replies(store: Store, keys: Iterable[str]) -> dict[str, str]:
    """The accepted reply texts of the given calls."""
    return {key: result.get("text", "") for key, result in load_results(store, keys).items()}


def load_results(store: Store, keys: Iterable[str]) -> dict[str, dict[str, Any]]:
    """The accepted results of the given calls."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    query = sa.select(calls.c.key, attempts.c.result).select_from(accepted)
    return {row.key: dict(row.result) for row in store.rows(query, calls.c.key, keys)}


def save_drawing(store: Store, drawing: Drawing) -> Future[None]:
    """Put a drawing into its slot; the future ends with the commit."""
    row = dict(drawing.__dict__)
    return store.submit(lambda connection: store.upsert(connection, drawings, row))


def save_marking(store: Store, marking: Marking) -> Future[None]:
    """Keep a marking; the future ends with the commit."""
    row = dict(marking.__dict__)
    return store.submit(lambda connection: store.upsert(connection, markings, row))


def evaluator_kinds(store: Store) -> dict[str, str]:
    """Setup -> what sort of evaluator it is: ``judge``, ``person``, ``metric`` or ``panel``."""
    with store.reading() as connection:
        return {row.id: row.kind for row in connection.execute(sa.select(setups.c.id, setups.c.kind))}


def save_setup(store: Store, id: str, body: dict[str, Any], kind: str = "judge") -> None:
    """Keep how a judge is asked, or who else an evaluator is."""
    row = {"id": id, "judge": body["judge"], "body": body, "created": now(), "kind": kind}
    store.write(lambda connection: store.insert_new(connection, setups, row))


def known_painters(store: Store, exam: str, names: Sequence[str]) -> frozenset[str]:
    """The same names, each checked to be a painter's with drawings of the exam.

    Raises:
        UsageError: One has none; says who has.
    """
    if not names:
        return frozenset()
    known = {name for drawing in load_drawings(store, exam) for name in (drawing.painter, drawing.label)}
    if unknown := sorted(set(names) - known):
        there = ", ".join(sorted(known)) or "none"
        raise UsageError(f"{store.url} has no drawing of {exam} by {unknown[0]!r}; there is: {there}")
    return frozenset(names)
