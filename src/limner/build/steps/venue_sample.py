"""A sample of papers, spread evenly over venues."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome


class VenueSettings(StrictModel):
    """The settings of the sample.

    Attributes:
        papers: The number of papers; 0 for all.
        seed: The seed of the sample.
    """

    papers: int = Field(default=0, ge=0)
    seed: int = 0


async def venue_sample(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Draw a sample of papers evenly from all venues."""
    how: VenueSettings = context.settings
    taken = {item.id for item in items} if how.papers == 0 else _draw_by_venue(items, how)
    return {item.id: item if item.id in taken else Dropped("not drawn") for item in items}


def _draw_by_venue(items: Sequence[BuildItem], how: VenueSettings) -> set[str]:
    """Draw one paper of each venue in turn until there are enough; empty venues are skipped."""
    queues: dict[str, list[str]] = {}
    for item in items:
        queues.setdefault(item.body.get("venue", ""), []).append(item.id)
    for queue in queues.values():
        queue.sort(key=lambda id: hashlib.sha256(f"{how.seed}/{id}".encode()).digest())
    turns = [(n, venue, id) for venue, queue in queues.items() for n, id in enumerate(queue)]
    return {id for _, _, id in sorted(turns)[: how.papers]}


STEP = BuildStep("venue-sample", "as many of each venue", VenueSettings, reads=("venue",), takes="paper",
                 makes="paper", together=venue_sample)  # fmt: skip
