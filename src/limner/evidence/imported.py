"""Values that were measured elsewhere, from a CSV file: ``id`` and ``painter``, or ``image``, and the value."""

from __future__ import annotations

import csv
import hashlib
import math
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from ..core.data_files import Problems, read_lines, short
from ..core.errors import DataError
from ..core.evidence import AESTHETICS, REGIONS, TABLE
from ..store import Store
from ..store.records import Drawing, evidence_row
from ..store.schema import evidence as table
from .find_drawing import DrawingFinder

COLUMNS = {AESTHETICS: ("score", 100.0, False), REGIONS: ("count", math.inf, True)}
"""What is measured: the column of its value, the most it can be, whether it is a whole number."""


@dataclass(frozen=True)
class ImportedValues:
    """The values of a file, by the drawing's image or, for drawings without one, by the drawing's id."""

    evidence: str
    backend: str
    values: Mapping[str, float]

    def save(self, store: Store) -> Future[None]:
        """Keep the values; the future ends with the commit."""
        rows = [evidence_row(subject, self.evidence, self.backend, value) for subject, value in self.values.items()]

        def write(connection: sa.Connection) -> None:
            for row in rows:
                store.upsert(connection, table, row)

        return store.submit(write)


def read_table(evidence: str, path: Path, drawings: Iterable[Drawing], name: str | None = None) -> ImportedValues:
    """Read a file of values and find the drawing that each row is about.

    Args:
        evidence: ``aesthetics`` (column ``score``, 0 to 100) or ``regions`` (column ``count``).
        path: The file. A row names a drawing by ``id``, with ``painter`` and ``seed`` where several fit, or by
            ``image``: its sha256, or the path of its file beside the table.
        drawings: Those of the exam.
        name: What measured the values; the file's name and hash by default.

    Raises:
        DataError: With file and line of everything that is wrong.
    """
    lines = [line.removesuffix("\r") for line in read_lines(path)]
    column = COLUMNS[evidence][0]
    rows = csv.DictReader(lines, strict=True)
    try:
        heads = [head.strip() for head in rows.fieldnames or ()]
    except csv.Error as error:
        raise DataError(f"not CSV: {error}", file=path, line=1) from error
    if column not in heads or not {"id", "image"} & set(heads) or len(set(heads)) < len(heads):
        wanted = f"id,painter,{column} or image,{column}"
        raise DataError(f"the first line must name the columns, each once: {wanted}; it says {heads}", file=path)
    rows.fieldnames = heads
    finder, problems = DrawingFinder(drawings, path.parent), Problems()
    values: dict[str, tuple[float, int]] = {}
    try:
        for row in rows:
            at = rows.line_num
            if None in row or None in row.values():
                problems.add(f"{len(heads)} columns are wanted", path, at)
                continue
            try:
                value, drawing = _value(evidence, row[column]), finder.find(row)
            except ValueError as error:
                problems.add(str(error), path, at, short(row.get("id") or "") or None)
                continue
            subject = drawing.image or drawing.id
            if subject in values and values[subject][0] != value:
                old, there = values[subject]
                problems.add(f"line {there} says {old:g} of the same image", path, at, drawing.question_id)
            values.setdefault(subject, (value, at))
    except csv.Error as error:
        problems.add(f"not CSV: {error}", path, rows.reader.line_num)
    if not values and not problems.found:
        problems.add("there is no row in this file", path)
    problems.settle()
    return ImportedValues(evidence, table_name(path, name), {subject: value for subject, (value, _) in values.items()})


def table_name(path: Path, name: str | None = None) -> str:
    """What the values of a table go by: the name that was given, or the file's with its hash."""
    return TABLE + (name or f"{path.name}#{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}")


def _value(evidence: str, word: str) -> float:
    column, most, whole = COLUMNS[evidence]
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{column}: {word!r} is no number") from None
    if not 0 <= value <= most or not math.isfinite(value):
        limit = f"from 0 to {most:g}" if math.isfinite(most) else "of at least 0"
        raise ValueError(f"{column}: {word} is not a number {limit}")
    if whole and value != int(value):
        raise ValueError(f"{column}: {word} is no whole number")
    return int(value) if whole else value
