"""Text that is not English, by the text in the picture."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..languages import foreign


class LanguageSettings(StrictModel):
    """What is let through.

    Attributes:
        letters: The share of letters of other scripts.
    """

    letters: float = Field(default=0.1, ge=0, le=1)


async def language(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    if found := foreign(item.body["lines"], bench.settings.letters):
        raise Dropped("not English", found)
    return item


STEP = BuildStep(
    "language", "drops pictures whose text is not English", LanguageSettings, reads=("lines",), each=language
)
