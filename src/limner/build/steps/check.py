"""A check of the reference by its own points: another model answers them, and denied points go to reviewers."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use


class CheckSettings(StrictModel):
    """The settings of the check.

    Attributes:
        most_denied: The share of points that may be denied before the question is dropped.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    most_denied: float = Field(default=0.5, ge=0, le=1)
    max_side: int = Field(default=1536, ge=64)


async def check(item: BuildItem, context: StepContext) -> BuildItem:
    """Have another model answer the points on the reference; drop the question if too many are denied."""
    points = [point["question"] for point in item.body["scoring_points"]]

    def read(reply: str) -> list[bool]:
        listed_answers = loads(reply).get("answers")
        if not isinstance(listed_answers, list) or not all(answer in ("yes", "no") for answer in listed_answers):
            raise Unreadable('"answers" must be a list of "yes" and "no"')
        if len(listed_answers) != len(points):
            raise Unreadable(f'"answers" has {len(listed_answers)} entries for {len(points)} points')
        return [answer == "yes" for answer in listed_answers]

    listed = "\n".join(f"{n}. {point}" for n, point in enumerate(points, 1))
    words = context.prompts.fill("check", prompt=item.body["prompt"], points=listed)
    shown: list[Part] = [Text(words), Picture(item.body["image"], context.settings.max_side)]
    answers = await context.ask("checker", item, shown, Contract(read))
    denied = [point for point, yes in zip(points, answers, strict=True) if not yes]
    if len(denied) > context.settings.most_denied * len(points):
        raise Dropped("reference fails its points", f"{len(denied)} of {len(points)}")
    return item.having(denied=denied)


STEP = BuildStep(
    "check", "lets another model answer the points on the picture itself", CheckSettings, ("checker",), ("check",),
    ("image", "prompt", "scoring_points"), each=check, use=(Use("checker", 600, 60, 1),),
)  # fmt: skip
