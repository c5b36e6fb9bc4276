"""A picture for every prompt that has none, drawn by a painter and marked as synthetic."""

from __future__ import annotations

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use


class PaintSettings(StrictModel):
    """The settings of painting.

    Attributes:
        seed: The seed, if the painter uses one; by default the one that the paper draws with.
        licence: The licence of the painter's pictures, by the service's terms.
    """

    seed: int = 42
    licence: str = "unknown"


async def paint(item: BuildItem, context: StepContext) -> BuildItem:
    """Draw a picture for a prompt."""
    how: PaintSettings = context.settings
    if item.body.get("image"):
        return item
    if "painter" not in context.painters:
        raise Dropped("no picture", item.body["prompt"])
    sha256 = await context.paint("painter", item, item.body["prompt"], how.seed)
    source = {"origin": context.painters["painter"].spec}
    return item.having(image=sha256, origin="synthetic", licence=how.licence, source=source, source_text="")


STEP = BuildStep("paint", "has a picture drawn for every prompt that has none", PaintSettings, ("painter",),
                 reads=("prompt", "image"), each=paint, use=(Use("painter", 0, 0),), painters=("painter",),
                 optional=("painter",))  # fmt: skip
