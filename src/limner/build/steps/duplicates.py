"""Near-duplicates: of pictures that look alike the largest stays, one with its text before one without."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, StepOutcome
from ..picture_rules import first_of_each


class DuplicatesSettings(StrictModel):
    """How alike is too alike.

    Attributes:
        bits: Of 256 bits of the perceptual hash, those that may differ. Ours: the paper names no number.
    """

    bits: int = Field(default=40, ge=0, le=63)


def _merit(item: BuildItem) -> tuple[bool, float, str]:
    """With its text before without, then by what it really holds."""
    body = item.body
    return not body.get("source_text"), -body["width"] * body["height"] * body["detail"] ** 2, item.id


async def duplicates(items: Sequence[BuildItem], bench: Bench) -> Mapping[str, StepOutcome]:
    """See the module."""
    ranked = [(item.id, item.body["hashes"]) for item in sorted(items, key=_merit)]
    near = await asyncio.to_thread(first_of_each, ranked, bench.settings.bits)
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
