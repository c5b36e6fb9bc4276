"""The rules for making questions from papers: a recipe's rules.toml."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from ..core.schema import StrictModel, read_model
from .latex.figures import FigureRules, MethodRules
from .logic.graph import LogRules, QuestionRules

FILE = "rules.toml"


class RecipeRules(StrictModel):
    """The contents of a rules.toml."""

    method: MethodRules
    figures: FigureRules
    log: LogRules
    questions: QuestionRules


@lru_cache(maxsize=8)
def read_rules(folder: Path) -> RecipeRules:
    """Return the rules in a recipe's folder.

    Raises:
        DataError: They cannot be read, or something in them is not valid.
    """
    return read_model(folder / FILE, RecipeRules)
