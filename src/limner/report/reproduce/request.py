"""Requests to reproduce a paper: its tables and figures, their rows and judges, and the user's replacements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from ... import exams
from ...core.errors import UsageError
from ...core.exam import Selection
from ...core.schema import StrictModel, read_model
from ...exams.paper import naming_exam, paper_file
from ...store import DEFAULT
from ..paper.holdings import plain_name

FILE = "reproduce.toml"


@dataclass(frozen=True)
class Reproduction:
    """A request to reproduce a paper.

    Attributes:
        exam: The exam as in `limner run`: an installed exam, ``sample/NAME``, or the path of an exam.toml.
        painters: The only rows: ``MODEL`` or ``MODEL=SPEC`` for a model of the paper, ``[NAME=]SPEC`` for another.
        painter_args: Options of the painters named by ``MODEL=SPEC``, and those that rows require.
        strategy_options: The models that replace the paper's in strategies, by role, such as ``planner``.
        judges: The replacements of judges: ``SPEC`` for the preset's judge, ``NAME=SPEC`` for another of the paper.
        judge_args: The arguments of calls to the judge, in place of the preset's.
        regions: The region counter in place of the paper's; `aesthetics` replaces the probe of aesthetics.
        selection: The only questions; `selection_words` is the selection as command-line arguments.
        items: The only tables and figures; all if empty.
        reading: How replies are read; by default as in the preset.
    """

    exam: str
    store: str = DEFAULT
    data: Path | None = None
    painters: tuple[str, ...] = ()
    painter_args: Mapping[str, Any] = field(default_factory=dict)
    strategy_options: Mapping[str, str] = field(default_factory=dict)
    judges: tuple[str, ...] = ()
    judge_args: Mapping[str, Any] = field(default_factory=dict)
    regions: str | None = None
    aesthetics: str | None = None
    selection: Selection = field(default_factory=Selection)
    selection_words: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    reading: str | None = None

    @property
    def kind(self) -> str:
        """The kind of the exam."""
        return exams.resolve(self.exam, self.data).kind

    @property
    def name(self) -> str:
        """The exam's name in a store."""
        return exams.stored_name(self.exam)

    @property
    def judge(self) -> str | None:
        """The judge in place of the preset's."""
        return next((word for word in self.judges if "=" not in word.partition("?")[0]), None)

    @property
    def other_judges(self) -> dict[str, str]:
        """The judges in place of other judges of the paper, by plain name."""
        parts = [word.partition("=") for word in self.judges if "=" in word.partition("?")[0]]
        return {plain_name(name): spec for name, _, spec in parts}


def paper_list(kind: str) -> PaperList:
    """Return the tables and figures of the paper of this kind of exam.

    Raises:
        UsageError: The exam has no such list; the message names those that have one.
        DataError: Its file is invalid.
    """
    path = paper_file(kind, FILE)
    if path is None:
        names = [each.name for each in exams.each() if paper_file(each.name, FILE) is not None]
        raise UsageError(
            f"{kind} has no list of its paper's tables and figures; exams that have one: {', '.join(names)}"
        )
    with naming_exam(kind):
        return read_model(path, PaperList)


def chosen_items(listing: PaperList, wanted: tuple[str, ...]) -> list[PaperItem]:
    """Return the requested items in the paper's order; all if none is named.

    Raises:
        UsageError: One is not in the paper.
    """
    names = {plain_name(name): item for item in listing.items for name in (item.name, *item.numbers)}
    if unknown := [word for word in wanted if plain_name(word) not in names]:
        raise UsageError(f"the paper has no {unknown[0]!r}; it has: {', '.join(item.name for item in listing.items)}")
    chosen = [names[plain_name(word)] for word in wanted]
    return [item for item in listing.items if item in chosen or not wanted]


_RANGE = re.compile(r"(Figure|Table)s (\d+) to (\d+)")


class PaperRow(StrictModel):
    """The way a row of the paper is drawn, if its name and the model catalogue do not determine it.

    Attributes:
        model: The painter's spec, or the paper's name for it; by default the row's name.
        strategy: The strategy; `strategy_options` are its models and numbers.
        preset: The exam's preset, if it is not the list's.
        painter_args: Options of the painter.
        requires: Options of the painter that only the user can name, each with the reason.
        cannot: The reason why no command can make it.
        note: A note for the reader on how it is made here.
    """

    model: str | None = None
    strategy: str | None = None
    strategy_options: dict[str, str] = Field(default_factory=dict)
    preset: str | None = None
    painter_args: dict[str, Any] = Field(default_factory=dict)
    requires: dict[str, str] = Field(default_factory=dict)
    cannot: str | None = None
    note: str | None = None


