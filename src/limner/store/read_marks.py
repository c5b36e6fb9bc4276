"""What a reading made of judges' markings: kept, so that they are not read each time, and never the only thing stored.

A judge's marking changes only by being made anew, at another time, and what was read of the old one counts no longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from .schema import markings, read_marks
from .store import Store

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
