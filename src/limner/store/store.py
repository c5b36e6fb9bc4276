"""The store: a database, and a folder or bucket of images."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.pool import QueuePool

from ..core.errors import NoStore, StoreError, UsageError
from .blobs import Blobs, file_identity
from .schema import has_tables, make_tables
from .trouble import DATA_ERRORS, advice, changed_message, describe_error
from .writer import Writer, retry_while_away

T = TypeVar("T")
DEFAULT = "limner-store"
MAX_QUERY_VALUES = 500
"""The maximum number of values in one query."""
BUSY_S = 60
"""The maximum number of seconds that a write waits for another process."""
MAX_SKEW_S = 30.0
"""The most seconds that this machine's clock may differ from that of a shared folder: leases are longer than twice."""


class Store:
    """An open store, identified by a URL of one of these forms.

    - ``FOLDER``: contains ``limner.db`` and ``blobs/``.
    - ``sqlite:///FILE.db``: images are in ``FILE.blobs/``, or in the place given by ``?blobs=…``.
    - ``postgresql://…?blobs=FOLDER_OR_URL``: images are in that place; ``s3://BUCKET/PREFIX`` is a bucket, see `s3`.

    Attributes:
        readonly: Whether the database is a file that cannot be written.

    Args:
        url: The address.
        create: Whether to create a store that does not exist.
        durable: Whether what is stored survives a power failure at once, at the price of slower writes; only SQLite
            needs this.
    """

    def __init__(self, url: str | Path = DEFAULT, *, create: bool = True, durable: bool = False) -> None:
        self.url = hide_password(str(url))
        database, blobs = _parse_url(str(url))
        self.file = Path(database.database) if database.get_backend_name() == "sqlite" else None  # type: ignore[arg-type]
        if self.file is not None and not self.file.exists():
            if not create:
                raise NoStore(f"no store at {self.url}; `limner run … --store {self.url}` creates one")
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"cannot create a store at {self.url}: {error}") from error
        self.blobs = Blobs(blobs)
        self.readonly = self.file is not None and is_readonly(self.file)
        self._copy = ReadOnlyFile(self.file) if self.readonly and self.file is not None else None
        self._readers, self._writers = _engines(database, self._copy, durable=durable)
        self._writer: Writer | None = None
        try:
            with _opening(self.url, self.file):
                make_tables(self._readers, self._writers, self.url)
        except StoreError:
            self.close()
            raise
        self._opened = self.file and file_identity(self.file)
        self._offset: float | None = None

    def submit(self, operation: Callable[[sa.Connection], T]) -> Future[T]:
        """Queue a write; the future completes after the commit."""
        return self._get_writer().submit(operation)

    def save(self, table: sa.Table, *rows: dict[str, Any]) -> Future[None]:
        """Queue rows to be inserted or replaced by their primary keys; the future completes after the commit."""
        return self.submit(lambda connection: self.upsert(connection, table, *rows))

    def _get_writer(self) -> Writer:
        if self.readonly:
            raise StoreError(f"the store {self.url} {READ_ONLY}")
        if self._writer is None:
            self._writer = Writer(self._writers, self.check_same, lambda: self._translating_errors("written"))
        return self._writer

    def check_same(self) -> None:
        """Check that the store's file is still the one that was opened.

        Raises:
            StoreError: The file was deleted, moved or replaced.
        """
        if self.file is None or (identity := file_identity(self.file)) == self._opened:
            return
        raise StoreError(changed_message(self.url, "deleted or moved" if identity is None else "replaced"))

    def now(self) -> float:
        """Return the time by the clock that all processes of the store share: with a server, the server's."""
        if self._offset is None:
            self.set_clock()
        return now() + (self._offset or 0.0)

    def set_clock(self) -> None:
        """Measure how far the server's clock is ahead of this machine's; a file has no clock of its own."""
        self._offset = 0.0
        if self.file is None:
            epoch = sa.func.extract("epoch", sa.func.clock_timestamp())
            with self.reading() as connection:
                asked = now()
                self._offset = float(connection.execute(sa.select(epoch)).scalar_one()) - (asked + now()) / 2

    def check_clock(self) -> None:
        """Check that this machine's clock agrees with that of the store's folder, which other machines may share.

        Raises:
            StoreError: They differ by more than `MAX_SKEW_S`.
        """
        if self.file is None or self.readonly:
            return
        try:
            with tempfile.TemporaryFile(dir=self.file.absolute().parent) as probe:
                skew = now() - os.fstat(probe.fileno()).st_mtime
        except OSError:
            return  # A folder that cannot be written is reported by the first write.
        if abs(skew) > MAX_SKEW_S:
            raise StoreError(
                f"this machine's clock is {abs(skew):,.0f} s {'ahead of' if skew > 0 else 'behind'} that of the folder "
                f"of {self.url}: runs on several machines would pay for the same calls; set the clock, then run again"
            )

    def write(self, operation: Callable[[sa.Connection], T]) -> T:
        """Run a write operation and return its result after the commit."""
        return self.submit(operation).result()

    async def awrite(self, operation: Callable[[sa.Connection], T]) -> T:
        """Run a write operation and return its result after the commit, without blocking the event loop."""
        return await self._get_writer().write(operation)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a connection that sees one consistent state."""
        with self._translating_errors("read"), retry_while_away(self._readers.connect) as connection:
            if self.file is None:  # Readers of a SQLite file always see one state.
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def rows(self, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[str]) -> list[Any]:
        """Return the rows of a query in which the column has one of these values, of which there may be any number."""
        ordered, rows = sorted(set(values)), list[Any]()
        with self.reading() as connection:
            for start in range(0, len(ordered), MAX_QUERY_VALUES):
                rows += connection.execute(query.where(column.in_(ordered[start : start + MAX_QUERY_VALUES])))
        return rows

    @contextmanager
    def _translating_errors(self, done: str) -> Iterator[None]:
        """Turn database errors, such as a full disk, into a `StoreError`; `done` is the verb for its message."""
        try:
            yield
        except DATA_ERRORS:
            raise
        except DBAPIError as error:
            raise StoreError(describe_error(error, self.url, done, self.file)) from error

    def insert_new(self, connection: sa.Connection, table: sa.Table, *rows: dict[str, Any]) -> None:
        """Insert the rows whose primary keys are new; leave existing rows unchanged."""
        if rows:
            connection.execute(_statements(self._dialect, table)[0], list(rows))

    def is_new(self, connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> bool:
        """Insert a row if its primary key is new, and return whether it was."""
        # Some drivers count inserted rows only on request; otherwise they return -1 whether or not a row was inserted.
        kept = {"preserve_rowcount": True}
        return connection.execute(_statements(self._dialect, table)[0], row, execution_options=kept).rowcount == 1

    def upsert(self, connection: sa.Connection, table: sa.Table, *rows: dict[str, Any]) -> None:
        """Insert rows, replacing existing rows that have the same primary keys."""
        if rows:
            connection.execute(_statements(self._dialect, table)[1], rows[0] if len(rows) == 1 else list(rows))

    @property
    def _dialect(self) -> str:
        return self._writers.dialect.name

    def close(self) -> None:
        """Finish queued writes and close the database."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._readers.dispose()
        self._writers.dispose()
        if self._copy is not None:
            self._copy.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


