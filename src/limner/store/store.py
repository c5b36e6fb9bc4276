"""The store: one database and one folder of images that need nothing else."""

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
from functools import lru_cache
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
from .blobs import Blobs
from .schema import has_tables, make_tables
from .trouble import NOT_OURS, advice, changed, told
from .writer import Writer, waited

T = TypeVar("T")
DEFAULT = "limner-store"
MANY = 500
"""So many values are looked for at a time."""
BUSY_S = 60
"""How long a write waits for another process to finish its own."""


class Store:
    """Opens a store by URL.

    ``FOLDER`` holds ``limner.db`` and ``blobs/``; ``sqlite:///FILE.db`` keeps its images in ``FILE.blobs/``;
    ``postgresql://…?blobs=FOLDER_OR_URL`` keeps them where it says, and so does ``sqlite:///FILE.db?blobs=…``.
    A bucket is ``blobs=s3://BUCKET/PREFIX``; see `s3`.

    Attributes:
        readonly: Whether it is a file that can only be read here.
    """

    def __init__(self, url: str | Path = DEFAULT, *, create: bool = True) -> None:
        self.url = shown(str(url))
        database, blobs = _places(str(url))
        self.file = Path(database.database) if database.get_backend_name() == "sqlite" else None  # type: ignore[arg-type]
        if self.file is not None and not self.file.exists():
            if not create:
                raise NoStore(f"no store at {self.url}; `limner run … --store {self.url}` makes one")
            try:
                self.file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"cannot make a store at {self.url}: {error}") from error
        self.blobs = Blobs(blobs)
        self.readonly = self.file is not None and is_readonly(self.file)
        self._copy = ReadOnlyFile(self.file) if self.readonly and self.file is not None else None
        self._readers, self._writers = _engines(database, self._copy)
        self._writer: Writer | None = None
        try:
            with _opening(self.url, self.file):
                make_tables(self._readers, self._writers, self.url)
        except StoreError:
            self.close()
            raise
        self._opened = _identity(self.file)

    def submit(self, operation: Callable[[sa.Connection], T]) -> Future[T]:
        """Queue a write; returns a `concurrent.futures.Future` that ends after the commit."""
        return self._only_writer().submit(operation)

    def _only_writer(self) -> Writer:
        if self.readonly:
            raise StoreError(f"the store {self.url} {READ_ONLY}")
        if self._writer is None:
            self._writer = Writer(self._writers, self.check_same, lambda: self._telling("written"))
        return self._writer

    def check_same(self) -> None:
        """Whether its file is still the one that was opened.

        Raises:
            StoreError: It was deleted, moved or replaced meanwhile.
        """
        if self.file is None or (found := _identity(self.file)) == self._opened:
            return
        raise StoreError(changed(self.url, "deleted or moved" if found is None else "replaced"))

    def write(self, operation: Callable[[sa.Connection], T]) -> T:
        """Write and wait for the commit."""
        return self.submit(operation).result()

    async def awrite(self, operation: Callable[[sa.Connection], T]) -> T:
        """Write without holding up the event loop; goes on after the commit."""
        return await self._only_writer().write(operation)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for reading one consistent state."""
        with self._telling("read"), waited(self._readers.connect) as connection:
            if self.file is None:  # A file's readers see one state anyway.
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def rows(self, query: sa.Select[Any], column: sa.ColumnElement[Any], values: Iterable[str]) -> list[Any]:
        """Return the rows of a query whose column has one of these values, however many they are."""
        wanted, found = sorted(set(values)), list[Any]()
        with self.reading() as connection:
            for start in range(0, len(wanted), MANY):
                found += connection.execute(query.where(column.in_(wanted[start : start + MANY])))
        return found

    @contextmanager
    def _telling(self, done: str) -> Iterator[None]:
        """Turn what the database cannot help, such as a full disk, into one message."""
        try:
            yield
        except NOT_OURS:
            raise
        except DBAPIError as error:
            raise StoreError(told(error, self.url, done, self.file)) from error

    def insert_new(self, connection: sa.Connection, table: sa.Table, *rows: dict[str, Any]) -> None:
        """Insert rows whose primary key is new; leave the others as they are."""
        if rows:
            connection.execute(_statements(self._dialect, table)[0], list(rows))

    def is_new(self, connection: sa.Connection, table: sa.Table, row: dict[str, Any]) -> bool:
        """Insert a row whose primary key is new, and say whether it was."""
        # Not every driver counts the rows of an insert unasked, and an unknown number is not nought.
        kept = {"preserve_rowcount": True}
        return connection.execute(_statements(self._dialect, table)[0], row, execution_options=kept).rowcount == 1

    def upsert(self, connection: sa.Connection, table: sa.Table, *rows: dict[str, Any]) -> None:
        """Insert whole rows, or replace those with their primary keys."""
        if rows:
            connection.execute(_statements(self._dialect, table)[1], rows[0] if len(rows) == 1 else list(rows))

    @property
    def _dialect(self) -> str:
        return self._writers.dialect.name

    def close(self) -> None:
        """Finish queued writes and let go of the database."""
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
    """Insert what is new, and insert or replace; made once, for they are executed at every step of a run."""
    # The dialect in use is loaded already; to load the other one takes as long as a small command.
    insert: Any = import_module(f"sqlalchemy.dialects.{dialect}").insert(table)
    keys = [column.name for column in table.primary_key]
    rest = {column.name: insert.excluded[column.name] for column in table.columns if column.name not in keys}
    return insert.on_conflict_do_nothing(), insert.on_conflict_do_update(index_elements=keys, set_=rest)


def store_exists(url: str | Path) -> bool:
    """Return whether there is a store at this place, which is left as it is.

    Raises:
        StoreError: It has another version, or cannot be opened.
    """
    database, _ = _places(str(url))
    file = Path(str(database.database)) if database.get_backend_name() == "sqlite" else None
    if file is not None and not file.exists():
        return False
    copy = ReadOnlyFile(file) if file is not None and is_readonly(file) else None
    readers, _ = _engines(database, copy)
    try:
        with _opening(shown(str(url)), file), readers.connect() as connection:
            return has_tables(connection, shown(str(url)))
    finally:
        readers.dispose()
        if copy is not None:
            copy.close()


@contextmanager
def _opening(url: str, file: Path | None) -> Iterator[None]:
    """Turn what keeps a database from being opened into one message."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = getattr(error, "orig", None) or error
        folder = file.absolute().parent if file is not None else None
        barred = folder is not None and not os.access(folder, os.W_OK)
        why = f"; {folder} cannot be written to, which SQLite needs: copy the store to where it can" if barred else ""
        what = advice(str(cause), url, file) if not barred else ""
        raise StoreError(f"the store {url} cannot be opened: {cause}{why}" + (f"; {what}" if what else "")) from error


