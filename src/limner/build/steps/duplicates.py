"""Near duplicates: of similar pictures the largest is kept, and one with text is preferred to one without."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome
from ..picture_rules import near_duplicates


class DuplicatesSettings(StrictModel):
    """The definition of near duplicates.

    Attributes:
        bits: The most bits, of 256, in which the perceptual hashes may differ. Our choice: the paper names no number.
    """

    bits: int = Field(default=40, ge=0, le=63)


def _merit(item: BuildItem) -> tuple[bool, float, str]:
    """Return the sort key of a picture: with text before without, then by detail."""
    body = item.body
    return not body.get("source_text"), -body["width"] * body["height"] * body["detail"] ** 2, item.id


async def duplicates(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Drop near duplicates; the best of each group stays."""
    ranked = [(item.id, item.body["hashes"]) for item in sorted(items, key=_merit)]
    near = await asyncio.to_thread(near_duplicates, ranked, context.settings.bits)
    return {
        item.id: Dropped("near-duplicate", f"of {near[item.id][0]}, {near[item.id][1]} bits apart")
        if item.id in near
        else item
        for item in items
    }


STEP = BuildStep(
    "duplicates", "drops pictures that look like another one", DuplicatesSettings,
    reads=("hashes", "width", "height", "detail", "source_text"), together=duplicates,
)  # fmt: skip
