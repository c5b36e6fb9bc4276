"""Ratings of a picture's fitness, each with a confidence and a reason."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use
from ..replies import read_object, read_text_field, read_whole_number


class Scale(StrictModel):
    """One scale: its ends and its direction.

    Attributes:
        low: The lowest number and its meaning; `high` is the highest.
    """

    low: int
    high: int
    low_means: str
    high_means: str


class RatingsSettings(StrictModel):
    """The settings of ratings.

    Attributes:
        scales: The scales by name. The prompt states the direction of each.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    scales: dict[str, Scale] = Field(min_length=1)
    max_side: int = Field(default=1024, ge=64)


async def ratings(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model rate a picture."""
    how: RatingsSettings = context.settings
    listed = "\n".join(
        f"- `{name}`, a whole number from {scale.low} to {scale.high}: {scale.low} means {scale.low_means}; "
        f"{scale.high} means {scale.high_means}."
        for name, scale in how.scales.items()
    )

    def read(reply: str) -> dict[str, Any]:
        answer = loads(reply)
        return {
            name: {
                "score": read_whole_number(entry := read_object(answer, name), "score", scale.low, scale.high),
                "confidence": read_whole_number(entry, "confidence", 1, 5),
                "reason": read_text_field(entry, "reason"),
            }
            for name, scale in how.scales.items()
        }

    shown: list[Part] = [
        Text(context.prompts.fill("ratings", scales=listed)),
        Picture(item.body["image"], how.max_side),
    ]
    return item.having(ratings=await context.ask("annotator", item, shown, Contract(read)))


STEP = BuildStep(
    "ratings", "rates each picture on scales, with confidence", RatingsSettings, ("annotator",), ("ratings",),
    ("image",), each=ratings, use=(Use("annotator", 500, 250, 1),),
)  # fmt: skip
