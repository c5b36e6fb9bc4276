"""Does a store hold what it says? Its database, the rows that name each other, its images, and what nothing names."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from ..core.errors import LostImage, StoreError
from .schema import attempts, calls, drawings, evidence, markings, metadata, questions
from .store import Store

State = Literal["ok", "note", "bad"]
PartName = Literal["database", "references", "images", "orphans"]
MOST = 20
"""So many complaints of the database itself are taken."""
YOUNG_S = 24 * 3600.0
"""A file younger than this may belong to a run that goes on, whose row is still to come."""
PART = ".part-"
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Defect:
    """One thing that is not as it should be: which row, image or file, and what is wrong with it."""

    subject: str
    detail: str


@dataclass(frozen=True)
class PartReport:
    """What was found in one part of a store.

    Attributes:
        looked: At how many rows, images or files.
        mended: How many defects have been repaired.
        grave: Whether a defect here means that something is lost.
    """

    name: PartName
    looked: int
    defects: tuple[Defect, ...] = ()
    mended: int = 0
    grave: bool = field(default=True, repr=False)

    @property
    def state(self) -> State:
        """``ok``, ``note`` for what does no harm, or ``bad``."""
        return "ok" if not self.defects else "bad" if self.grave else "note"


def check(store: Store, *, quick: bool = False) -> Iterator[PartReport]:
    """Every part in turn; the quick part is the database alone."""
    database = check_database(store, quick=quick)
    yield database
    if quick:
        return
    checks: dict[PartName, Callable[[Store], PartReport]]
    checks = {"references": check_references, "images": check_images, "orphans": check_orphans}
    for name, check_part in checks.items():
        try:
            yield check_part(store)
        except StoreError as error:
            if not database.defects:
                raise
            yield PartReport(name, 0, (Defect("database", f"cannot be looked at: {error}"),))


def check_database(store: Store, *, quick: bool = False) -> PartReport:
    """Whether the database can be read from end to end, by its own check where it has one."""
    found: list[Defect] = []
    rows = 0
    try:
        with store.reading() as connection:
            if connection.dialect.name == "sqlite":
                words = f"PRAGMA {'quick' if quick else 'integrity'}_check({MOST})"
                said = [str(line) for line in connection.exec_driver_sql(words).scalars()]
                found += [Defect("database", " ".join(line.split())) for line in said if line != "ok"]
            for table in metadata.sorted_tables if not found else ():
                if quick:
                    rows += int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
                else:
                    rows += sum(1 for _ in connection.execute(sa.select(table)))
    except (StoreError, DBAPIError, ValueError) as error:
        found.append(Defect("database", str(error)))
    return PartReport("database", rows, tuple(found))


def check_references(store: Store) -> PartReport:
    """Whether every row that names another finds it."""
    found: list[Defect] = []
    with store.reading() as connection:
        looked = 0
        for table in metadata.sorted_tables:
            looked += int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
            for key in table.foreign_keys:
                other = key.column.table
                there = sa.exists().where(other.c[key.column.name] == key.parent)
                query = sa.select(*table.primary_key).where(key.parent.is_not(None), ~there)
                found += [
                    Defect(f"{table.name} {'/'.join(map(str, row))}", f"its {key.parent.name} is not in {other.name}")
                    for row in connection.execute(query)
                ]
        found += _unanswered(connection)
        found += _without_question(connection)
        known = set(connection.scalars(sa.select(calls.c.key)))
        for row in connection.execute(sa.select(drawings.c.id, drawings.c.calls)):
            found += [Defect(f"drawings {row.id}", f"its call {key} is gone") for key in row.calls if key not in known]
        for row in connection.execute(sa.select(markings.c.id, markings.c.replies)):
            lost = [key for _, key in row.replies if key not in known]
            found += [Defect(f"markings {row.id}", f"its reply, call {key}, is gone") for key in lost]
    return PartReport("references", looked, tuple(found))


def _unanswered(connection: sa.Connection) -> list[Defect]:
    there = sa.exists().where(attempts.c.call == calls.c.key, attempts.c.n == calls.c.accepted)
    query = sa.select(calls.c.key).where(calls.c.status == "done", ~there)
    return [Defect(f"calls {key}", UNANSWERED) for key in connection.scalars(query)]


UNANSWERED = "it is done, but its result is gone"


def _without_question(connection: sa.Connection) -> list[Defect]:
    there = sa.exists().where(questions.c.hash == drawings.c.question_hash, questions.c.exam == drawings.c.exam)
    query = sa.select(drawings.c.id, drawings.c.question_id).where(~there)
    rows = connection.execute(query)
    return [Defect(f"drawings {row.id}", f"its question {row.question_id} is not in questions") for row in rows]


def wanted_images(store: Store) -> dict[str, list[str]]:
    """Every image that the store says it has, with whose it is."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    paint = sa.select(calls.c.key, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
    found: dict[str, list[str]] = {}
    with store.reading() as connection:
        drawn = sa.select(drawings.c.image, drawings.c.painter, drawings.c.question_id)
        for image, painter, question in connection.execute(drawn.where(drawings.c.image.is_not(None))):
            found.setdefault(image, []).append(f"drawing of {question} by {painter}")
        referred = sa.select(questions.c.reference, questions.c.id).where(questions.c.reference.is_not(None))
        for image, question in connection.execute(referred):
            found.setdefault(image, []).append(f"reference of {question}")
        for key, result in connection.execute(paint):
            if isinstance(image := (result or {}).get("image"), str):
                found.setdefault(image, []).append(f"result of call {key[:12]}")
    return found


def check_images(store: Store) -> PartReport:
    """Whether every image is there, with the bytes that its hash names."""
    wanted, found = wanted_images(store), []
    for image, data in store.blobs.each(wanted):
        if isinstance(data, LostImage):
            found.append(Defect(image, f"{wanted[image][0]}: {data}"))
    return PartReport("images", len(wanted), tuple(found))


def check_orphans(store: Store) -> PartReport:
    """Files among the images that nothing in the database names; they do no harm."""
    named, looked, found = _named(store), 0, []
    for name, changed in store.blobs.names():
        looked += 1
        file = name.rpartition("/")[2]
        if file.partition(".")[0] not in named and time.time() - changed > YOUNG_S:
            left = file.startswith(PART)
            found.append(Defect(name, "left behind by a process that was ended" if left else "nothing names it"))
    return PartReport("orphans", looked, tuple(found), grave=False)


def _named(store: Store) -> set[str]:
    """Every hash that stands anywhere in the database."""
    columns: Iterable[sa.Column[Any]] = (
        drawings.c.image, drawings.c.notes, questions.c.reference, questions.c.body, markings.c.image,
        evidence.c.subject, calls.c.request, calls.c.progress, attempts.c.result,
    )  # fmt: skip
    found: set[str] = set()
    with store.reading() as connection:
        for column in columns:
            for value in connection.scalars(sa.select(column).where(column.is_not(None))):
                found |= set(HASH.findall(value if isinstance(value, str) else json.dumps(value)))
    return found


def without(report: PartReport, mended: Iterable[Defect]) -> PartReport:
    """Return the report once these defects are repaired."""
    done = set(mended)
    left = tuple(defect for defect in report.defects if defect not in done)
    return replace(report, defects=left, mended=len(report.defects) - len(left))