@lru_cache(maxsize=64)
def _statements(dialect: str, table: sa.Table) -> tuple[Any, Any]:
    """Return two statements, cached because runs use them constantly: insert only new rows, and insert or replace."""
    # Import only the dialect in use: importing another takes as long as a small command.
    insert: Any = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    keys = [column.name for column in table.primary_key]
    rest = {column.name: insert.excluded[column.name] for column in table.columns if column.name not in keys}
    return insert.on_conflict_do_nothing(), insert.on_conflict_do_update(index_elements=keys, set_=rest)


def store_exists(url: str | Path) -> bool:
    """Return whether a store exists at this URL, without changing anything.

    Raises:
        StoreError: The store has another version or cannot be opened.
    """
    database, _ = _parse_url(str(url))
    file = Path(str(database.database)) if database.get_backend_name() == "sqlite" else None
    if file is not None and not file.exists():
        return False
    copy = ReadOnlyFile(file) if file is not None and is_readonly(file) else None
    readers, _ = _engines(database, copy)
    try:
        with _opening(hide_password(str(url)), file), readers.connect() as connection:
            return has_tables(connection, hide_password(str(url)))
    finally:
        readers.dispose()
        if copy is not None:
            copy.close()


@contextmanager
def _opening(url: str, file: Path | None) -> Iterator[None]:
    """Turn errors while opening a database into a `StoreError` that says what to do."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        folder = file.absolute().parent if file is not None else None
        unwritable = folder is not None and not os.access(folder, os.W_OK)
        why = f"; SQLite must be able to write to {folder}: copy the store to a writable folder" if unwritable else ""
        what = advice(str(cause), url, file) if not unwritable else ""
        raise StoreError(f"the store {url} cannot be opened: {cause}{why}" + (f"; {what}" if what else "")) from error


def now() -> float:
    """Return the current time in seconds since 1970, as stored in rows."""
    return time.time()


def hide_password(url: str) -> str:
    """Return the URL with any password replaced by asterisks."""
    return re.sub(
        r"(://[^:/@]*:)[^/\s]*@|([?&](?:ssl)?password=)[^&]*", lambda m: f"{m[1]}***@" if m[1] else f"{m[2]}***", url
    )


def _parse_url(url: str) -> tuple[sa.URL, str]:
    """Return the URL of the database, and the folder or URL of the images."""
    if "://" not in url:
        folder = Path(url)
        if folder.is_file():
            raise UsageError(f"--store {url} is a file; name a folder, or write sqlite:///{url}")
        return sa.URL.create("sqlite", database=str(folder / "limner.db")), str(folder / "blobs")
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError(
            f"--store {hide_password(url)}: not a database URL; write sqlite:///FILE.db or postgresql://…"
        ) from error
    if backend == "sqlite":
        if not address.database or address.database == ":memory:":
            raise UsageError("--store: the database must be a file, so that runs can resume; write sqlite:///FILE.db")
        place = address.query.get("blobs") or str(Path(address.database).with_suffix(".blobs"))
        return address.difference_update_query(["blobs"]), str(place)
    if backend != "postgresql":
        raise UsageError(f"--store {hide_password(url)}: SQLite and PostgreSQL are supported, not {backend}")
    blobs = address.query.get("blobs")
    if not isinstance(blobs, str):
        raise UsageError(f"--store {hide_password(url)}: add ?blobs=FOLDER_OR_URL to say where images are kept")
    address = address.difference_update_query(["blobs"])
    return (address if "+" in address.drivername else address.set(drivername="postgresql+psycopg")), blobs


def _engines(
    url: sa.URL, readonly: ReadOnlyFile | None = None, *, durable: bool = False
) -> tuple[sa.Engine, sa.Engine]:
    """Return an engine for reading and one for writing, which may be the same."""
    try:
        if url.get_backend_name() != "sqlite":
            engine = sa.create_engine(url, pool_pre_ping=True)
            return engine, engine
        if readonly is not None:
            engine = readonly.engine(BUSY_S)
            return engine, engine
        readers = sa.create_engine(url, connect_args={"timeout": BUSY_S}, json_deserializer=parse_json_column)
        writers = sa.create_engine(url, connect_args={"timeout": BUSY_S}, json_deserializer=parse_json_column)
    except ModuleNotFoundError as error:
        raise StoreError(f"{error}; install the driver with: pip install 'limner[postgres]'") from error
    for engine, begin in ((readers, "BEGIN"), (writers, "BEGIN IMMEDIATE")):
        sa.event.listen(engine, "connect", partial(_set_pragmas, "FULL" if durable else "NORMAL"))
        sa.event.listen(engine, "begin", lambda connection, begin=begin: connection.exec_driver_sql(begin))
    return readers, writers


_EMPTY_VALUES: dict[str, Callable[[], Any]] = {"{}": dict, "[]": list, "null": lambda: None}


def parse_json_column(text: str) -> Any:
    """Parse the text of a JSON column, trying empty values first because most columns are empty."""
    make_empty = _EMPTY_VALUES.get(text)
    if make_empty is not None:
        return make_empty()
    try:
        return from_json(text)  # Several times faster than the json module, and stricter.
    except ValueError:
        return json.loads(text)


def _set_pragmas(synchronous: str, connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # We begin transactions ourselves; the driver must not.
    cursor = connection.cursor()
    _switch_to_wal(cursor)
    # With NORMAL, commits survive a crash of this process, but a power failure may lose the last ones.
    cursor.execute(f"PRAGMA synchronous={synchronous}")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _switch_to_wal(cursor: Any) -> None:
    """Switch to WAL mode; wait for other processes that are creating the store, because SQLite itself does not."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.005)


