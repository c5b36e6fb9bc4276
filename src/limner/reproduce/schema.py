"""What an exam's ``paper/reproduce.toml`` may say: every table, figure and ablation, and what each takes."""

from __future__ import annotations

import re
from typing import Any

from pydantic import Field, model_validator

from ..core.schema import StrictModel

_RANGE = re.compile(r"(Figure|Table)s (\d+) to (\d+)")


class PaperRow(StrictModel):
    """How a row of the paper is drawn, where its name and the catalogue of models do not say it all.

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
    """Who marks a row in place of the preset's judge, and how it is asked."""

    judge: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)
    options: dict[str, str] = Field(default_factory=dict)
    cannot: str | None = None


class PaperPlot(StrictModel):
    """A plot that shows what a figure shows."""

    plot: str
    score: str | None = None
    by: str | None = None
    part: str = ""


class PaperItem(StrictModel):
    """A table or figure.

    Attributes:
        name: As the paper numbers it; ``Figures 3 to 9`` for several that show the same thing.
        title: What it shows; a layout's own where there is one.
        layout: The table's layout, of `limner.report.tables.paper`, and `section` a part of it.
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
        """Every table or figure it stands for.

        >>> PaperItem(name="Figures 3 to 5", title="x", cannot="y").numbers
        ('Figure 3', 'Figure 4', 'Figure 5')
        """
        found = _RANGE.fullmatch(self.name)
        return tuple(f"{found[1]} {n}" for n in range(int(found[2]), int(found[3]) + 1)) if found else (self.name,)

    @model_validator(mode="after")
    def _whole(self) -> PaperItem:
        if not (self.layout or self.plots or self.cannot):
            raise ValueError("it has neither a layout nor plots, and does not say why it cannot be made")
        if not (self.title or self.layout):
            raise ValueError("what it shows is not said: add title")
        return self


class PaperList(StrictModel):
    """The whole file.

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
