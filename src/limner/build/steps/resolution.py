"""Low resolution: pictures with too few pixels, and enlarged ones."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext


class ResolutionSettings(StrictModel):
    """The size that a picture must have. Our choice: the paper names no number.

    Attributes:
        side: The fewest pixels of the shorter side.
        blown_up: A picture that can be shrunk without loss to less than this share of its side counts as enlarged.
        real_side: The fewest pixels of the shorter side of an enlarged picture before it was enlarged.
    """

    side: int = Field(default=140, ge=1)
    blown_up: float = Field(default=0.7, ge=0, le=1)
    real_side: int = Field(default=210, ge=0)


async def resolution(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures with too little detail."""
    how: ResolutionSettings = context.settings
    width, height = item.body["width"], item.body["height"]
    if (side := min(width, height)) < how.side:
        raise Dropped("low resolution", f"{width} x {height}")
    # Detail is measured on at most 1,024 pixels.
    real = item.body["detail"] * min(side, side * 1024 / max(width, height))
    if item.body["detail"] < how.blown_up and real < how.real_side:
        raise Dropped("low resolution", f"{width} x {height}, but blown up from about {real:.0f}")
    return item


STEP = BuildStep(
    "resolution", "drops pictures with too few pixels, or blown up", ResolutionSettings,
    reads=("width", "height", "detail"), each=resolution,
)  # fmt: skip
