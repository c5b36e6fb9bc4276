"""Import of values for drawings and painters from CSV files, and matching of rows to drawings."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from ..calls import setup_id
from ..core.data_rows import Problems, csv_rows, shorten
from ..core.evidence import AESTHETICS, REGIONS, TABLE_PREFIX
from ..store import Store
from ..store.markings import PainterMetric, Rating, save_ratings
from ..store.records import Drawing, evidence_row, save_setup
from ..store.schema import evidence as table

COLUMNS = {AESTHETICS: ("score", 100.0, False), REGIONS: ("count", math.inf, True)}
"""The column of each evidence's values, their maximum, and whether they are whole numbers."""


@dataclass(frozen=True)
class ImportedValues:
    """The values of a file, by the hash of the drawing's image or, if it has none, by the drawing's id."""

    evidence: str
    backend: str
    values: Mapping[str, float]

    def save(self, store: Store) -> Future[None]:
        """Store the values; the future ends with the commit."""
        rows = (evidence_row(subject, self.evidence, self.backend, value) for subject, value in self.values.items())
        return store.save(table, *rows)


def read_table(evidence: str, path: Path, drawings: Iterable[Drawing], name: str | None = None) -> ImportedValues:
    """Read a file of values and match each row to its drawing.

    Args:
        evidence: ``aesthetics`` (column ``score``, 0 to 100) or ``regions`` (column ``count``).
        path: The file. A row names a drawing by ``id``, with ``painter`` and ``seed`` if several match, or by
            ``image``: its sha256, or the path of its file relative to the table's folder.
        drawings: The exam's drawings.
        name: The backend of the values; the file's name and hash by default.

    Raises:
        DataError: The file has errors; the message gives the file and line of each.
    """
    column = COLUMNS[evidence][0]
    finder, problems = DrawingFinder(drawings, path.parent), Problems()
    values: dict[str, tuple[float, int]] = {}
    for line, row in csv_rows(path, problems):
        try:
            if column not in row:
                raise ValueError(f"no {column}; the columns are id,painter,{column} or image,{column}")
            value, drawing = _parse_value(evidence, row[column]), finder.find(row)[0]
        except ValueError as error:
            problems.add(str(error), path, line, shorten(row.get("id") or "") or None)
            continue
        subject = drawing.image or drawing.id
        if subject in values and values[subject][0] != value:
            old_value, old_line = values[subject]
            problems.add(f"line {old_line} says {old_value:g} of the same image", path, line, drawing.question_id)
        values.setdefault(subject, (value, line))
    _settle(problems, path, values)
    return ImportedValues(evidence, table_name(path, name), {subject: value for subject, (value, _) in values.items()})


def _settle(problems: Problems, path: Path, values: Mapping[str, Any]) -> None:
    if not values and not problems.found:
        problems.add("this file has no row", path)
    problems.settle()


def table_name(path: Path, name: str | None = None) -> str:
    """Return the name of a table's values: the given name, or the file's name and hash."""
    return TABLE_PREFIX + (name or f"{path.name}#{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}")


def _parse_value(evidence: str, word: str) -> float:
    column, most, whole = COLUMNS[evidence]
    try:
        value = float(word)
    except ValueError:
        raise ValueError(f"{column}: {word!r} is not a number") from None
    if not 0 <= value <= most or not math.isfinite(value):
        limit = f"from 0 to {most:g}" if math.isfinite(most) else "of at least 0"
        raise ValueError(f"{column}: {word} is not a number {limit}")
    if whole and value != int(value):
        raise ValueError(f"{column}: {word} is not a whole number")
    return int(value) if whole else value


METRIC_COLUMNS = ("id", "painter", "strategy", "seed", "metric", "value")
METRIC_KIND = "metric"
_NAME = re.compile(r"[\w.+:@-]{1,150}")


@dataclass(frozen=True)
class ImportedMetrics:
    """The metric values of a file.

    Attributes:
        setups: The evaluators of the metrics, by id.
        ratings: The values of drawings; the scale is the metric's name.
        painters: The values of painters.
    """

    setups: Mapping[str, dict[str, Any]]
    ratings: tuple[Rating, ...]
    painters: tuple[PainterMetric, ...]

    @property
    def names(self) -> list[str]:
        """The sorted names of the metrics."""
        return sorted({setup["judge"].removeprefix("metric/") for setup in self.setups.values()})

    def save(self, store: Store) -> None:
        """Store the values; return when all are committed."""
        for id, body in self.setups.items():
            save_setup(store, id, body, METRIC_KIND)
        save_ratings(store, [*self.ratings, *self.painters]).result()


