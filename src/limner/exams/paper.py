"""Figures printed by an exam's paper, from the exam's ``paper`` folder.

``published.csv`` has the figures, one per row; ``tables.toml`` lays them out, see `limner.report.paper.schema`;
``rules.toml`` maps them to our scores. ``release_board.csv`` has, in the same columns, the figures of the leaderboard
of the benchmark's release, as it was on one or more days. Any of these files may be missing.
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
"""The columns of files with figures; README.md in this folder explains them."""
PUBLISHED, BOARD = "published", "release_board"
"""Files with figures: the paper's, and those of the release's own leaderboard."""


class ModelGroup(StrictModel):
    """Facts about the models of a group in a published table."""

    access: Literal["closed", "open"] | None = None
    kind: str | None = None


class PublishedScore(StrictModel):
    """A rule that maps a paper's figures to our scores.

    Attributes:
        metrics: The paper's name of a score -> ours.
        scale: The factor that converts the figures to our scale.
        category: The category of figures over all questions; without it, every category is a value of `tag`.
        tag: The tag whose values are the categories.
        fixed: The one value of `tag` that `category` means.
        names: A category in lower case without blanks -> the tag's value, if they differ.
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
        """Return whether this rule applies to a row of the file."""
        in_table = (row["table"], row["breakdown"]) == (self.table, self.breakdown) and row["metric"] in self.metrics
        return in_table and self.category in (None, row["category"])


class PrintedScore(NamedTuple):
    """A printed figure that is one of our scores.

    Attributes:
        row: The row of the file.
        rule: The rule that maps it to the score.
        score: The score's name.
        value: The figure, on our scale.
    """

    row: Mapping[str, str]
    rule: PublishedScore
    score: str
    value: float


class ReleaseBoard(StrictModel):
    """The leaderboard of the benchmark's release on one day.

    Attributes:
        table: The value of the column ``table`` for its rows in ``release_board.csv``.
        note: A caveat for readers.
    """

    table: str
    day: date
    note: str

    @property
    def title(self) -> str:
        """The title used in group headings."""
        return f"release board of {self.day}"

    @property
    def about(self) -> str:
        """A sentence with the title and the note."""
        return f"{self.title.capitalize()}: {self.note}"


class PaperRules(StrictModel):
    """The contents of ``rules.toml``.

    Attributes:
        boards: The leaderboards in ``release_board.csv``, one for each day.
        painters: A painter's spec -> its name in the paper, if they do not match, such as for a control.
    """

    groups: dict[str, ModelGroup] = Field(default_factory=dict)
    painters: dict[str, str] = Field(default_factory=dict)
    boards: tuple[ReleaseBoard, ...] = ()
    scores: tuple[PublishedScore, ...] = ()

    def board(self, table: str) -> ReleaseBoard:
        """Return the board whose rows in ``release_board.csv`` have this ``table``.

        Raises:
            ValueError: There is no such board.
        """
        for board in self.boards:
            if board.table == table:
                return board
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
        DataError: The file exists but is invalid.

    >>> [row["value"] for row in rows("genexam") if row["category"] == "Prompt length"]
    ['24', '173', '74.8']
    """
    path = paper_file(exam, f"{file}.csv")
    with naming_exam(exam):
        return () if path is None else _read_rows(path, COLUMNS if file in (PUBLISHED, BOARD) else ())


def rules(exam: str) -> PaperRules:
    """Return the rules that map the published figures of an exam to our scores.

    Raises:
        DataError: The file exists but is invalid.
    """
    path = paper_file(exam, "rules.toml")
    with naming_exam(exam):
        return PaperRules() if path is None else _read_once(path, PaperRules)


def printed_scores(exam: str) -> Iterator[PrintedScore]:
    """Yield the printed figures that are among our scores, in file order, the paper's before the leaderboards'.

    Raises:
        DataError: The file exists but is invalid.
    """
    score_rules = rules(exam).scores
    for file in (PUBLISHED, BOARD):
        for row in rows(exam, file):
            for rule in score_rules:
                if rule.file == file and rule.fits(row):
                    value = round(float(row["value"]) * rule.scale, 6)
                    yield PrintedScore(row, rule, rule.metrics[row["metric"]], value)


def paper_file(exam: str, file: str) -> Path | None:
    """Return the path of a file in the exam's paper folder, or None."""
    folder = kind(exam).paper
    return folder / file if folder is not None and (folder / file).is_file() else None


