"""The schema's versions: tables of a new store are made, an older store is brought forward, a newer one is refused."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from ..core.errors import StoreError
from ..core.terminal import printable
from .schema import VERSION, meta, metadata

LOCK = int.from_bytes(b"limner")
"""The key of the advisory lock under which a PostgreSQL store is made or migrated."""


def _kinds_of_evaluators(connection: sa.Connection) -> None:
    """Setups say what sort of evaluator they are: so far all are judges."""
    # With a default, so that a run of the version before, still going on, can write to the table.
    connection.execute(sa.text("ALTER TABLE setups ADD COLUMN kind VARCHAR(20) DEFAULT 'judge' NOT NULL"))


def _doubted_usage(connection: sa.Connection) -> None:
    """Attempts say why their service's word on the cost is not credible: so far none was doubted."""
    connection.execute(sa.text("ALTER TABLE attempts ADD COLUMN doubt TEXT"))


def _purses(connection: sa.Connection) -> None:
    """Budgets may be shared: purses, and what attempts set aside in them."""
    connection.execute(
        sa.text(
            "CREATE TABLE purses (name VARCHAR(200) NOT NULL, budget FLOAT NOT NULL, spent FLOAT NOT NULL, "
            "reserved FLOAT NOT NULL, created FLOAT NOT NULL, updated FLOAT NOT NULL, PRIMARY KEY (name))"
        )
    )
    connection.execute(
        sa.text(
            "CREATE TABLE reservations (call VARCHAR(64) NOT NULL, n INTEGER NOT NULL, purse VARCHAR(200) NOT NULL, "
            "token VARCHAR(32) NOT NULL, bound FLOAT NOT NULL, counted FLOAT, host TEXT NOT NULL, "
            "pid INTEGER NOT NULL, process_start FLOAT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (call, n), "
            "FOREIGN KEY(call) REFERENCES calls (key), FOREIGN KEY(purse) REFERENCES purses (name))"
        )
    )
    connection.execute(sa.text("CREATE INDEX reservations_by_purse ON reservations (purse, counted)"))


def _people_certificates_builds(connection: sa.Connection) -> None:
    """Studies and what people and metrics say in them, certificates of judges, and the making of exams."""
    statements = (Path(__file__).parent / "version5.sql").read_text(encoding="utf-8").split(";")
    for statement in statements:
        if statement.strip():
            connection.execute(sa.text(statement))


def _plans(connection: sa.Connection) -> None:
    """Leave out the tables of queued runs, which this version had."""


def _batches(connection: sa.Connection) -> None:
    """Calls may be handed in together: batches, and which one a call went with."""
    connection.execute(
        sa.text(
            "CREATE TABLE batches (id VARCHAR(32) NOT NULL, service TEXT NOT NULL, endpoint TEXT NOT NULL, "
            "model TEXT NOT NULL, status VARCHAR(20) NOT NULL, remote TEXT, file TEXT, calls INTEGER NOT NULL, "
            "bound FLOAT, detail TEXT, host TEXT, pid INTEGER, process_start FLOAT, lease_until FLOAT, "
            "created FLOAT NOT NULL, updated FLOAT NOT NULL, PRIMARY KEY (id))"
        )
    )
    connection.execute(sa.text("CREATE INDEX batches_by_status ON batches (status)"))
    connection.execute(sa.text("ALTER TABLE calls ADD COLUMN batch VARCHAR(32)"))
    connection.execute(sa.text("CREATE INDEX calls_by_batch ON calls (batch)"))


STEPS_6: tuple[Callable[[sa.Connection], None], ...] = (
    _plans,
    _batches,
)  # fmt: skip


def _version_6(connection: sa.Connection) -> None:
    """Past one machine."""
    for step in STEPS_6:
        step(connection)


