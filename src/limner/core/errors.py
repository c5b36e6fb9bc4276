"""All errors shown to users. Each says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path


class LimnerError(Exception):
    """Base of all errors shown to the user as one message, without a traceback."""

    exit_code = 1


class UsageError(LimnerError):
    """A wrong command or call."""

    exit_code = 2


class DataError(LimnerError):
    """An error in a data file, with the file and, where known, the line and the id."""

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, id: str | None = None
    ) -> None:
        self.message, self.file, self.line, self.id = message, file, line, id
        place = f"{file}:{line}" if file and line else str(file or "")
        parts = [p for p in (place, f"id {id}" if id else "", message) if p]
        super().__init__(": ".join(parts))


class Lacking(LimnerError):
    """Something that a single question needs is missing; other questions continue."""


class StoreError(LimnerError):
    """A store that cannot be opened, read or written."""


class NoStore(StoreError):
    """A place without a store."""


class LostImage(StoreError):
    """A stored image that cannot be read; other images continue."""


class DamagedImage(LostImage):
    """A stored image whose bytes do not match its hash."""


class StopRun(LimnerError):
    """A fault that makes every further call pointless, such as a refused key."""


PARQUET = ".parquet"
"""The suffix of Parquet files."""


def need_extra(package: str, extra: str, what: str) -> None:
    """Raise unless a package can be imported.

    Raises:
        UsageError: It is not installed; names what needs it and the line that installs it.

    >>> need_extra("no_such_package", "plots", "this plot")
    Traceback (most recent call last):
    limner.core.errors.UsageError: this plot needs no_such_package; install it with: pip install 'limner[plots]'
    """
    if find_spec(package) is None:
        raise UsageError(f"{what} needs {package}; install it with: pip install 'limner[{extra}]'")


def need_polars(what: str) -> None:
    """Raise unless polars, which reads and writes Parquet files, can be imported.

    Raises:
        UsageError: It is not installed.
    """
    need_extra("polars", "parquet", what)


def check_tables(files: Iterable[Path]) -> None:
    """Raise if a file cannot be read because a package is missing.

    Raises:
        UsageError: One is a Parquet file, and polars is not installed.
    """
    for file in files:
        if file.suffix == PARQUET:
            need_polars(f"{file}: a Parquet file")
