"""The text in a figure, by OCR, with layout cues; a figure without text is dropped."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..figures import layout_lines


class FigureTextSettings(StrictModel):
    """The settings for the text in figures.

    Attributes:
        least: The fewest lines of text.
        confidence: The lowest confidence of OCR with which a line is kept.
    """

    least: int = Field(default=1, ge=0)
    confidence: float = Field(default=0.5, ge=0, le=1)


async def figure_text(item: BuildItem, context: StepContext) -> BuildItem:
    """Read the text in a figure with its position; drop figures without text."""
    how: FigureTextSettings = context.settings
    lines = [line for line in await context.read_text(item.body["image"]) if line.confidence >= how.confidence]
    if len(lines) < how.least:
        raise Dropped("no text", f"OCR reads {len(lines)} lines")
    return item.having(layout_lines=layout_lines(lines, item.body["width"], item.body["height"]))


STEP = BuildStep("figure-text", "reads the text in each figure, with its position", FigureTextSettings,
                 reads=("image", "width", "height"), each=figure_text)  # fmt: skip
