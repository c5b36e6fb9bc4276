"""Low resolution: too few pixels, or a picture that was blown up."""

from __future__ import annotations

from pydantic import Field

from ...core.data_files import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped


class ResolutionSettings(StrictModel):
    """How large a picture must be. Ours: the paper names no number.

    Attributes:
        side: Pixels of the shorter side.
        real_side: Pixels of the shorter side that a picture must really hold, however large it is.
    """

    side: int = Field(default=200, ge=1)
    real_side: int = Field(default=140, ge=0)


async def resolution(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    how: ResolutionSettings = bench.settings
    width, height = item.body["width"], item.body["height"]
    if (side := min(width, height)) < how.side:
        raise Dropped("low resolution", f"{width} x {height}")
    # Detail is measured on at most 1,024 pixels.
    if (real := item.body["detail"] * min(side, side * 1024 / max(width, height))) < how.real_side:
        raise Dropped("low resolution", f"{width} x {height}, but blown up from about {real:.0f}")
    return item


STEP = BuildStep(
    "resolution", "drops pictures with too few pixels, or blown up", ResolutionSettings,
    reads=("width", "height", "detail"), each=resolution,
)  # fmt: skip
