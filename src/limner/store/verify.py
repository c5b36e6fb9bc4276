"""Verification of a store: its database, references between rows, images, and files that nothing refers to."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from ..core.errors import LostImage, StoreError
from ..core.exam import hash_question
from ..core.redaction import MASK
from .schema import SEAL, attempts, calls, content_hash, drawings, evidence, markings, metadata, questions, study_items
from .store import Store, parse_json_column

State = Literal["ok", "note", "bad"]
PartName = Literal["database", "rows", "references", "images", "orphans"]
MAX_COMPLAINTS = 20
"""The maximum number of reported complaints of the database itself."""
YOUNG_S = 24 * 3600.0
"""The age in seconds below which a file may belong to a running process that has not yet written its row."""
TEMPORARY_PREFIX = ".part-"
HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Defect:
    """A defective row, image or file, and what is wrong with it.

    Attributes:
        row: For a row, its table and the values that identify it there.
    """

    subject: str
    detail: str
    row: tuple[str, dict[str, Any]] | None = field(default=None, compare=False, repr=False)


def _row_defect(table: sa.Table, key: Iterable[Any], detail: str, row: Mapping[str, Any] | None = None) -> Defect:
    key = tuple(key)
    names = [column.name for column in table.primary_key]
    where = {ROWID: row[ROWID]} if row is not None and ROWID in row else dict(zip(names, key, strict=True))
    return Defect(f"{table.name} {'/'.join(map(str, key))}", detail, (table.name, where))


ROWID = "rowid"
"""SQLite's own number of a row."""


@dataclass(frozen=True)
class PartReport:
    """The defects of one part of a store.

    Attributes:
        looked: The number of rows, images or files checked.
        repaired: The number of repaired defects.
        grave: Whether defects of this part mean that data is lost.
    """

    name: PartName
    looked: int
    defects: tuple[Defect, ...] = ()
    repaired: int = 0
    grave: bool = field(default=True, repr=False)

    @property
    def state(self) -> State:
        """``ok``, ``note`` for harmless defects, or ``bad``."""
        return "ok" if not self.defects else "bad" if self.grave else "note"


Identities = Mapping[str, Callable[[Mapping[str, Any]], str]]
"""The functions that compute the key of a row from its content, by table."""


def check(store: Store, *, quick: bool = False, identities: Identities | None = None) -> Iterator[PartReport]:
    """Check the parts of a store and yield a report on each; with `quick`, only the database."""
    database = check_database(store, quick=quick)
    yield database
    if quick:
        return
    checks: dict[PartName, Callable[[Store], PartReport]] = {
        "rows": lambda store: check_rows(store, identities or {}),
        "references": check_references,
        "images": check_images,
        "orphans": check_orphans,
    }
    damaged = bool(database.defects)
    for name, check_part in checks.items():
        try:
            report = check_part(store)
        except Exception as error:  # Damaged rows can break anything that reads them.
            if isinstance(error, StoreError) and not damaged:
                raise
            report = PartReport(name, 0, (Defect("database", f"cannot be checked: {error}"),))
        damaged = damaged or report.state == "bad"
        yield report


def check_database(store: Store, *, quick: bool = False) -> PartReport:
    """Check that the database can be read completely, with its built-in check if it has one."""
    defects: list[Defect] = []
    rows = 0
    try:
        with store.reading() as connection:
            if connection.dialect.name == "sqlite":
                pragma = f"PRAGMA {'quick' if quick else 'integrity'}_check({MAX_COMPLAINTS})"
                complaints = [str(line) for line in connection.exec_driver_sql(pragma).scalars()]
                defects += [Defect("database", " ".join(line.split())) for line in complaints if line != "ok"]
            for table in metadata.sorted_tables if not defects else ():
                if quick:
                    rows += int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
                else:
                    rows += sum(1 for _ in connection.exec_driver_sql(f'SELECT * FROM "{table.name}"'))
    except (StoreError, DBAPIError, ValueError) as error:
        defects.append(Defect("database", str(error)))
    return PartReport("database", rows, tuple(defects))


def check_rows(store: Store, identities: Identities) -> PartReport:
    """Check that every row has values of the right types, and that its content matches its key and its seal."""
    defects, looked = list[Defect](), 0
    for table, row in read_rows(store):
        looked += 1
        defects += row_defects(table, row, identities)
    return PartReport("rows", looked, tuple(defects))


def read_rows(store: Store) -> Iterator[tuple[sa.Table, dict[str, Any]]]:
    """Yield all rows with their tables, with values as the database has them, but JSON parsed where possible."""
    number = "" if store.file is None else f"{ROWID}, "
    with store.reading() as connection, _reading_any_text(connection, store):
        for table in metadata.sorted_tables:
            for row in connection.exec_driver_sql(f'SELECT {number}* FROM "{table.name}"').mappings():
                values = {name: _parsed(table.c[name], value, store) for name, value in row.items() if name != ROWID}
                yield table, values | ({ROWID: row[ROWID]} if number else {})


