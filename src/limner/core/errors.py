"""Errors shown to users; each says what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path


class LimnerError(Exception):
    """The base of all errors that are shown to users as one message, without a traceback."""

    exit_code = 1


class UsageError(LimnerError):
    """A wrong command or call."""

    exit_code = 2


class DataError(LimnerError):
    """An error in a data file, with the file and, if known, the line and the id."""

    def __init__(
        self, message: str, *, file: Path | str | None = None, line: int | None = None, id: str | None = None
    ) -> None:
        self.message, self.file, self.line, self.id = message, file, line, id
        place = f"{file}:{line}" if file and line else str(file or "")
        parts = [p for p in (place, f"id {id}" if id else "", message) if p]
        super().__init__(": ".join(parts))


class Lacking(LimnerError):
    """A lack of something that one question needs; other questions are not affected."""


class StoreError(LimnerError):
    """A store that cannot be opened, read or written."""


class NoStore(StoreError):
    """A place without a store."""


class LostImage(StoreError):
    """A stored image that cannot be read; other images are not affected."""


class DamagedImage(LostImage):
    """A stored image whose bytes do not match its hash."""


class StopRun(LimnerError):
    """A fault that makes every further call pointless, such as a refused key."""


PARQUET = ".parquet"
"""The suffix of Parquet files."""


def need_extra(package: str, extra: str, what: str) -> None:
    """Check that a package is installed.

    Raises:
        UsageError: It is not; the message says what needs it and how to install it.

    >>> need_extra("no_such_package", "plots", "this plot")
    Traceback (most recent call last):
    limner.core.errors.UsageError: this plot needs no_such_package; install it with: pip install 'limner[plots]'
    """
    if find_spec(package) is None:
        raise UsageError(f"{what} needs {package}; install it with: pip install 'limner[{extra}]'")


def need_polars(what: str) -> None:
    """Check that polars, which reads and writes Parquet files, is installed.

    Raises:
        UsageError: It is not installed.
    """
    need_extra("polars", "parquet", what)


def check_tables(files: Iterable[Path]) -> None:
    """Check that the packages for reading these files are installed.

    Raises:
        UsageError: One is a Parquet file, and polars is not installed.
    """
    for file in files:
        if file.suffix == PARQUET:
            need_polars(f"{file}: a Parquet file")
