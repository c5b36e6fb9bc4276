"""Levels times disciplines: the requests for prompts, several prompts for each call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext


class LevelsSettings(StrictModel):
    """The levels, disciplines and numbers of prompts.

    Attributes:
        levels: A level's name in the data -> its name in prompts.
        disciplines: The disciplines, by their names in the data.
        prompts: The number of prompts for each level and discipline. The paper has about 947.
        per_call: The number of prompts requested in one call. Our choice: the paper names no number.
    """

    levels: dict[str, str] = Field(min_length=1)
    disciplines: tuple[str, ...] = Field(min_length=1)
    prompts: int = Field(default=20, ge=1)
    per_call: int = Field(default=20, ge=1, le=100)


async def levels(items: Sequence[BuildItem], context: StepContext) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every call: level, discipline and number."""
    how: LevelsSettings = context.settings
    for level, words in how.levels.items():
        for discipline in how.disciplines:
            for number, start in enumerate(range(0, how.prompts, how.per_call), 1):
                many = min(how.per_call, how.prompts - start)
                body = {"level": level, "words": words, "discipline": discipline, "many": many, "number": number}
                yield BuildItem(f"cell/{level}/{discipline}/{number}", body, "cell")


STEP = BuildStep("levels", "levels times disciplines, several prompts for each call", LevelsSettings, takes="cell",
                 makes="cell", source=levels)  # fmt: skip
