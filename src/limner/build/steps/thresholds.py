"""Thresholds on ratings; changing them costs nothing."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext


class ThresholdsSettings(StrictModel):
    """The thresholds.

    Attributes:
        least: Scale -> the lowest score with which a picture is kept.
        confidence: Ratings of lower confidence drop nothing and are shown to reviewers instead.
    """

    least: dict[str, int] = Field(default_factory=dict)
    confidence: int = Field(default=2, ge=1, le=5)


async def thresholds(item: BuildItem, context: StepContext) -> BuildItem:
    """Drop pictures whose ratings are below the thresholds."""
    how: ThresholdsSettings = context.settings
    unsure = []
    for scale, least in how.least.items():
        rating = item.body["ratings"].get(scale)
        if rating is None or rating["score"] >= least:
            continue
        reason = f"{rating['score']} of at least {least}"
        if rating["confidence"] >= how.confidence:
            raise Dropped(f"low {scale.replace('_', ' ')}", f"{reason}: {rating['reason']}")
        unsure.append(f"{scale} {reason}, with confidence {rating['confidence']}")
    return item.having(unsure=unsure)


STEP = BuildStep(
    "thresholds", "drops pictures whose ratings are too low", ThresholdsSettings, reads=("ratings",), each=thresholds
)
