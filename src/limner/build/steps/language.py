"""Pictures whose text is not English."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..languages import why_not_english


class LanguageSettings(StrictModel):
    """The limits of other languages.

    Attributes:
        letters: The accepted share of letters of other scripts.
    """

    letters: float = Field(default=0.1, ge=0, le=1)


async def language(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures whose text is not English."""
    if reason := why_not_english(item.body["lines"], context.settings.letters):
        raise Dropped("not English", reason)
    return item


STEP = BuildStep(
    "language", "drops pictures whose text is not English", LanguageSettings, reads=("lines",), each=language
)