class PaperJudge(StrictModel):
    """A judge in place of the preset's, with its arguments and options."""

    judge: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, str] = Field(default_factory=dict)
    cannot: str | None = None


class PaperPlot(StrictModel):
    """A plot for a figure.

    Attributes:
        where: For a plot of drawings, the tags of the question that it shows.
        nth: The number of that question among those with the tags, from 1.
        each: A tag for each of whose values the drawings of a question are shown, instead of one question.
    """

    plot: str
    score: str | None = None
    by: str | None = None
    part: str = ""
    where: dict[str, str] = Field(default_factory=dict)
    nth: int = Field(default=1, ge=1)
    each: str | None = None


class PaperCategories(StrictModel):
    """A list of categories in a file of the paper folder, with a column ``count``.

    Attributes:
        file: The file's name without its suffix.
        tags: Column of the file -> the tag of which it has values.
    """

    file: str
    tags: dict[str, str]


class PaperItem(StrictModel):
    """A table or figure of a paper.

    Attributes:
        name: The paper's number; ``Figures 3 to 9`` for several that show the same thing.
        title: The title; by default the layout's.
        layout: The table's layout in `limner.report.paper`; `section` limits it to one section.
        plots: The plots for a figure.
        page: Where the site shows the same, for a figure that is set from questions.
        categories: A list of categories that the paper prints, with the number of questions of each.
        rows: The rows that it needs; by default all published rows of the layout.
        rows_of: A layout whose published rows are needed.
        judges: The judges that mark the rows, from the list's judges; by default the preset's judge.
        ablation: Whether it compares ways of drawing or marking.
        cannot: The reason why no command can make it.
        people: The design of the study whose people it needs; a study is named after its design.
        sampled: Whether judges other than the preset's mark only the drawings of that study.
        by_hand: Further commands to run by hand, with ``{exam}`` and ``{store}``.
        note: A note for the reader.
    """

    name: str
    title: str = ""
    layout: str | None = None
    section: str | None = None
    plots: tuple[PaperPlot, ...] = ()
    page: str | None = None
    categories: PaperCategories | None = None
    rows: tuple[str, ...] = ()
    rows_of: str | None = None
    judges: tuple[str, ...] = ()
    ablation: bool = False
    cannot: str | None = None
    people: str | None = None
    sampled: bool = False
    by_hand: tuple[str, ...] = ()
    note: str = ""

    @property
    def called(self) -> str:
        """Its number, and whether it is an ablation."""
        return f"{self.name} (ablation)" if self.ablation else self.name

    @property
    def numbers(self) -> tuple[str, ...]:
        """All tables or figures that it represents.

        >>> PaperItem(name="Figures 3 to 5", title="x", cannot="y").numbers
        ('Figure 3', 'Figure 4', 'Figure 5')
        """
        match = _RANGE.fullmatch(self.name)
        return tuple(f"{match[1]} {n}" for n in range(int(match[2]), int(match[3]) + 1)) if match else (self.name,)

    @model_validator(mode="after")
    def _whole(self) -> PaperItem:
        if not (self.layout or self.plots or self.page or self.categories or self.cannot):
            raise ValueError("it needs a layout, plots, a page, or a reason in cannot")
        if not (self.title or self.layout):
            raise ValueError("it needs a title or a layout")
        if self.sampled and self.people is None:
            raise ValueError("sampled needs people: the design of the study")
        return self


class PaperList(StrictModel):
    """The tables and figures of a paper, with their rows and judges.

    Attributes:
        preset: The preset with which rows are drawn and marked.
        rows: The rows by the paper's names.
        judges: The judges by the paper's names; in tables of judges as ``NAME / SHOWN``, with what they were shown.
    """

    preset: str = "paper"
    rows: dict[str, PaperRow] = Field(default_factory=dict)
    judges: dict[str, PaperJudge] = Field(default_factory=dict)
    items: tuple[PaperItem, ...] = Field(min_length=1)