def open_store(store: str | Path = DEFAULT, *, create: bool = False, durable: bool = False) -> Store:
    """Open a store: a folder, ``sqlite:///FILE.db`` or ``postgresql://…?blobs=FOLDER``.

    Every function of `limner.api` takes the open store as ``store=``. Close it with ``close()``, or open it in a
    ``with`` block. For `durable` see `Store`.

    Raises:
        NoStore: There is no store, and `create` is False.
    """
    return Store(store, create=create, durable=durable)


@contextmanager
def using_store(store: Store | str | Path, *, create: bool = False) -> Iterator[Store]:
    """Open a store and close it at the end; an already open store stays open."""
    if isinstance(store, Store):
        yield store
    else:
        with open_store(store, create=create) as fresh:
            yield fresh


@contextmanager
def open_or_empty(store: str | Path) -> Iterator[Store]:
    """Open the store, or a temporary empty one if it does not exist."""
    if store_exists(store):
        with open_store(store) as opened:
            yield opened
    else:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder, Store(folder) as empty:
            yield empty


READ_ONLY = "is read-only here: copy it to a writable folder"


def is_readonly(file: Path) -> bool:
    """Return whether the database exists but is not writable; SQLite must be able to write both file and folder."""
    return file.exists() and not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK))


class ReadOnlyFile:
    """A SQLite database that is read, including its write-ahead log, without writing to its folder.

    If there is no log (``-wal``), the file is complete. SQLite can read a log that has an index (``-shm``); without an
    index it would have to write one, so a temporary copy is read instead.
    """

    def __init__(self, file: Path) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._file, self._how = file.absolute(), "immutable=1"
        log, index = (file.with_name(file.name + ending) for ending in ("-wal", "-shm"))
        if log.exists() and log.stat().st_size:
            self._how = "mode=ro"
            if not index.exists():
                self._folder = tempfile.TemporaryDirectory(prefix="limner-")
                for path in (file, log):
                    shutil.copyfile(path, Path(self._folder.name) / path.name)
                self._file = Path(self._folder.name) / file.name

    def engine(self, busy_s: float) -> sa.Engine:
        """Return a read-only engine."""
        uri = f"file:{quote(str(self._file))}?{self._how}"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(uri, uri=True, timeout=busy_s, check_same_thread=False)
            connection.isolation_level = None  # We begin transactions ourselves; the driver must not.
            return connection

        engine = sa.create_engine("sqlite://", creator=connect, poolclass=QueuePool)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        return engine

    def close(self) -> None:
        """Remove the temporary copy, if there is one."""
        if self._folder is not None:
            self._folder.cleanup()