def _read_marks(connection: sa.Connection) -> None:
    """What readings made of markings is kept: so far nothing is."""
    connection.execute(
        sa.text(
            "CREATE TABLE read_marks (marking VARCHAR(64) NOT NULL, reading VARCHAR(20) NOT NULL, "
            "reader VARCHAR(64) NOT NULL, made FLOAT NOT NULL, marks TEXT NOT NULL, PRIMARY KEY (marking, reading))"
        )
    )


# A migration is plain SQL that both databases understand, and never uses the tables of `schema`: those are the newest
# version's. What it adds stands in `schema` too, a new column as the last of its table.
MIGRATIONS: Mapping[int, Callable[[sa.Connection], None]] = {
    2: _kinds_of_evaluators,
    3: _doubted_usage,
    4: _purses,
    5: _people_certificates_builds,
    6: _version_6,
    7: _read_marks,
}
"""The version a migration leads to -> the migration, from the version before."""


def version(connection: sa.Connection, url: str) -> int | None:
    """The store's version; None before its tables are made.

    Raises:
        StoreError: What stands there is no version.
    """
    if not sa.inspect(connection).has_table(meta.name):
        return None
    found = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "version"))
    if found is None:
        return None
    if not (found.isascii() and found.isdecimal() and int(found)):
        raise StoreError(f"the store {url} has version {found!r}, which no Limner wrote; name another --store")
    return int(found)


def prepare(readers: sa.Engine, writers: sa.Engine, url: str) -> None:
    """Make a new store's tables, or bring an older store forward; several processes may do so at once.

    All steps forward are one transaction: whatever ends it, the store is at the old version or at the newest.

    Raises:
        StoreError: The store is newer than this Limner, or cannot be brought forward.
    """
    with readers.connect() as connection:
        found = version(connection, url)
    if found == VERSION:
        return
    _refuse_newer(found, url)
    kept: Path | None = None
    try:
        with writers.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(LOCK)))
            # Another process may have been here while this one waited for its turn.
            found = version(connection, url)
            _refuse_newer(found, url)
            if found is None:
                metadata.create_all(connection)
                connection.execute(meta.insert().values(key="version", value=str(VERSION)))
            elif found < VERSION:
                # First of all, so that a database which cannot be written to is not copied in vain.
                connection.execute(meta.update().where(meta.c.key == "version").values(value=str(VERSION)))
                if connection.dialect.name == "sqlite":
                    kept = back_up(Path(str(writers.url.database)), found)
                for step in range(found + 1, VERSION + 1):
                    MIGRATIONS[step](connection)
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        if found is None:
            raise
        cause = getattr(error, "orig", None) or error
        raise StoreError(
            f"the store {url} has version {found} and cannot be brought to version {VERSION}: {cause}; "
            "nothing was changed. Correct that, or put a copy of the store where it can be written"
        ) from error
    if found is not None and found < VERSION:
        backup = f"; a backup of version {found} is in {kept}" if kept else ""
        print(printable(f"the store {url} is brought from version {found} to {VERSION}{backup}"), file=sys.stderr)


def back_up(file: Path, version: int) -> Path:
    """Copy a SQLite database of this version beside itself, all of it or nothing; a copy that is there stays.

    The copy is of what is committed. Whoever calls has begun a write, so that nobody else changes the database or makes
    the same copy.
    """
    copy = file.with_name(f"{file.name}.v{version}.backup")
    if copy.exists():
        return copy
    part = copy.with_name(copy.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as target:
        target.execute("PRAGMA journal_mode=OFF")
        source.backup(target)
        target.execute("PRAGMA journal_mode=DELETE")  # One file that needs no others beside it.
    with part.open("rb") as written:
        os.fsync(written.fileno())
    os.replace(part, copy)
    return copy


def _refuse_newer(found: int | None, url: str) -> None:
    if found is not None and found > VERSION:
        raise StoreError(
            f"the store {url} has version {found}; this Limner knows versions up to {VERSION}. "
            "Use a newer Limner (pip install -U limner), or name another --store"
        )
