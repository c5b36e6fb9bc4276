"""The rules of the recipe, read once from rules.toml, and counting words by them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pydantic import Field

from ....core.data_files import StrictModel, read_model

Weights = dict[str, float]


class MethodRules(StrictModel):
    """Which headings make a section the method section."""

    yes: Weights
    no: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    least_words: int


class FigureRules(StrictModel):
    """What a figure's file name and caption count for."""

    names: Weights
    captions: Weights
    in_method: float
    panel: float
    least: float


class LogRules(StrictModel):
    """What an execution log leaves out."""

    banned: tuple[str, ...]


class SetSize(StrictModel):
    """How many questions a level's set has."""

    least: int
    most: int


class QuestionRules(StrictModel):
    """How many questions each level has, and of which track."""

    component: SetSize
    topology: SetSize
    phase: SetSize
    semantics: SetSize
    track_b: float = Field(ge=0, le=1)

    def of(self, level: str) -> SetSize:
        """The size of one level's set."""
        size = getattr(self, level)
        assert isinstance(size, SetSize)
        return size


class PaperRules(StrictModel):
    """All of rules.toml."""

    method: MethodRules
    figures: FigureRules
    log: LogRules
    questions: QuestionRules
    bans: dict[str, tuple[str, ...]]
    bans_of: dict[str, tuple[str, ...]]


@cache
def rules() -> PaperRules:
    """The shipped rules."""
    return read_model(Path(__file__).with_name("rules.toml"), PaperRules)


def spoken(text: str) -> str:
    """The words of a heading, a caption or a file name, in small letters with one blank between them.

    >>> spoken("figs/OurMethod_v2-Overview.pdf")
    'figs our method v 2 overview pdf'
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", text)
    return " ".join(re.findall(r"[^\W_]+", apart.casefold()))


def has(words: str, text: str) -> bool:
    """Whether these words stand in a text, both as `spoken` gives them."""
    return f" {words} " in f" {text} "


def weigh(text: str, weights: Mapping[str, float]) -> float:
    """The sum of the weights of the words that stand in a text as `spoken` gives it."""
    return sum(weight for words, weight in weights.items() if has(words, text))
