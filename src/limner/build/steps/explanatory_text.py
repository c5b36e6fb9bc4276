"""Explanatory text: a knowledge picture must have readable labels."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..picture_rules import text_labels


class ExplanatoryTextSettings(StrictModel):
    """The text that a picture must have. Our choice: the paper names no number.

    Attributes:
        labels: The fewest different lines with a word in them.
    """

    labels: int = Field(default=2, ge=1)


async def explanatory_text(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures without readable labels."""
    readable = text_labels(item.body["lines"])
    if len(readable) < context.settings.labels:
        raise Dropped("no explanatory text", f"{len(readable)} labels can be read")
    return item


STEP = BuildStep("explanatory-text", "drops pictures without labels that can be read", ExplanatoryTextSettings,
                 reads=("lines",), each=explanatory_text)  # fmt: skip
