"""Numbers of any metric that was computed elsewhere, from a CSV file: of drawings, and of painters."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..calls import setup_id
from ..core.data_files import Problems, read_lines, short
from ..core.errors import DataError
from ..store import Store
from ..store.ratings import PainterMetric, Rating, save_painter_metrics, save_ratings
from ..store.records import Drawing, save_setup
from .find_drawing import BY_SLOT, DrawingFinder
from .imported import table_name

COLUMNS = ("id", "painter", "strategy", "seed", "metric", "value")
NEEDED = frozenset({"id", "painter", "metric", "value"})
KIND = "metric"
_NAME = re.compile(r"[\w.+:@-]{1,150}")


@dataclass(frozen=True)
class ImportedMetrics:
    """The numbers of a file.

    Attributes:
        setups: Each metric's evaluator by its id.
        ratings: Numbers of drawings; the scale is the metric's name.
        painters: Numbers of painters.
    """

    setups: Mapping[str, dict[str, Any]]
    ratings: tuple[Rating, ...]
    painters: tuple[PainterMetric, ...]

    @property
    def names(self) -> list[str]:
        """The metrics, by name."""
        return sorted({setup["judge"].removeprefix("metric/") for setup in self.setups.values()})

    def save(self, store: Store) -> None:
        """Keep the numbers; done when all are committed."""
        for id, body in self.setups.items():
            save_setup(store, id, body, KIND)
        save_ratings(store, self.ratings).result()
        save_painter_metrics(store, self.painters).result()


def metric_setup(name: str, **computed: Any) -> tuple[str, dict[str, Any]]:
    """A metric as an evaluator: its id and its body, with what it was computed with."""
    body = {"judge": f"metric/{name}", **computed}
    return setup_id(body), body


def read_metrics(path: Path, exam: str, drawings: Iterable[Drawing], name: str | None = None) -> ImportedMetrics:
    """Read a file of numbers and find what each row is about.

    Args:
        path: The file, with the columns `COLUMNS`; ``strategy`` and ``seed`` may be absent where one drawing fits. A
            row without an id is about a painter as a whole.
        exam: The exam's name in the store.
        drawings: Those of the exam.
        name: What the numbers' source goes by; the file's name and hash by default.

    Raises:
        DataError: With file and line of everything that is wrong.
    """
    rows = csv.DictReader([line.removesuffix("\r") for line in read_lines(path)], strict=True)
    try:
        heads = [head.strip() for head in rows.fieldnames or ()]
    except csv.Error as error:
        raise DataError(f"not CSV: {error}", file=path, line=1) from error
    if not set(heads) >= NEEDED or len(set(heads)) < len(heads) or set(heads) - set(COLUMNS):
        wanted = ",".join(COLUMNS)
        raise DataError(
            f"the first line must name the columns, each once: {wanted}; it says {heads}", file=path, line=1
        )
    rows.fieldnames = heads
    reader = _Rows(exam, list(drawings), path, table_name(path, name))
    try:
        for row in rows:
            reader.take(row, rows.line_num, len(heads))
    except csv.Error as error:
        reader.problems.add(f"not CSV: {error}", path, rows.reader.line_num)
    return reader.done()


class _Rows:
    """Reads one row after another."""

    def __init__(self, exam: str, drawings: list[Drawing], path: Path, source: str) -> None:
        self._exam, self._path, self._source = exam, path, source
        self._finder = DrawingFinder(drawings, path.parent, BY_SLOT)
        self._rows = {(drawing.label, drawing.strategy, drawing.seed) for drawing in drawings}
        self._called = {drawing.painter: drawing.label for drawing in drawings if not drawing.options}
        self._called |= {drawing.label: drawing.label for drawing in drawings}
        self.problems = Problems()
        self._setups: dict[str, dict[str, Any]] = {}
        self._found: dict[str, tuple[Rating | PainterMetric, int]] = {}

    def take(self, row: Mapping[str | None, Any], line: int, columns: int) -> None:
        """One row: what is wrong with it is noted."""
        if None in row or None in row.values():
            self.problems.add(f"{columns} columns are wanted", self._path, line)
            return
        said = {str(key): value.strip() for key, value in row.items()}
        try:
            for made in self._made(said):
                before = self._found.get(made.id)
                if before is not None and before[0].value != made.value:
                    raise ValueError(f"line {before[1]} says {before[0].value:g} of the same; leave one of them")
                self._found.setdefault(made.id, (made, line))
        except ValueError as error:
            self.problems.add(str(error), self._path, line, short(said["id"]) or None)

    def _made(self, row: Mapping[str, str]) -> list[Rating | PainterMetric]:
        name, value = row["metric"], _finite(row["value"])
        if not _NAME.fullmatch(name):
            raise ValueError(f"metric: {name!r} is no name; use letters, digits and . _ - + : @")
        setup, body = metric_setup(name, source=self._source)
        if row["id"]:
            made: list[Rating | PainterMetric] = [
                Rating(drawing.id, setup, name, value) for drawing in self._finder.find_all(row)
            ]
        else:
            made = [self._painter(row, setup, value)]
        self._setups[setup] = body
        return made

    def _painter(self, row: Mapping[str, str], setup: str, value: float) -> PainterMetric:
        painter, strategy, seed = row["painter"], row.get("strategy") or None, row.get("seed") or None
        if painter not in self._called:
            there = ", ".join(sorted(self._called)) or "none"
            what = f"no painter {painter!r} with drawings" if painter else "a row without an id names a painter"
            raise ValueError(f"{what}; there is: {there}")
        label = self._called[painter]
        mine = {(s, n) for who, s, n in self._rows if who == label}
        if strategy is not None and strategy not in {s for s, _ in mine}:
            raise ValueError(f"{painter} has no drawing by the strategy {strategy!r}; leave it empty for all of them")
        if seed is not None and seed not in {str(n) for _, n in mine}:
            raise ValueError(f"{painter} has no drawing with seed {seed!r}; leave it empty for all of them")
        body = {"source": self._source}
        return PainterMetric(
            self._exam, label, setup, value, strategy, None if seed is None else int(seed), body=body
        )  # fmt: skip

    def done(self) -> ImportedMetrics:
        """What was read; raises where something is wrong."""
        if not self._found and not self.problems.found:
            self.problems.add("there is no row in this file", self._path)
        self.problems.settle()
        rows = [made for made, _ in self._found.values()]
        return ImportedMetrics(
            self._setups,
            tuple(row for row in rows if isinstance(row, Rating)),
            tuple(row for row in rows if isinstance(row, PainterMetric)),
        )


def _finite(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"value: {word!r} is no number; leave out rows that have none")
    return value
