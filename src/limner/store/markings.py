"""Markings as rows: what one judge made of one drawing, as the runner writes it and the scores read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa

from .records import AT_ONCE, columns, made
from .schema import drawings, markings, read_marks, setups
from .store import Store, now, parsed

SELDOM = ("fault", "detail")
"""Fields of a marking that mostly say nothing, as its class does."""


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


class BriefMarking(Marking):
    """A marking of which no more is known than numbers need; `limner.store.records` has the rest."""

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
    replies: ClassVar[list[list[str]]] = []  # type: ignore[misc]  # None are known, of however many there are.


def _of_markings(exam: str, *chosen: Any, by: MarksReader | None = None) -> sa.Select[Any]:
    """Of the markings of the exam's drawings as they stand now; `by` is whose reading of them is asked for."""
    join: sa.FromClause = markings.join(drawings, drawings.c.id == markings.c.drawing)
    if by is not None:
        join = joined(join, by)
    # A marking of an image that has since been replaced says nothing about the new one.
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
    """The markings of the exam's drawings as they stand now, the oldest first; all, or those under these setups."""
    query = _of_markings(exam, *columns(markings))
    if setups is not None:
        query = query.where(markings.c.setup.in_(sorted(setups)))
    with store.reading() as connection:
        yield from made(Marking, connection, query.order_by(markings.c.created, markings.c.id))


def some_markings(
    store: Store, exam: str, setups: Iterable[str], brief: bool = False, by: MarksReader | None = None
) -> Iterator[list[tuple[Marking, str | None, str | None]]]:
    """The markings under these setups in an order of the database's own, some at a time, each with its marks as text.

    To sort many takes as long as to read them, and what the texts say takes many times their memory: `parsed` reads one
    after the other. With `brief`, markings are a `BriefMarking` each. With `by`, each comes with what that reader made
    of it, where that is kept, and then without replies and marks.
    """
    kind, known = (BriefMarking, BriefMarking.__annotations__) if brief else (Marking, Marking.__annotations__)
    names = tuple(name for name in known if name not in ("setup", *SELDOM, "marks", "replies"))
    shared, put = {id: id for id in setups}, object.__setattr__
    texts = columns(markings, "replies", "marks")
    if by is not None:  # What was read before is not fetched: it is most of a marking.
        texts = [sa.case((read_marks.c.marks.is_(None), one)).label(one.name) for one in texts]
    before = sa.null() if by is None else read_marks.c.marks
    query = _of_markings(exam, *columns(markings, *names, "setup", *SELDOM), *texts, before.label("read"), by=by)
    with store.reading() as connection:
        rows = connection.execution_options(yield_per=AT_ONCE).execute(
            query.where(markings.c.setup.in_(sorted(shared)))
        )
        for some in rows.partitions():
            found: list[tuple[Marking, str | None, str | None]] = []
            for row in some:
                one = object.__new__(kind)
                for name, value in zip(names, row, strict=False):
                    put(one, name, value)
                setup, fault, detail, replies, marks, read = row[-6:]
                put(one, "setup", shared[setup])
                if fault is not None or detail is not None:
                    put(one, "fault", fault)
                    put(one, "detail", detail)
                if replies is not None:
                    put(one, "replies", parsed(replies))
                found.append((one, None if marks == "null" else marks, read))
            yield found


def load_outcomes(store: Store, exam: str, setups: Iterable[str]) -> dict[str, Marking]:
    """Return the markings that `load_markings` would load, by id, without their replies and marks."""
    left_out: dict[str, Any] = {"replies": [], "marks": None}
    names = [column.name for column in markings.c if column.name not in left_out]
    query = _of_markings(exam, *columns(markings, *names)).where(markings.c.setup.in_(sorted(setups)))
    with store.reading() as connection:
        return {marking.id: marking for marking in made(Marking, connection, query, left_out)}


def load_markings_by_id(store: Store, ids: Iterable[str]) -> dict[str, Marking]:
    """Return those of these markings that the store has, by id."""
    return {row.id: Marking(**row._mapping) for row in store.rows(sa.select(markings), markings.c.id, ids)}


def marking_setups(store: Store, exam: str) -> set[str]:
    """Return the ids of the setups under which drawings of the exam are marked."""
    # One marking of each is enough; to look at all of them takes as long as to read them.
    marked = _of_markings(exam, sa.literal(1)).where(markings.c.setup == setups.c.id).correlate(setups).exists()
    with store.reading() as connection:
        return set(connection.scalars(sa.select(setups.c.id).where(marked)))


def save_marking(store: Store, marking: Marking) -> Future[None]:
    """Keep a marking; the future ends with the commit."""
    row = dict(marking.__dict__)
    return store.submit(lambda connection: store.upsert(connection, markings, row))


ENOUGH = 500
"""To read fewer markings anew takes no time: a command that only looks does not write for them."""


class MarksReader(NamedTuple):
    """How markings are read, and what identifies the programs that do so."""

    reading: str
    reader: str


class ReadMarks(NamedTuple):
    """What was made of one marking.

    Attributes:
        made: When the marking was made.
        marks: Its marks, as whoever reads them writes them down.
    """

    marking: str
    made: float
    marks: str


def joined(table: sa.FromClause, by: MarksReader) -> sa.FromClause:
    """Markings beside what this reader made of them as they are now."""
    same = (
        (read_marks.c.marking == markings.c.id)
        & (read_marks.c.reading == by.reading)
        & (read_marks.c.reader == by.reader)
        & (read_marks.c.made == markings.c.created)
    )
    return table.outerjoin(read_marks, same)


def keep_read(store: Store, by: MarksReader, found: Sequence[ReadMarks]) -> None:
    """Keep what was read, in its own time; where it cannot be kept it is read again, which is slower and no worse."""
    if store.readonly:
        return
    rows: list[dict[str, Any]] = [{**by._asdict(), **one._asdict()} for one in found]
    store.submit(lambda connection: store.upsert(connection, read_marks, *rows))