@contextmanager
def naming_exam(exam: str) -> Iterator[None]:
    """Add the exam's name to an error in one of its files."""
    try:
        yield
    except DataError as error:
        raise DataError(f"the exam {exam!r} is broken: {error}") from error


@cache
def _read_rows(path: Path, columns: tuple[str, ...]) -> tuple[dict[str, str], ...]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            table = csv.DictReader(file, strict=True)
            head, rows = table.fieldnames or (), tuple(table)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot be read: {error}", file=path) from error
    if missing := [name for name in columns if name not in head]:
        raise DataError(f"lacks the column {missing[0]!r}; a row is {','.join(columns)}", file=path)
    for line, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise DataError("has more or fewer cells than the first line", file=path, line=line)
        if columns and row["unit"] != "text" and not _is_number(row["value"]):
            raise DataError(f"{row['value']!r} is not a number; the unit of words is text", file=path, line=line)
    return rows


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


@cache
def _read_once(path: Path, model: type[M]) -> M:
    return read_model(path, model)


DATA_FILE = "data.toml"
REQUIRED_FIELDS = {
    "counts": ("tag",),
    "map": ("tag", "by"),
    "means": ("tag", "parts"),
    "totals": ("parts",),
    "histogram": ("statistic",),
    "quartiles": ("statistic", "tag"),
    "words": (),
    "mentions": ("terms",),
}
"""The fields that each kind of panel needs."""


class PrintedNumbers(StrictModel):
    """The source of the same numbers in the paper.

    Attributes:
        file: A file in the paper folder: ``published``, or one with ``breakdown,category`` and a count or share.
        column: The column with the number.
        share: Whether it is a percentage rather than a count; `whole` is what it is a percentage of.
        names: The paper's word for a category -> the tag's value, if they differ in more than case and blanks.
    """

    file: str = "counts"
    table: str | None = None
    breakdown: str | None = None
    metric: str | None = None
    column: str = "count"
    share: bool = False
    whole: float | None = None
    names: dict[str, str] = Field(default_factory=dict)


class StatisticPart(StrictModel):
    """A statistic of one question, written as in ``tables.toml``, its title in the plot, and its published metric."""

    title: str
    statistic: str
    metric: str | None = None


class DataPanel(StrictModel):
    """One panel of a plot of an exam's data.

    Attributes:
        show: ``counts``: questions by a tag's values. ``map``: questions by two tags. ``means`` and ``totals``:
            statistics of questions, stacked. ``histogram`` and ``quartiles``: the distribution of one statistic.
            ``words``: the most frequent words of prompts. ``mentions``: the number of prompts that mention
            each of some terms.
        figure: The figure in the paper.
        tag: The tag whose values are the rows.
        by: A second tag, for the columns of a map, the parts of bars, or the groups of words.
        within: A tag by which the rows are grouped.
        subset: The named list of questions to which the panel is limited.
        training: Whether it is about the samples of the training part of a build in the store; without one, it shows
            the paper's numbers alone.
        parts: The statistics that are stacked.
        terms: A term's name -> its words, in lower case.
        top: The maximum number of rows, or of words per group.
        unit: The unit of counts.
        wide: Whether it takes the full width.
        note: A remark for the caption.
    """

    title: str
    show: Literal["counts", "map", "means", "totals", "histogram", "quartiles", "words", "mentions"]
    figure: str = ""
    tag: str | None = None
    by: str | None = None
    within: str | None = None
    subset: str | None = None
    training: bool = False
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
        for name in REQUIRED_FIELDS[self.show]:
            if not getattr(self, name):
                raise ValueError(f"{self.show} needs {name}")
        return self


class DataPanels(StrictModel):
    """The contents of ``data.toml``."""

    panels: tuple[DataPanel, ...] = Field(min_length=1)
    note: str = ""


def data_panels(exam: str) -> DataPanels | None:
    """Return the panels for an exam's kind; None if it has no ``data.toml``.

    Raises:
        DataError: The file exists but is invalid.
    """
    path = paper_file(exam, DATA_FILE)
    with naming_exam(exam):
        return None if path is None else _read_once(path, DataPanels)
