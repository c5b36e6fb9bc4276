"""Rows of data files (JSON, JSON lines, CSV, TSV, Parquet), with every problem reported by file and line.

CSV is written here too: text that a spreadsheet would run as a formula is marked as text.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from .errors import PARQUET, DataError, check_tables

Rows = Iterator[tuple[int, dict[str, Any]]]
"""The line number (in Parquet files, the row) and the columns of each row of a file."""
MAX_ROWS = 200_000
MAX_BYTES = 2**31
"""The largest data file that is read."""
MAX_PROBLEMS_SHOWN = 20
MAX_ALIKE_SHOWN = 3
"""The most problems shown that have the same message, such as where a name is misspelled."""
MAX_TEXT_SHOWN = 80
_GAP = re.compile(r"[\s,:]*+")


def shorten(text: str) -> str:
    """Shorten a text so that it fits into a message."""
    return text if len(text) <= MAX_TEXT_SHOWN else f"{text[:MAX_TEXT_SHOWN]}… ({len(text):,} characters)"


class Problems:
    """The problems of a data set, collected to be reported together."""

    def __init__(self) -> None:
        self.found: list[DataError] = []

    def add(self, message: str, file: Path, line: int | None = None, id: str | None = None) -> None:
        """Record a problem."""
        self.found.append(DataError(message, file=file, line=line, id=id))

    def settle(self) -> None:
        """Raise an error if there are any problems.

        Raises:
            DataError: There are problems; several are listed in one message.
        """
        if len(self.found) == 1:
            raise self.found[0]
        if self.found:
            seen = Counter[str]()
            kept = []
            for problem in self.found:
                seen[problem.message] += 1
                if seen[problem.message] <= MAX_ALIKE_SHOWN:
                    kept.append(problem)
            shown = [str(problem) for problem in kept[:MAX_PROBLEMS_SHOWN]]
            if rest := len(self.found) - len(shown):
                shown.append(f"… and {rest} more{' like these' if len(kept) <= MAX_PROBLEMS_SHOWN else ''}")
            raise DataError(f"{len(self.found)} problems:\n  " + "\n  ".join(shown))


def read_rows(file: Path, problems: Problems, levels: Sequence[str] | None = None) -> Rows:
    """Yield the rows of a file in the format that its name ends in; pictures of Parquet files are `EmbeddedImage`.

    Args:
        file: The file.
        problems: Receives what is wrong; rows without problems are yielded all the same.
        levels: The columns for the keys of nested JSON objects, see `json_rows`.

    Raises:
        DataError: The file cannot be read.
        UsageError: It is a Parquet file, and polars is not installed.
    """
    if file.is_file() and file.stat().st_size > MAX_BYTES:
        problems.add(f"has more than {MAX_BYTES / 1e9:.1f} GB", file)
        return
    rows = _READERS.get(file.suffix.lower())
    for number, row in enumerate(rows(file, problems) if rows else json_rows(file, problems, levels)):
        if number >= MAX_ROWS:
            problems.add(f"has more than {MAX_ROWS:,} rows", file)
            return
        yield row


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file."""
    return list(stream_lines(path))