def metric_setup(name: str, **computed: Any) -> tuple[str, dict[str, Any]]:
    """Return a metric as an evaluator: its id, and its body, which records how it was computed."""
    body = {"judge": f"metric/{name}", **computed}
    return setup_id(body), body


def read_metrics(path: Path, exam: str, drawings: Iterable[Drawing], name: str | None = None) -> ImportedMetrics:
    """Read a file of metrics and match each row to its drawing or painter.

    Args:
        path: The file, with the columns `METRIC_COLUMNS`; ``strategy`` and ``seed`` may be absent if only one drawing
            matches. A row without an id is about a painter as a whole.
        exam: The exam's name in the store.
        drawings: The exam's drawings.
        name: The name of the source of the values; the file's name and hash by default.

    Raises:
        DataError: The file has errors; the message gives the file and line of each.
    """
    drawings, source, problems = list(drawings), table_name(path, name), Problems()
    finder = DrawingFinder(drawings, path.parent, BY_SLOT)
    setups: dict[str, dict[str, Any]] = {}
    read: dict[str, tuple[Rating | PainterMetric, int]] = {}
    for line, cells in csv_rows(path, problems):
        row = {column: cell.strip() for column, cell in cells.items()}
        try:
            metric, value = _metric_and_value(row)
            setup, body = metric_setup(metric, source=source)
            numbers: list[Rating | PainterMetric]
            if row.get("id"):
                numbers = [Rating(drawing.id, setup, metric, value) for drawing in finder.find(row)]
            else:
                slot = _painter_slot(row, drawings)
                numbers = [PainterMetric(exam, slot[0], setup, value, *slot[1:], body={"source": source})]
            setups[setup] = body
            for number in numbers:
                earlier, earlier_line = read.setdefault(number.id, (number, line))
                if earlier.value != number.value:
                    raise ValueError(f"line {earlier_line} says {earlier.value:g} of the same; remove one of them")
        except ValueError as error:
            problems.add(str(error), path, line, shorten(row.get("id", "")) or None)
    _settle(problems, path, read)
    rows = [number for number, _ in read.values()]
    ratings = tuple(row for row in rows if isinstance(row, Rating))
    return ImportedMetrics(setups, ratings, tuple(row for row in rows if isinstance(row, PainterMetric)))


def _metric_and_value(row: Mapping[str, str]) -> tuple[str, float]:
    if not {"metric", "value"} <= row.keys() <= {*METRIC_COLUMNS}:
        raise ValueError(f"the columns are {','.join(METRIC_COLUMNS)}; this row has {', '.join(row)}")
    value = _parse_number(row["value"])
    if not _NAME.fullmatch(row["metric"]):
        raise ValueError(f"metric: {row['metric']!r} is not a name; use letters, digits and . _ - + : @")
    return row["metric"], value


def _painter_slot(row: Mapping[str, str], drawings: list[Drawing]) -> tuple[str, str | None, int | None]:
    """Return the painter, strategy and seed that a row is about; None for all strategies or seeds."""
    painter, strategy, seed = (row.get(name) or None for name in ("painter", "strategy", "seed"))
    labels = {drawing.painter: drawing.label for drawing in drawings if not drawing.options}
    labels |= {drawing.label: drawing.label for drawing in drawings}
    if painter is None or painter not in labels:
        listed = ", ".join(sorted(labels)) or "none"
        what = f"no painter {painter!r} with drawings" if painter else "a row without an id needs a painter"
        raise ValueError(f"{what}; choose from: {listed}")
    mine = [drawing for drawing in drawings if drawing.label == labels[painter]]
    if strategy is not None and strategy not in {drawing.strategy for drawing in mine}:
        raise ValueError(f"{painter} has no drawing by the strategy {strategy!r}; leave it empty for all of them")
    if seed is not None and seed not in {str(drawing.seed) for drawing in mine}:
        raise ValueError(f"{painter} has no drawing with seed {seed!r}; leave it empty for all of them")
    return labels[painter], strategy, None if seed is None else int(seed)


