"""What is asked for: whose paper, from which store, and what stands in the place of what the paper used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import exams
from ..core.errors import UsageError
from ..core.exam import Selection
from ..core.schema import read_model
from ..exams.paper import naming_exam, paper_file
from ..report.paper.holdings import plain_name
from ..store import DEFAULT
from .schema import PaperItem, PaperList

FILE = "reproduce.toml"


@dataclass(frozen=True)
class Reproduction:
    """Whose paper is made anew, and how.

    Attributes:
        exam: As in `limner run`: an installed exam, ``sample/NAME``, or the path of an exam.toml.
        painters: Only these rows: ``MODEL`` or ``MODEL=SPEC`` for a model of the paper, ``[NAME=]SPEC`` for another.
        strategy_options: Who thinks in strategies in place of the paper's models, by role, such as ``planner``.
        judges: ``SPEC`` marks in place of the preset's judge, ``NAME=SPEC`` in place of another judge of the paper.
        judge_args: Sent with each call of the former.
        regions: What counts regions in place of what the paper used; `aesthetics` the same for looks.
        selection: Only these questions, and `selection_words` the same for the command line.
        items: Only these tables and figures.
        reading: How replies are read; as the preset says, where nothing is said.
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
        return exams.name_of(self.exam)

    @property
    def judge(self) -> str | None:
        """Who marks in place of the preset's judge."""
        return next((word for word in self.judges if "=" not in word.partition("?")[0]), None)

    @property
    def other_judges(self) -> dict[str, str]:
        """Who marks in place of other judges of the paper, by plain name."""
        parts = [word.partition("=") for word in self.judges if "=" in word.partition("?")[0]]
        return {plain_name(name): spec for name, _, spec in parts}


def paper_list(kind: str) -> PaperList:
    """What the paper of this kind of exam has.

    Raises:
        UsageError: The exam has no such list; says which have.
        DataError: Its file is wrong.
    """
    path = paper_file(kind, FILE)
    if path is None:
        there = [each.name for each in exams.each() if paper_file(each.name, FILE) is not None]
        raise UsageError(f"{kind} has no list of its paper's tables and figures; there is one for {', '.join(there)}")
    with naming_exam(kind):
        return read_model(path, PaperList)


def chosen_items(listing: PaperList, wanted: tuple[str, ...]) -> list[PaperItem]:
    """The items that are asked for, in the paper's order; all where none is named.

    Raises:
        UsageError: One is not in the paper.
    """
    names = {plain_name(name): item for item in listing.items for name in (item.name, *item.numbers)}
    if unknown := [word for word in wanted if plain_name(word) not in names]:
        raise UsageError(f"the paper has no {unknown[0]!r}; it has: {', '.join(item.name for item in listing.items)}")
    chosen = [names[plain_name(word)] for word in wanted]
    return [item for item in listing.items if item in chosen or not wanted]
