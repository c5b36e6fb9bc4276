"""SQLite databases in places that can only be read: a read-only mount, or a folder of somebody else's."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

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
        """An engine that only reads."""
        uri = f"file:{quote(str(self._file))}?{self._how}"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(uri, uri=True, timeout=busy_s, check_same_thread=False)
            connection.isolation_level = None  # Transactions are begun by us, not guessed by the driver.
            return connection

        engine = sa.create_engine("sqlite://", creator=connect, poolclass=QueuePool)
        sa.event.listen(engine, "begin", _begin)
        return engine

    def close(self) -> None:
        """Remove the copy, where there is one."""
        if self._folder is not None:
            self._folder.cleanup()


def _begin(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN")
