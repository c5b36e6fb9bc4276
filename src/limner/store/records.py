"""Exams, drawings, setups and replies as rows: what the runner writes and the scores read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from ..core.errors import StoreError, UsageError
from ..core.exam import Exam, Question
from ..core.row_names import label
from ..core.spool import RawQuestion, SpooledQuestions, spooled
from .readings import is_kept, reading_of
from .references import keep_references
from .rows import AT_ONCE, columns, made
from .schema import attempts, calls, drawings, exams, meta, questions, setups
from .store import JsonText, Store, now

PROMPT_CUT = "prompt_cut"
"""In a drawing's notes: how much of its prompt was ``sent``, and how much of that the painter ``read``.

Counted in characters, or in what ``unit`` names; ``rest`` is what was not read, where that is known.
"""

PROMPT_REWRITTEN = "prompt_rewritten"
"""In a drawing's notes, as true: its service rewrote the prompt although nobody asked for that; ``prompt_sent`` has
what was drawn, where the service tells."""

OVERLAP = "overlap"
"""In a drawing's notes: what of an exam the weights were trained on; ``exam``, ``concepts``, ``questions``."""


def cut_words(cut: Mapping[str, Any]) -> str:
    """What is told of one prompt that was read in part.

    >>> cut_words({"sent": 2500, "read": 2100})
    'the painter read 2,100 of 2,500 characters of the prompt'
    """
    said = f"the painter read {cut['read']:,} of {cut['sent']:,} {cut.get('unit', 'characters')} of the prompt"
    return said + (f"; not read: {cut['rest']}" if cut.get("rest") else "")


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


def add_exam(store: Store, exam: Exam[Any], chosen: Exam[Any] | None = None) -> None:
    """Keep the exam's questions with their reference images; what is there already stays.

    Where the data was found to be as it was stored, only the images of the `chosen` questions are looked after.

    Raises:
        StoreError: The name is taken by an exam of another kind.
    """
    store.blobs.check()
    if is_kept(store, exam):
        keep_references(store, (chosen or exam).questions)
        return
    created, asked, subsets = now(), exam.questions, sorted(exam.subsets.items())

    def row(position: int) -> dict[str, Any]:
        # Of many questions none is made: their hashes are known by now, and the rest is stored as it is.
        if isinstance(asked, SpooledQuestions):
            raw, (hash, reference) = asked.raw(position), asked.hashes(position)
            told: dict[str, Any] = {"hash": hash, "id": raw.id, "body": JsonText(raw.body), "reference": reference}
        else:
            one = asked[position]
            reference = one.reference.sha256 if one.reference else None
            told = {"hash": one.hash, "id": one.id, "body": one.to_json(), "reference": reference}
        inside = [name for name, ids in subsets if told["id"] in ids]
        return {**told, "exam": exam.name, "position": position, "subsets": inside, "created": created}

    def operation(connection: sa.Connection) -> str:
        store.insert_new(connection, exams, {"name": exam.name, "kind": exam.kind, "created": created})
        for start in range(0, len(asked), AT_ONCE):
            some = range(start, min(start + AT_ONCE, len(asked)))
            store.insert_new(connection, questions, *map(row, some))
        known = str(connection.scalar(sa.select(exams.c.kind).where(exams.c.name == exam.name)))
        if known == exam.kind:
            store.upsert(connection, meta, *reading)
        return known

    # Images first, however long that takes; then all rows in one transaction.
    keep_references(store, asked)
    reading = reading_of(exam)
    found = store.write(operation)
    if found != exam.kind:
        raise StoreError(f"{store.url} has an exam {exam.name!r} of kind {found}; give this one another name")


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
    found = {row.hash: Question.from_json(row.body, rubric, row.reference) for row in _question_rows(store, exam)}
    for hash, question in found.items():
        question.know_hash(hash)
    return found


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

    found = spooled(_bodies(store, name, rubric, hashes))
    return Exam(name, kind, found, {subset: frozenset(ids) for subset, ids in subsets.items()})


def _bodies(store: Store, exam: str, rubric: type[Any], hashes: bytearray) -> Iterator[RawQuestion]:
    """What stored questions are made of."""
    # As the text it is: nobody looks into it until its question is asked for.
    body = sa.cast(questions.c.body, sa.Text).label("body")
    query = sa.select(questions.c.hash, questions.c.id, body, questions.c.reference)
    size = AT_ONCE * 32
    for start in range(0, len(hashes), size):
        some = [hashes[at : at + 32].hex() for at in range(start, min(start + size, len(hashes)), 32)]
        rows = {row.hash: row for row in store.rows(query.where(questions.c.exam == exam), questions.c.hash, some)}
        for row in (rows[hash] for hash in some):
            yield RawQuestion(row.id, row.body, rubric, known_sha256=row.reference)


def load_drawings(
    store: Store, exam: str, painter: str | None = None, *, ordered: bool = True, brief: bool = False
) -> Iterator[Drawing]:
    """The exam's drawings; the oldest first, unless the order does not matter: to sort takes as long as to read.

    With `brief`, prompts and calls are left out, for who keeps many of them.
    """
    left_out: dict[str, Any] = {"prompt_sent": None, "calls": []} if brief else {}
    names = [column.name for column in drawings.c if column.name not in left_out]
    query = sa.select(*columns(drawings, *names)).where(drawings.c.exam == exam)
    if painter is not None:
        query = query.where(drawings.c.painter == painter)
    if ordered:
        query = query.order_by(drawings.c.created, drawings.c.id)
    with store.reading() as connection:
        yield from made(Drawing, connection, query, left_out)


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


def evaluator_kinds(store: Store) -> dict[str, str]:
    """Setup -> what sort of evaluator it is: ``judge``, ``person``, ``metric`` or ``panel``."""
    with store.reading() as connection:
        return {row.id: row.kind for row in connection.execute(sa.select(setups.c.id, setups.c.kind))}


def save_setup(store: Store, id: str, body: dict[str, Any], kind: str = "judge") -> None:
    """Keep how a judge is asked, or who else an evaluator is."""
    row = {"id": id, "judge": body["judge"], "body": body, "created": now(), "kind": kind}
    store.write(lambda connection: store.insert_new(connection, setups, row))


def painters_by_spec(store: Store, exam: str, specs: Sequence[str]) -> frozenset[str]:
    """The names of painters of these specs that have drawings of the exam."""
    query = sa.select(drawings.c.painter).distinct().where(drawings.c.exam == exam, drawings.c.spec.in_(specs))
    with store.reading() as connection:
        return frozenset(connection.scalars(query))


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
