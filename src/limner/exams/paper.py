"""What an exam's paper prints, from the exam's ``paper`` folder.

``published.csv`` has the figures, one a row; ``tables.toml`` lays them out, see `limner.report.paper.schema`;
``rules.toml`` says what they mean to us. ``release_board.csv`` has those of a leaderboard that the benchmark's release
keeps, as it was on one day or several, in the same columns. Each of them may be missing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Literal, NamedTuple, Self

from pydantic import Field, model_validator

from ..core.errors import DataError
from ..core.schema import M, StrictModel, read_model
from . import kind

COLUMNS = (
    "benchmark", "table", "model", "model_group", "breakdown", "category", "metric", "value", "unit", "judge", "note",
)  # fmt: skip
"""Those of files with figures; README.md beside this file says what they mean."""
PUBLISHED, BOARD = "published", "release_board"
"""Files with figures: the paper's, and those of the release's own leaderboard."""


class ModelGroup(StrictModel):
    """What a published row's group of models says of its model."""

    access: Literal["closed", "open"] | None = None
    kind: str | None = None


class PublishedScore(StrictModel):
    """Where a paper prints some of our scores.

    Attributes:
        metrics: The paper's name of a score -> ours.
        scale: Brings the figures to our scale.
        category: The category that stands for all questions; without it, every category is a value of `tag`.
        tag: The tag the categories are values of; `fixed` is the one value that `category` stands for.
        names: A category in small letters without blanks -> the tag's value, where they differ.
        file: The file with the figures.
    """

    table: str
    breakdown: str
    metrics: dict[str, str]
    scale: float = 1.0
    category: str | None = None
    tag: str | None = None
    fixed: str | None = None
    names: dict[str, str] = Field(default_factory=dict)
    file: Literal["published", "release_board"] = "published"

    def fits(self, row: Mapping[str, str]) -> bool:
        """Whether a row of the file is a figure of these scores."""
        there = (row["table"], row["breakdown"]) == (self.table, self.breakdown) and row["metric"] in self.metrics
        return there and self.category in (None, row["category"])


class PrintedScore(NamedTuple):
    """A printed figure that is one of our scores.

    Attributes:
        row: The row of the file.
        rule: What says so.
        score: The score's name.
        value: The figure, on our scale.
    """

    row: Mapping[str, str]
    rule: PublishedScore
    score: str
    value: float


class ReleaseBoard(StrictModel):
    """The leaderboard of the benchmark's release as it was on one day.

    Attributes:
        table: Which rows of ``release_board.csv`` belong to it.
        note: What a reader must know of it.
    """

    table: str
    day: date
    note: str

    @property
    def title(self) -> str:
        """What it is called in titles of groups."""
        return f"release board of {self.day}"

    @property
    def about(self) -> str:
        """A sentence of its own: its name and its note."""
        return f"{self.title.capitalize()}: {self.note}"


class PaperRules(StrictModel):
    """What ``rules.toml`` may say.

    Attributes:
        boards: The days of the release's leaderboard that ``release_board.csv`` has.
        painters: A painter's spec -> the paper's name of it, where names do not tell, such as of a control.
    """

    groups: dict[str, ModelGroup] = Field(default_factory=dict)
    painters: dict[str, str] = Field(default_factory=dict)
    boards: tuple[ReleaseBoard, ...] = ()
    scores: tuple[PublishedScore, ...] = ()

    def board(self, table: str) -> ReleaseBoard:
        """Return the board with these rows of ``release_board.csv``.

        Raises:
            ValueError: No board has them.
        """
        for one in self.boards:
            if one.table == table:
                return one
        raise ValueError(f"no entry of boards has the table {table!r}")

    @model_validator(mode="after")
    def _has_boards(self) -> Self:
        for rule in self.scores:
            if rule.file == BOARD:
                self.board(rule.table)
        return self


def rows(exam: str, file: str = PUBLISHED) -> tuple[dict[str, str], ...]:
    """Return the rows of ``FILE.csv`` in the exam's paper folder; every value is text, as printed.

    Raises:
        DataError: There is a file and it is wrong.

    >>> [row["value"] for row in rows("genexam") if row["category"] == "Prompt length"]
    ['24', '173', '74.8']
    """
    path = paper_file(exam, f"{file}.csv")
    with naming_exam(exam):
        return () if path is None else _read_rows(path, COLUMNS if file in (PUBLISHED, BOARD) else ())


def rules(exam: str) -> PaperRules:
    """Return what the published figures of an exam mean to us.

    Raises:
        DataError: There is a file and it is wrong.
    """
    path = paper_file(exam, "rules.toml")
    with naming_exam(exam):
        return PaperRules() if path is None else _read_once(path, PaperRules)