def _identity(file: Path | None) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        seen = os.stat(file) if file is not None else None
    except OSError:
        return None
    return (seen.st_dev, seen.st_ino) if seen is not None else None


def now() -> float:
    """Return the time that goes into rows."""
    return time.time()


def shown(url: str) -> str:
    """Return the URL as it may be shown: without a password."""
    return re.sub(r"(://[^:/@]*:)[^@]*@|([?&]password=)[^&]*", lambda m: f"{m[1]}***@" if m[1] else f"{m[2]}***", url)


def _places(url: str) -> tuple[sa.URL, str]:
    """Return the database's URL and the place of the images."""
    if "://" not in url:
        folder = Path(url)
        if folder.is_file():
            raise UsageError(f"--store {url} is a file; name a folder, or sqlite:///{url}")
        return sa.URL.create("sqlite", database=str(folder / "limner.db")), str(folder / "blobs")
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (SQLAlchemyError, ValueError) as error:
        raise UsageError(f"--store {shown(url)}: not a database URL") from error
    if backend == "sqlite":
        if not parsed.database or parsed.database == ":memory:":
            raise UsageError("--store: a store must be a file, because runs resume from it")
        place = parsed.query.get("blobs") or str(Path(parsed.database).with_suffix(".blobs"))
        return parsed.difference_update_query(["blobs"]), str(place)
    if backend != "postgresql":
        raise UsageError(f"--store {shown(url)}: SQLite and PostgreSQL are known, not {backend}")
    blobs = parsed.query.get("blobs")
    if not isinstance(blobs, str):
        raise UsageError(f"--store {shown(url)}: add ?blobs=FOLDER_OR_URL, the place of the images")
    parsed = parsed.difference_update_query(["blobs"])
    return (parsed if "+" in parsed.drivername else parsed.set(drivername="postgresql+psycopg")), blobs


