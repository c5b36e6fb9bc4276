"""Cropping: strokes of the drawing that cross an edge of the picture."""

from __future__ import annotations

import asyncio

from pydantic import Field

from ...core.images import decode
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..picture_rules import cut_edges

EDGES = ("top", "bottom", "left", "right")


class CroppingSettings(StrictModel):
    """The rule for cut-off pictures. Our choice: in the paper only a model decides, which is also asked later here.

    Attributes:
        crossings: The number of strokes across one edge from which a picture is dropped; with 0, nothing is dropped.
    """

    crossings: int = Field(default=2, ge=0)


async def cropping(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures that are cut off at an edge."""
    least = context.settings.crossings
    if least == 0:
        return item
    data = await context.picture(item.body["image"])
    crossings = await asyncio.to_thread(lambda: cut_edges(decode(data)))
    most = max(crossings)
    if most >= least:
        raise Dropped("cropped", f"{most} strokes run over the {EDGES[crossings.index(most)]} edge")
    return item


STEP = BuildStep("cropping", "drops pictures that are cut off at an edge", CroppingSettings, reads=("image",),
                 each=cropping)  # fmt: skip
