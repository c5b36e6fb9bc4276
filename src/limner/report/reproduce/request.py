"""Requests to reproduce a paper: which paper, from which store, with which replacements."""

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
        exam: As in `limner run`: an installed exam, ``sample/NAME``, or the path of an exam.toml.
        painters: Only these rows: ``MODEL`` or ``MODEL=SPEC`` for a model of the paper, ``[NAME=]SPEC`` for another.
        strategy_options: Models in strategies in place of the paper's, by role, such as ``planner``.
        judges: ``SPEC`` in place of the preset's judge, ``NAME=SPEC`` in place of another judge of the paper.
        judge_args: Arguments of calls of the judge in place of the preset's.
        regions: The region counter in place of the paper's; `aesthetics` is the same for aesthetics.
        selection: Only these questions; `selection_words` are the same as arguments of commands.
        items: Only these tables and figures.
        reading: How replies are read; by default as in the preset.
    """

    exam: str
    store: str = DEFAULT
    data: Path | None = None
    painters: tuple[str, ...] = ()
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
        UsageError: The exam has no such list; says which have.
        DataError: Its file is wrong.
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
    """How a row of the paper is drawn, where its name and the model catalogue do not say it all.

    Attributes:
        model: The painter's spec, or the paper's name of it; the row's own name by default.
        strategy: How it is drawn, and `strategy_options` with which models and numbers.
        preset: Another preset of the exam than the list's.
        painter_args: Options of the painter.
        cannot: Why no command can make it.
        note: What a reader must know of how it is made here.
    """

    model: str | None = None
    strategy: str | None = None
    strategy_options: dict[str, str] = Field(default_factory=dict)
    preset: str | None = None
    painter_args: dict[str, Any] = Field(default_factory=dict)
    cannot: str | None = None
    note: str | None = None


class PaperJudge(StrictModel):
    """A judge in place of the preset's, and how it is asked."""

    judge: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, str] = Field(default_factory=dict)
    cannot: str | None = None


class PaperPlot(StrictModel):
    """A plot for a figure."""

    plot: str
    score: str | None = None
    by: str | None = None
    part: str = ""


class PaperItem(StrictModel):
    """A table or figure of a paper.

    Attributes:
        name: As the paper numbers it; ``Figures 3 to 9`` for several that show the same thing.
        title: What it shows; a layout's own where there is one.
        layout: The table's layout, of `limner.report.paper`, and `section` a part of it.
        plots: What is drawn for a figure.
        rows: The rows it needs; all that the layout publishes, where nothing is said.
        rows_of: A layout whose published rows are needed.
        judges: Who marks them, of the list's judges; the preset's judge where nothing is said.
        sample: How many questions the paper has drawn for it, where that is not the whole exam.
        ablation: Whether it compares ways of drawing or marking.
        cannot: Why no command can make it.
        people: The design of the study whose people it needs.
        by_hand: Further commands, with ``{exam}`` and ``{store}``; no run makes these.
        note: What a reader must know.
    """

    name: str
    title: str = ""
    layout: str | None = None
    section: str | None = None
    plots: tuple[PaperPlot, ...] = ()
    rows: tuple[str, ...] = ()
    rows_of: str | None = None
    judges: tuple[str, ...] = ()
    sample: int | None = Field(default=None, gt=0)
    ablation: bool = False
    cannot: str | None = None
    people: str | None = None
    by_hand: tuple[str, ...] = ()
    note: str = ""

    @property
    def numbers(self) -> tuple[str, ...]:
        """Every table or figure that it represents.

        >>> PaperItem(name="Figures 3 to 5", title="x", cannot="y").numbers
        ('Figure 3', 'Figure 4', 'Figure 5')
        """
        match = _RANGE.fullmatch(self.name)
        return tuple(f"{match[1]} {n}" for n in range(int(match[2]), int(match[3]) + 1)) if match else (self.name,)

    @model_validator(mode="after")
    def _whole(self) -> PaperItem:
        if not (self.layout or self.plots or self.cannot):
            raise ValueError("it needs a layout, plots, or a reason in cannot")
        if not (self.title or self.layout):
            raise ValueError("it needs a title or a layout")
        return self


class PaperList(StrictModel):
    """The tables and figures of a paper, with their rows and judges.

    Attributes:
        preset: The preset by which rows are drawn and marked.
        regions: What counts regions, and `aesthetics` what rates looks, as the paper did.
        rows: By the paper's names.
        judges: By the paper's names; in tables of judges with what they were shown, as ``NAME / SHOWN``.
    """

    preset: str = "paper"
    regions: str | None = None
    aesthetics: str | None = None
    rows: dict[str, PaperRow] = Field(default_factory=dict)
    judges: dict[str, PaperJudge] = Field(default_factory=dict)
    items: tuple[PaperItem, ...] = Field(min_length=1)