@contextmanager
def _reading_any_text(connection: sa.Connection, store: Store) -> Iterator[None]:
    """Read texts that are not UTF-8, with lone surrogates for the wrong bytes; a server has none."""
    driver: Any = connection.connection.driver_connection
    if store.file is None:
        yield
        return
    driver.text_factory = lambda data: data.decode(errors="surrogateescape")
    try:
        yield
    finally:
        driver.text_factory = str


class NotJson(str):
    """A text that should be JSON."""


def _parsed(column: sa.Column[Any], value: Any, store: Store) -> Any:
    if store.file is None or value is None or not isinstance(column.type, sa.JSON):
        return value  # A server parses JSON itself.
    if isinstance(value, int | float):
        return value  # SQLite keeps a number as such.
    try:
        return parse_json_column(value)
    except (TypeError, ValueError):
        return NotJson(value)


def row_defects(table: sa.Table, row: Mapping[str, Any], identities: Identities) -> Iterator[Defect]:
    """Yield what is wrong with a row by itself."""
    key = [row[column.name] for column in table.primary_key]
    wrong = [column for column in table.c if not _fits(column, row[column.name])]
    for column in wrong:
        kind = next((word for type, word in KINDS.items() if isinstance(column.type, type)), "text")
        yield _row_defect(table, key, f"its {column.name} is {str(row[column.name])[:40]!r}, not {kind}", row)
    if wrong:
        return
    if SEAL in table.c and row[SEAL] != content_hash(table, row):
        yield _row_defect(table, key, CHANGED, row)
    identity = _question_hash if table is questions else identities.get(table.name)
    try:
        expected = key[0] if identity is None else identity(row)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        yield _row_defect(table, key, f"its content does not have the form of its table: {error!r}", row)
        return
    # Keys of services that a request repeated are removed from it, so that its hash differs.
    if expected != key[0] and MASK not in json.dumps(row.get("request")):
        yield _row_defect(table, key, CHANGED, row)


CHANGED = "its content was changed after it was stored: restore it from a backup, or make it again"
KINDS: dict[type[Any], str] = {sa.JSON: "JSON", sa.Float: "a number", sa.Integer: "a whole number"}


def _fits(column: sa.Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable) or isinstance(column.type, sa.JSON)
    if isinstance(column.type, sa.JSON):
        return not isinstance(value, NotJson)
    if isinstance(column.type, sa.Float | sa.Integer):
        whole = isinstance(column.type, sa.Integer)
        return isinstance(value, int if whole else int | float) and abs(value) < math.inf
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _question_hash(row: Mapping[str, Any]) -> str:
    return hash_question(row["body"], row["reference"])


def check_references(store: Store) -> PartReport:
    """Check that all rows that others refer to exist."""
    defects: list[Defect] = []
    with store.reading() as connection:
        count = 0
        for table in metadata.sorted_tables:
            count += int(connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0)
            for key in table.foreign_keys:
                other = key.column.table
                exists = sa.exists().where(other.c[key.column.name] == key.parent)
                query = sa.select(*table.primary_key).where(key.parent.is_not(None), ~exists)
                defects += [
                    _row_defect(table, row, f"its {key.parent.name} is not in {other.name}")
                    for row in connection.execute(query)
                ]
        defects += _calls_without_result(connection)
        defects += _drawings_without_question(connection)
        for table, column, other in LISTS:
            known = set(connection.scalars(sa.select(*other.primary_key)))
            for row in connection.execute(sa.select(*table.primary_key, column)):
                ids = [id[1] if table is markings else id for id in row[-1]]
                lost = [id for id in ids if id not in known]
                detail = f"{{}}, which its {column.name} name, is missing from {other.name}"
                defects += [_row_defect(table, row[:-1], detail.format(id)) for id in lost]
    return PartReport("references", count, tuple(defects))


LISTS = (
    (drawings, drawings.c.calls, calls),
    (markings, markings.c.replies, calls),
    (study_items, study_items.c.drawings, drawings),
)
"""Columns with lists of keys of another table; replies are pairs of a name and a key."""


def _calls_without_result(connection: sa.Connection) -> list[Defect]:
    exists = sa.exists().where(attempts.c.call == calls.c.key, attempts.c.n == calls.c.accepted)
    query = sa.select(calls.c.key).where(calls.c.status == "done", ~exists)
    return [_row_defect(calls, (key,), UNANSWERED) for key in connection.scalars(query)]


UNANSWERED = "it is done, but its result is missing"