def printed_scores(exam: str) -> Iterator[PrintedScore]:
    """Yield every printed figure that is one of our scores, in the files' order, the paper's before the boards'.

    Raises:
        DataError: There is a file and it is wrong.
    """
    known = rules(exam).scores
    for file in (PUBLISHED, BOARD):
        for row in rows(exam, file):
            for rule in known:
                if rule.file == file and rule.fits(row):
                    value = round(float(row["value"]) * rule.scale, 6)
                    yield PrintedScore(row, rule, rule.metrics[row["metric"]], value)


def paper_file(exam: str, file: str) -> Path | None:
    """Return a file of the exam's paper folder, where there is one."""
    folder = kind(exam).paper
    return folder / file if folder is not None and (folder / file).is_file() else None


@contextmanager
def naming_exam(exam: str) -> Iterator[None]:
    """Says whose file it is that is wrong."""
    try:
        yield
    except DataError as error:
        raise DataError(f"the exam {exam!r} is broken: {error}") from error


@cache
def _read_rows(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file, strict=True)
            head, found = table.fieldnames or (), tuple(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error
    if missing := [name for name in columns if name not in head]:
        raise DataError(f"lacks the column {missing[0]!r}; a row is {','.join(columns)}", file=path)
    for line, row in enumerate(found, 2):
        if None in row or None in row.values():
            raise DataError("has more or fewer cells than the first line", file=path, line=line)
        if columns and row["unit"] != "text" and not _is_number(row["value"]):
            raise DataError(f"{row['value']!r} is no number; the unit of words is text", file=path, line=line)
    return found


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


@cache
def _read_once(path: Path, model: type[M]) -> M:
    return read_model(path, model)


FILE = "data.toml"
NEEDS = {
    "counts": ("tag",),
    "map": ("tag", "by"),
    "means": ("tag", "parts"),
    "totals": ("parts",),
    "histogram": ("statistic",),
    "quartiles": ("statistic", "tag"),
    "words": (),
    "mentions": ("terms",),
}
"""What each way to show something cannot do without."""


class PrintedNumbers(StrictModel):
    """Where the paper tells the same numbers.

    Attributes:
        file: A file of the paper's folder: ``published``, or one with ``breakdown,category`` and a count or share.
        column: The column with the number.
        share: Whether it is percent of everything rather than a count.
        names: The paper's word for a category -> the tag's value, where they differ in more than case and blanks.
    """

    file: str = "counts"
    table: str | None = None
    breakdown: str | None = None
    metric: str | None = None
    column: str = "count"
    share: bool = False
    names: dict[str, str] = Field(default_factory=dict)


class StatisticPart(StrictModel):
    """A statistic of one question, in the words of ``tables.toml``, with its name in the plot."""

    title: str
    statistic: str


class DataPanel(StrictModel):
    """One panel.

    Attributes:
        show: ``counts``: questions by a tag's values. ``map``: by two tags. ``means`` and ``totals``: statistics of
            questions, stacked. ``histogram`` and ``quartiles``: how one statistic spreads. ``words``: the words that
            most prompts have. ``mentions``: how many prompts name each of some terms.
        figure: Where the paper shows it.
        tag: The tag whose values are the rows.
        by: A second tag: the columns of a map, the parts of a bar, or what words are shown for, group by group.
        within: A tag that the rows stand under.
        subset: Only the questions of this named list.
        parts: The statistics that are stacked.
        terms: A term's name -> words that stand for it, small letters.
        top: No more rows, or words of a group, than these.
        unit: What is counted.
        wide: Whether it takes the whole width.
        note: What the caption says of it.
    """

    title: str
    show: Literal["counts", "map", "means", "totals", "histogram", "quartiles", "words", "mentions"]
    figure: str = ""
    tag: str | None = None
    by: str | None = None
    within: str | None = None
    subset: str | None = None
    statistic: str | None = None
    parts: tuple[StatisticPart, ...] = ()
    terms: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    top: int = Field(default=60, ge=1)
    unit: str = "questions"
    wide: bool = False
    note: str = ""
    published: PrintedNumbers | None = None

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> DataPanel:
        for name in NEEDS[self.show]:
            if not getattr(self, name):
                raise ValueError(f"{self.show} needs {name}")
        return self


class DataPanels(StrictModel):
    """What ``data.toml`` may say."""

    panels: tuple[DataPanel, ...] = Field(min_length=1)
    note: str = ""


def data_panels(exam: str) -> DataPanels | None:
    """Return the panels of an exam's kind; None where it has no such file.

    Raises:
        DataError: There is a file and it is wrong.
    """
    path = paper_file(exam, FILE)
    with naming_exam(exam):
        return None if path is None else _read_once(path, DataPanels)