def _engines(url: sa.URL, readonly: ReadOnlyFile | None = None) -> tuple[sa.Engine, sa.Engine]:
    """Engines for reading and for writing."""
    try:
        if url.get_backend_name() != "sqlite":
            engine = sa.create_engine(url, pool_pre_ping=True)
            return engine, engine
        if readonly is not None:
            engine = readonly.engine(BUSY_S)
            return engine, engine
        readers = sa.create_engine(url, connect_args={"timeout": BUSY_S}, json_deserializer=parsed)
        writers = sa.create_engine(url, connect_args={"timeout": BUSY_S}, json_deserializer=parsed)
    except ModuleNotFoundError as error:
        raise StoreError(f"{error}; install the driver with: pip install 'limner[postgres]'") from error
    for engine, begin in ((readers, "BEGIN"), (writers, "BEGIN IMMEDIATE")):
        sa.event.listen(engine, "connect", _pragmas)
        sa.event.listen(engine, "begin", lambda connection, begin=begin: connection.exec_driver_sql(begin))
    return readers, writers


_NOTHING: dict[str, Callable[[], Any]] = {"{}": dict, "[]": list, "null": lambda: None}


def parsed(text: str) -> Any:
    """Return what the text of a JSON column says: mostly nothing."""
    made = _NOTHING.get(text)
    if made is not None:
        return made()
    try:
        return from_json(text)  # Several times faster than what comes with Python, and stricter.
    except ValueError:
        return json.loads(text)


def _pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level = None  # Transactions are begun by us, not guessed by the driver.
    cursor = connection.cursor()
    _turn_to_wal(cursor)
    # What is committed outlives this process whatever ends it; a power failure may cost the last moments.
    cursor.execute("PRAGMA synchronous=NORMAL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _turn_to_wal(cursor: Any) -> None:
    """Several processes may make a store at once; here alone SQLite itself does not wait for its turn."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.005)


def open_store(store: str | Path = DEFAULT, *, create: bool = False) -> Store:
    """Open a store by its place: a folder, ``sqlite:///FILE.db`` or ``postgresql://…?blobs=FOLDER``.

    Every function of `limner.api` takes it as ``store=``. Close it with ``close()``, or use it in a ``with`` block.

    Raises:
        NoStore: There is none, and it is not to be made.
    """
    return Store(store, create=create)


@contextmanager
def using_store(store: Store | str | Path, *, create: bool = False) -> Iterator[Store]:
    """Open a store by its place and close it at the end; a store that is open already stays open."""
    if isinstance(store, Store):
        yield store
    else:
        with open_store(store, create=create) as fresh:
            yield fresh


@contextmanager
def open_or_empty(store: str | Path) -> Iterator[Store]:
    """The store, or where there is none an empty one that leaves nothing behind."""
    if store_exists(store):
        with open_store(store) as found:
            yield found
    else:
        with tempfile.TemporaryDirectory(prefix="limner-") as folder, Store(folder) as empty:
            yield empty


READ_ONLY = "can only be read here: copy it to where it can be written"


def is_readonly(file: Path) -> bool:
    """Whether a database is there that cannot be written: SQLite needs the file and its folder for that."""
    return file.exists() and not (os.access(file, os.W_OK) and os.access(file.absolute().parent, os.W_OK))


class ReadOnlyFile:
    """A database that is read without leaving anything beside it, with what stands in its log alone.

    SQLite reads a log (``-wal``) where its index (``-shm``) lies beside it. Where there is no log, the file itself is
    all there is. A log without its index is the one case where SQLite has to write: then a copy is read.
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
        """Return an engine that only reads."""
        uri = f"file:{quote(str(self._file))}?{self._how}"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(uri, uri=True, timeout=busy_s, check_same_thread=False)
            connection.isolation_level = None  # Transactions are begun by us, not guessed by the driver.
            return connection

        engine = sa.create_engine("sqlite://", creator=connect, poolclass=QueuePool)
        sa.event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
        return engine

    def close(self) -> None:
        """Remove the copy, where there is one."""
        if self._folder is not None:
            self._folder.cleanup()