def _drawings_without_question(connection: sa.Connection) -> list[Defect]:
    exists = sa.exists().where(questions.c.hash == drawings.c.question_hash, questions.c.exam == drawings.c.exam)
    query = sa.select(drawings.c.id, drawings.c.question_id).where(~exists)
    rows = connection.execute(query)
    return [_row_defect(drawings, (row.id,), f"its question {row.question_id} is not in questions") for row in rows]


def copy_undamaged(store: Store, folder: Path, identities: Identities) -> tuple[str, list[Defect]]:
    """Copy the database of a file store without its damaged rows, and without the rows that refer to them.

    Returns:
        The address of the copy, which has the images of the store, and what was left out, damaged rows first.
    """
    file, left_out = folder / "limner.db", list[Defect]()
    with closing(sqlite3.connect(file)) as database:
        with store.reading() as connection:
            driver: Any = connection.connection.driver_connection
            driver.backup(database)
        url = f"sqlite:///{file}?blobs={quote(store.blobs.root)}"
        while True:
            with Store(url) as copy:
                defects = list(check_rows(copy, identities).defects) or list(check_references(copy).defects)
            rows = [(defect, *defect.row) for defect in defects if defect.row is not None]
            if not rows:
                return url, left_out
            for defect, table, where in rows:
                condition = " AND ".join(f'"{name}" = ?' for name in where)
                database.execute(f'DELETE FROM "{table}" WHERE {condition}', tuple(where.values()))
                left_out.append(defect)
            database.commit()


def referenced_images(store: Store) -> dict[str, list[str]]:
    """Return the hash of every image that the store refers to -> its owners."""
    accepted = calls.join(attempts, (attempts.c.call == calls.c.key) & (attempts.c.n == calls.c.accepted))
    paint = sa.select(calls.c.key, attempts.c.result).select_from(accepted).where(calls.c.kind == "paint")
    owners: dict[str, list[str]] = {}
    with store.reading() as connection:
        drawn = sa.select(drawings.c.image, drawings.c.painter, drawings.c.question_id)
        for image, painter, question in connection.execute(drawn.where(drawings.c.image.is_not(None))):
            owners.setdefault(image, []).append(f"drawing of {question} by {painter}")
        referred = sa.select(questions.c.reference, questions.c.id).where(questions.c.reference.is_not(None))
        for image, question in connection.execute(referred):
            owners.setdefault(image, []).append(f"reference of {question}")
        for question, body in connection.execute(sa.select(questions.c.id, questions.c.body)):
            for picture in body.get("inputs", ()):
                if picture["sha256"] is not None:
                    owners.setdefault(picture["sha256"], []).append(f"input of {question}")
        for key, result in connection.execute(paint):
            if isinstance(image := (result or {}).get("image"), str):
                owners.setdefault(image, []).append(f"result of call {key[:12]}")
    return owners


def check_images(store: Store) -> PartReport:
    """Check that every image exists and matches its hash."""
    wanted, defects = referenced_images(store), []
    for image, data in store.blobs.each(wanted):
        if isinstance(data, LostImage):
            defects.append(Defect(image, f"{wanted[image][0]}: {data}"))
    return PartReport("images", len(wanted), tuple(defects))


def check_orphans(store: Store) -> PartReport:
    """Report image files that nothing in the database refers to; they are harmless."""
    named, looked, defects = _named_hashes(store), 0, []
    for name, changed in store.blobs.names():
        looked += 1
        file = name.rpartition("/")[2]
        if file.partition(".")[0] not in named and time.time() - changed > YOUNG_S:
            left = file.startswith(TEMPORARY_PREFIX)
            defects.append(Defect(name, "left behind by a process that was killed" if left else "nothing refers to it"))
    return PartReport("orphans", looked, tuple(defects), grave=False)


def _named_hashes(store: Store) -> set[str]:
    """Return every hash that occurs in the database."""
    columns: Iterable[sa.Column[Any]] = (
        drawings.c.image, drawings.c.notes, questions.c.reference, questions.c.body, markings.c.image,
        evidence.c.subject, calls.c.request, calls.c.progress, attempts.c.result,
    )  # fmt: skip
    hashes: set[str] = set()
    with store.reading() as connection:
        for column in columns:
            for value in connection.scalars(sa.select(column).where(column.is_not(None))):
                hashes |= set(HASH.findall(value if isinstance(value, str) else json.dumps(value)))
    return hashes


def without_repaired(report: PartReport, repaired: Iterable[Defect]) -> PartReport:
    """Return the report without these repaired defects."""
    done = set(repaired)
    left = tuple(defect for defect in report.defects if defect not in done)
    return replace(report, defects=left, repaired=len(report.defects) - len(left))
