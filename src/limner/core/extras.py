"""Packages that Limner's extras bring: what needs one says so, with the line that installs it."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from .errors import UsageError

PARQUET = ".parquet"
"""How the name of such a file ends."""


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
    """Raise where a file cannot be read for want of a package.

    Raises:
        UsageError: One is a Parquet file, and there is no polars.
    """
    for file in files:
        if file.suffix == PARQUET:
            need_polars(f"{file}: a Parquet file")