def stream_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, one at a time."""
    try:
        with path.open("rb") as file:
            done = 0
            for number, data in enumerate(file, 1):
                data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
                try:
                    yield data.decode().removesuffix("\n")
                except UnicodeDecodeError as error:
                    raise DataError(f"not UTF-8 (byte {done + error.start})", file=path, line=number) from error
                done += len(data)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from error


def json_lines(path: Path, problems: Problems, broken: Problems | None = None) -> Rows:
    """Yield the number and object of each line; other lines go to `problems`, or to `broken` if they are not JSON."""
    for number, line in enumerate(stream_lines(path), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            (problems if broken is None else broken).add(f"not JSON: {error}", path, number)
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.add(f"expected a JSON object, not {type(row).__name__}", path, number)


def json_rows(path: Path, problems: Problems, levels: Sequence[str] | None = None) -> Rows:
    """Yield the line number and object of each entry of a JSON file: lines, a list, or objects that hold the entries.

    Args:
        path: The file.
        problems: Receives what is wrong.
        levels: The names of the levels of nested objects, outermost first; a row gets the key of each as a column.
            By default, an object of objects has its rows by ``id``, and another object is one row itself.
    """
    if not _is_whole(path):
        yield from json_lines(path, problems)
        return
    text = "\n".join(read_lines(path))
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.add(f"not JSON: {error}", path, getattr(error, "lineno", None))
        return
    if levels is None:
        by_id = isinstance(whole, dict) and whole and all(isinstance(entry, dict) for entry in whole.values())
        levels = ("id",) if by_id else ()
    line, done = 1, 0
    for at, keys, row in _entries(text, 0, len(levels), ()):
        line, done = line + text.count("\n", done, at), at
        if isinstance(row, dict):
            yield line, dict(zip(levels, keys, strict=False)) | row
        else:
            problems.add(f"expected a JSON object, not {type(row).__name__}", path, line)


def _is_whole(path: Path) -> bool:
    """Return whether a file is one JSON value, not one on each line."""
    lines = (line.strip() for line in stream_lines(path) if line.strip())
    first = next(lines, "")
    if first.startswith("["):
        return True
    if path.suffix.lower() != ".json" or not first.startswith("{"):
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return not next(lines, "").startswith("{")
    return next(lines, None) is None


def _entries(
    text: str, at: int, depth: int, keys: tuple[str, ...]
) -> Generator[tuple[int, tuple[str, ...], Any], None, int]:
    """Yield the position, keys and value of each entry of a valid JSON text, and return where the text goes on."""
    at = _skip(text, at)
    if text[at] == "[":
        at = _skip(text, at + 1)
        while text[at] != "]":
            value, end = _DECODER.raw_decode(text, at)
            yield at, keys, value
            at = _skip(text, end)
        return at + 1
    if text[at] == "{" and len(keys) < depth:
        at = _skip(text, at + 1)
        while text[at] != "}":
            key, end = _DECODER.raw_decode(text, at)
            at = _skip(text, (yield from _entries(text, end, depth, (*keys, key))))
        return at + 1
    value, end = _DECODER.raw_decode(text, at)
    yield at, keys, value
    return end


_DECODER = json.JSONDecoder()


def _skip(text: str, at: int) -> int:
    """Return the position of the next character that is not blank and not a comma or colon between values."""
    gap = _GAP.match(text, at)
    return gap.end() if gap else at


def csv_rows(path: Path, problems: Problems) -> Rows:
    """Yield the rows of a table with a line of column names; empty cells are left out."""
    table = csv.reader(
        io.StringIO("\n".join(read_lines(path)), newline=""), delimiter="\t" if path.suffix.lower() == ".tsv" else ","
    )
    names: list[str] | None = None
    line = 0
    try:
        for cells in table:
            first, line = line + 1, table.line_num
            if not any(cells):
                continue
            if names is None:
                names = [name.strip() for name in cells]
                if twice := sorted({name for name in names if name and names.count(name) > 1}):
                    problems.add(f"has two columns {twice[0]!r}", path, first)
                    return
            elif len(cells) != len(names):
                problems.add(f"has {len(cells)} cells for {len(names)} columns", path, first)
            else:
                yield first, {name: plain_cell(cell) for name, cell in zip(names, cells, strict=True) if name and cell}
    except csv.Error as error:
        problems.add(f"not readable as a table: {error}", path, line + 1)


@dataclass(frozen=True)
class EmbeddedImage:
    """An image inside a Parquet file; `part` is its number if the column holds lists of images."""

    file: Path
    column: str
    row: int
    part: int | None = None

    def load(self) -> bytes:
        """Return its bytes."""
        value = _images(self.file, self.column, self.row // CHUNK)[self.row % CHUNK]
        value = value if self.part is None else value[self.part]
        return (value.get("bytes") if isinstance(value, dict) else value) or b""


CHUNK = 64
"""The number of rows whose images are in memory at a time."""


@lru_cache(maxsize=4)
def _images(file: Path, column: str, chunk: int) -> list[Any]:
    """Return the images of one column in some rows of a Parquet file."""
    import polars

    rows = polars.scan_parquet(file, glob=False).select(column).slice(chunk * CHUNK, CHUNK)
    return rows.collect()[column].to_list()


def parquet_rows(path: Path, problems: Problems) -> Rows:
    """Yield the rows of a Parquet file, without missing values; images, alone or in lists, are `EmbeddedImage`.

    Raises:
        DataError: The file is not a valid Parquet file.
        UsageError: polars is not installed.
    """
    check_tables([path])
    import polars
    from polars.exceptions import PanicException, PolarsError

    try:
        table = polars.scan_parquet(path, glob=False)
        count = table.select(polars.len()).collect().item()
        if count > MAX_ROWS:
            problems.add(f"has more than {MAX_ROWS:,} rows", path)
            return
        # Of pictures, only their number is read here, or whether there is one.
        columns, pictures = [], set[str]()
        for name, kind in table.collect_schema().items():
            column, inner = polars.col(name), kind.inner if isinstance(kind, polars.List) else None
            if _is_picture(kind):
                data = column if isinstance(kind, polars.Binary) else column.struct.field("bytes")
                column = (data.bin.size().fill_null(0) > 0).alias(name)
                pictures.add(name)
            elif inner is not None and _is_picture(inner):
                column = column.list.len()
                pictures.add(name)
            columns.append(column)
        for number, row in enumerate(table.select(columns).collect().iter_rows(named=True)):
            images = {name: _embedded(path, name, number, row[name]) for name in pictures}
            yield number + 1, {name: plain_value(value) for name, value in (row | images).items() if value is not None}
    except (OSError, ValueError, TypeError, PolarsError, PanicException) as error:
        raise DataError(f"not readable as Parquet: {shorten(str(error))}", file=path) from error


def _is_picture(kind: Any) -> bool:
    import polars

    return isinstance(kind, polars.Binary) or (isinstance(kind, polars.Struct) and "bytes" in kind.to_schema())


def _embedded(
    path: Path, column: str, row: int, count: bool | int | None
) -> EmbeddedImage | list[EmbeddedImage] | None:
    if count is True:
        return EmbeddedImage(path, column, row)
    return [EmbeddedImage(path, column, row, part) for part in range(count)] if count else None


def plain_value(value: Any) -> Any:
    """Return a value of a table as JSON would hold it: no missing values, and dates and decimals as text.

    >>> plain_value({"a": None, "b": [1, float("nan")], "c": float("nan")})
    {'b': [1, None]}
    """
    if isinstance(value, Mapping):
        inside = {name: plain_value(inner) for name, inner in value.items()}
        return {name: inner for name, inner in inside.items() if inner is not None}
    if isinstance(value, list | tuple):
        return [plain_value(inner) for inner in value]
    if isinstance(value, float) and math.isnan(value):
        return None
    if value is None or isinstance(value, str | bool | int | float | bytes | EmbeddedImage):
        return value
    return str(value)


_READERS: Mapping[str, Callable[[Path, Problems], Rows]] = {
    ".csv": csv_rows,
    ".tsv": csv_rows,
    PARQUET: parquet_rows,
    ".jsonl": json_rows,
}
TABLES = (".json", *_READERS)
"""The suffixes of data files."""


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""First characters of a cell that a spreadsheet takes for a formula."""
MARK = "'"
"""The first character by which a spreadsheet knows text."""