def _parse_number(word: str) -> float:
    with suppress(ValueError):
        if math.isfinite(value := float(word)):
            return value
    raise ValueError(f"value: {word!r} is not a number; leave out rows without one")


BY_IMAGE = ("id", "painter", "seed", "image")
BY_SLOT = ("id", "painter", "strategy", "seed")
"""The columns that can identify a drawing in a table, with images and without."""
_HASH = re.compile(r"[0-9a-f]{64}")


class DrawingFinder:
    """An index that finds the drawing a table's row is about.

    Args:
        drawings: The exam's drawings; only finished ones count.
        folder: The folder of images that a row may name.
        keys: The columns that can identify a drawing.
    """

    def __init__(self, drawings: Iterable[Drawing], folder: Path, keys: tuple[str, ...] = BY_IMAGE) -> None:
        self._folder, self._keys = folder, keys
        self._done = [drawing for drawing in drawings if drawing.status == "done"]
        self._of: dict[str, list[Drawing]] = {}
        for drawing in self._done:
            self._of.setdefault(drawing.question_id, []).append(drawing)

    def of(self, question: str) -> list[Drawing]:
        """Return all drawings of a question."""
        return self._of.get(question, [])

    def fitting(self, row: Mapping[str, Any]) -> list[Drawing]:
        """Return every drawing that matches all columns of the row; an empty column matches all drawings."""
        return self._fitting(row)[0]

    def find(self, row: Mapping[str, Any]) -> list[Drawing]:
        """Return all drawings that match the row; they share one image.

        Raises:
            ValueError: No drawing matches, or several with different images do.
        """
        fitting, last = self._fitting(row)
        if not fitting:
            raise ValueError(f"no drawing in the store with {last} {_cell(row, last)!r}{self._hint(last)}")
        if not _cell(row, "id") and not ("image" in self._keys and _cell(row, "image")):
            raise ValueError("an id or an image is missing")
        # An image submitted by several painters counts as one.
        if len({drawing.image or drawing.id for drawing in fitting}) > 1:
            telling = [
                key
                for key in ("painter", "strategy")
                if key in self._keys and len({getattr(drawing, key) for drawing in fitting}) > 1
            ]
            raise ValueError(
                f"{_cell(row, 'id')!r}: {len(fitting)} drawings fit; add the column {[*telling, 'seed'][0]}"
            )
        return fitting

    def _fitting(self, row: Mapping[str, Any]) -> tuple[list[Drawing], str]:
        """Return the matching drawings, and the last column compared, which is the cause if none matches."""
        fitting, key = self._done, self._keys[0]
        for key in self._keys:
            if value := _cell(row, key):
                fitting = self.of(value) if key == "id" else self._kept(fitting, key, value)
                if not fitting:
                    break
        return fitting, key

    def _kept(self, drawings: list[Drawing], key: str, value: str) -> list[Drawing]:
        if key == "painter":
            return _by_painter(drawings, value)
        wanted = self._hash(value) if key == "image" else value
        return [drawing for drawing in drawings if str(getattr(drawing, key)) == wanted]

    def _hint(self, key: str) -> str:
        names = sorted({name for drawing in self._done for name in (drawing.painter, drawing.label)})
        return f"; choose from: {', '.join(names)}" if names and key == "painter" else ""

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


def _by_painter(drawings: Iterable[Drawing], name: str) -> list[Drawing]:
    """Return the drawings of a painter, or of a row called ``painter + strategy #seed``."""
    if matching := [drawing for drawing in drawings if name in (drawing.painter, drawing.label)]:
        return matching
    row, mark, seed = name.rpartition(" #")
    row, seed = (row, seed) if mark and seed.isdigit() else (name, "")
    painter, _, strategy = row.partition(" + ")
    return [
        drawing
        for drawing in drawings
        if painter in (drawing.painter, drawing.label)
        and strategy in ("", drawing.strategy)
        and seed in ("", str(drawing.seed))
    ]


def _cell(row: Mapping[str, Any], key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value).strip()
