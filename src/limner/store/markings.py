"""Loading and saving of markings, each the work of one judge on one drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import sqlalchemy as sa

from .records import FETCH_ROWS, json_as_text, read_records
from .schema import content_columns, drawings, markings, read_marks, setups
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
    row = dict(marking.__dict__)
    return store.submit(lambda connection: store.upsert(connection, markings, row))


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
    rows: list[dict[str, Any]] = [{**by._asdict(), **entry._asdict()} for entry in read]
    store.submit(lambda connection: store.upsert(connection, read_marks, *rows))
