"""Disciplines as topics, with a number of prompts distributed among them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from .taxonomy import TOPIC


class DisciplinesSettings(StrictModel):
    """The choice of disciplines.

    Attributes:
        names: Short name -> discipline.
        prompts: The total number of prompts, distributed evenly, any remainder to the first ones; 0 for none.
    """

    names: dict[str, str] = Field(default_factory=dict)
    prompts: int = Field(default=340, ge=0)


async def disciplines(
    items: Sequence[BuildItem], context: StepContext
) -> AsyncIterator[BuildItem | tuple[str, Dropped]]:
    """Yield an item for every discipline."""
    how: DisciplinesSettings = context.settings
    for n, (code, name) in enumerate(how.names.items()):
        wanted = how.prompts // len(how.names) + (n < how.prompts % len(how.names))
        if wanted:
            body = {"code": code, "name": name, "domain": "nature", "wanted": wanted, "discipline": name}
            yield BuildItem(f"{TOPIC}discipline/{code}", body, "topic")


STEP = BuildStep("disciplines", "takes disciplines, and deals prompts out among them", DisciplinesSettings,
                 takes="topic", makes="topic", source=disciplines)  # fmt: skip
