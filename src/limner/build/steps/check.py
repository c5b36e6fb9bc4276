"""The reference under its own points: another model answers them on the picture; what it denies goes to reviewers."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, Use


class CheckSettings(StrictModel):
    """What follows.

    Attributes:
        most_denied: The share of points that may be denied before the question is taken out.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    most_denied: float = Field(default=0.5, ge=0, le=1)
    max_side: int = Field(default=1536, ge=64)


async def check(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    points = [point["question"] for point in item.body["scoring_points"]]

    def read(reply: str) -> list[bool]:
        found = loads(reply).get("answers")
        if not isinstance(found, list) or not all(one in ("yes", "no") for one in found):
            raise Unreadable('"answers" must be a list of "yes" and "no"')
        if len(found) != len(points):
            raise Unreadable(f'"answers" has {len(found)} entries for {len(points)} points')
        return [one == "yes" for one in found]

    told = "\n".join(f"{n}. {point}" for n, point in enumerate(points, 1))
    words = bench.prompts.fill("check", prompt=item.body["prompt"], points=told)
    shown: list[Part] = [Text(words), Picture(item.body["image"], bench.settings.max_side)]
    answers = await bench.ask("checker", item, shown, Contract(read))
    denied = [point for point, yes in zip(points, answers, strict=True) if not yes]
    if len(denied) > bench.settings.most_denied * len(points):
        raise Dropped("reference fails its points", f"{len(denied)} of {len(points)}")
    return item.having(denied=denied)


STEP = BuildStep(
    "check", "lets another model answer the points on the picture itself", CheckSettings, ("checker",), ("check",),
    ("image", "prompt", "scoring_points"), each=check, use=(Use("checker", 600, 60, 1),),
)  # fmt: skip