def write_csv(names: Sequence[str], rows: Iterable[Mapping[str, Any]], line_end: str = "\n") -> str:
    """Return rows as CSV with these columns; values that a row lacks are empty, and columns not named are left out."""
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, extrasaction="ignore", lineterminator=line_end)
    writer.writerow({name: safe_cell(name) for name in names})
    writer.writerows({name: safe_cell(value) for name, value in row.items()} for row in rows)
    return buffer.getvalue()


def safe_cell(value: Any) -> Any:
    """Return the value of a cell, marked as text if it would be a formula; numbers are kept.

    >>> [safe_cell(value) for value in ("=1+1", "-0.5", "@a", "plain", -2)]
    ["'=1+1", '-0.5', "'@a", 'plain', -2]
    """
    if not isinstance(value, str) or not value.startswith(FORMULA):
        return value
    try:
        float(value)
    except ValueError:
        return MARK + value
    return value


def plain_cell(value: Any) -> Any:
    """Return the value of a cell that `write_csv` wrote, without its mark.

    >>> [plain_cell(value) for value in ("'=1+1", "'tis", None)]
    ['=1+1', "'tis", None]
    """
    marked = isinstance(value, str) and value.startswith(MARK) and value[1:].startswith(FORMULA)
    return value[1:] if marked else value
