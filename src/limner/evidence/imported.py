"""Values that were measured elsewhere, from a CSV file: ``id`` and ``painter``, or ``image``, and the value."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import sqlalchemy as sa

from ..core.data_files import Problems, read_lines, short
from ..core.errors import DataError
from ..core.evidence import AESTHETICS, REGIONS, TABLE
from ..store import Store
from ..store.measurements import evidence_row
from ..store.records import Drawing
from ..store.schema import evidence as table

COLUMNS = {AESTHETICS: ("score", 100.0, False), REGIONS: ("count", math.inf, True)}
"""What is measured: the column of its value, the most it can be, whether it is a whole number."""
BY_IMAGE = ("id", "painter", "seed", "image")
"""The columns by which a row of such a table may name its drawing."""
_HASH = re.compile(r"[0-9a-f]{64}")


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
    finder, problems = DrawingFinder(list(drawings), path.parent), Problems()
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


class DrawingFinder:
    """Finds the drawing that a row of a table is about.

    Args:
        drawings: Those of the exam.
        folder: Where images are that a row may name.
        keys: The columns that a row may name it by.
    """

    def __init__(self, drawings: list[Drawing], folder: Path, keys: tuple[str, ...] = BY_IMAGE) -> None:
        self._folder, self._keys = folder, keys
        self._done = [drawing for drawing in drawings if drawing.status == "done"]

    def find(self, row: Mapping[str, str]) -> Drawing:
        """The drawing, or one of several with the same image.

        Raises:
            ValueError: None fits, or several images do.
        """
        return self.find_all(row)[0]

    def find_all(self, row: Mapping[str, str]) -> list[Drawing]:
        """The drawing, with all others that have the same image and fit the row as well.

        Raises:
            ValueError: None fits, or several images do.
        """
        said = {key: (row.get(key) or "").strip() for key in self._keys}
        fitting = self._done
        for key, value in said.items():
            if value:
                wanted = self._hash(value) if key == "image" else value
                fitting = [drawing for drawing in fitting if wanted in _names_of(drawing, key)]
                if not fitting:
                    raise ValueError(f"no drawing in the store with {key} {value!r}{self._hint(key)}")
        if not said["id"] and not said.get("image"):
            raise ValueError("an id or an image is wanted")
        # One image that several painters handed in is one subject.
        if len({drawing.image or drawing.id for drawing in fitting}) > 1:
            telling = [key for key in ("painter", "strategy") if key in self._keys and len(_names(fitting, key)) > 1]
            raise ValueError(f"{said['id']!r}: {len(fitting)} drawings fit; add the column {[*telling, 'seed'][0]}")
        return fitting

    def _hint(self, key: str) -> str:
        known = sorted({word for drawing in self._done for word in _names_of(drawing, key)}) if key == "painter" else []
        return f"; there is: {', '.join(known)}" if known else ""

    def _hash(self, word: str) -> str:
        if _HASH.fullmatch(word.lower()):
            return word.lower()
        pure = PurePosixPath(word)
        path = self._folder / pure
        if pure.is_absolute() or ".." in pure.parts or "\0" in word:
            raise ValueError(f"image {word!r} leaves the folder {self._folder}")
        try:
            if not path.resolve().is_relative_to(self._folder.resolve()):
                raise ValueError(f"image {word!r} leaves the folder {self._folder} through a link")
            return hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise ValueError(f"image {word!r} is neither a sha256 nor a file beside the table") from error


def _names(drawings: Iterable[Drawing], key: str) -> set[str]:
    return {str(getattr(drawing, key)) for drawing in drawings}


def _names_of(drawing: Drawing, key: str) -> set[str]:
    if key == "painter":
        return {drawing.painter, drawing.label}
    known = {"id": drawing.question_id, "seed": drawing.seed, "image": drawing.image, "strategy": drawing.strategy}
    return {str(known[key])}
