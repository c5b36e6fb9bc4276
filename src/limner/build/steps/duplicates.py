"""Near-duplicates: of pictures that look alike the largest stays."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.data_files import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, StepOutcome
from ..near import first_of_each


class DuplicatesSettings(StrictModel):
    """How alike is too alike.

    Attributes:
        bits: Of 256 bits of the perceptual hash, those that may differ. Ours: the paper names no number.
    """

    bits: int = Field(default=40, ge=0, le=63)


async def duplicates(items: Sequence[BuildItem], bench: Bench) -> Mapping[str, StepOutcome]:
    """See the module."""
    merit = sorted(items, key=lambda item: (-item.body["width"] * item.body["height"] * item.body["detail"], item.id))
    ranked = [(item.id, item.body["hash"]) for item in merit]
    near = await asyncio.to_thread(first_of_each, ranked, bench.settings.bits)
    return {
        item.id: Dropped("near-duplicate", f"of {near[item.id][0]}, {near[item.id][1]} bits apart")
        if item.id in near
        else item
        for item in items
    }


STEP = BuildStep(
    "duplicates", "drops pictures that look like another one", DuplicatesSettings,
    reads=("hash", "width", "height", "detail"), together=duplicates,
)  # fmt: skip
