"""What an exam's paper shows of its data set: the panels of ``limner plot data``, from ``paper/data.toml``."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from ..core.schema import StrictModel, read_model
from . import paper

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
    """The panels of an exam's kind; None where it has no such file.

    Raises:
        DataError: There is a file and it is wrong.
    """
    path = paper.paper_file(exam, FILE)
    with paper.naming_exam(exam):
        return None if path is None else _read(path)


@cache
def _read(path: Path) -> DataPanels:
    return read_model(path, DataPanels)
