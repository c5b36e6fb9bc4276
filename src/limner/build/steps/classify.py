"""Topic, difficulty and image type of a picture."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text
from ...core.errors import UsageError
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..replies import read_choice

NONE = "none"


class ClassifySettings(StrictModel):
    """The classes of pictures, in addition to topics.

    Attributes:
        difficulties: The difficulties, from easy to hard.
        types: The image types.
        max_side: Pixels of the longer side of the picture that is sent.
        text_limit: Characters of source text that are shown.
    """

    difficulties: tuple[str, ...] = Field(min_length=1)
    types: tuple[str, ...] = Field(min_length=1)
    max_side: int = Field(default=1024, ge=64)
    text_limit: int = Field(default=4000, ge=0)


async def classify(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model sort a picture into a topic, a difficulty and an image type."""
    how: ClassifySettings = context.settings
    topics = {topic.body["path"]: topic.body.get("isced", "") for topic in context.beside}
    if not topics:
        raise UsageError(f"step {context.place}: there are no topics; see `limner build status {context.build}`")

    def read(reply: str) -> dict[str, Any]:
        answer = loads(reply)
        return {
            "taxonomy": read_choice(answer, "taxonomy", [*topics, NONE]),
            "difficulty": read_choice(answer, "difficulty", how.difficulties),
            "img_type": read_choice(answer, "image_type", how.types),
        }

    words = context.prompts.fill(
        "classify", taxonomy="\n".join(topics), difficulties=", ".join(how.difficulties), types=", ".join(how.types),
        text=item.body["source_text"][: how.text_limit] or "(none)",
    )  # fmt: skip
    shown: list[Part] = [Text(words), Picture(item.body["image"], how.max_side)]
    labels = await context.ask("annotator", item, shown, Contract(read))
    if labels["taxonomy"] == NONE:
        raise Dropped("no topic", "it belongs to none of the topics")
    return item.having(**labels, isced=topics[labels["taxonomy"]])


STEP = BuildStep(
    "classify", "sorts each picture into a topic, a difficulty and an image type", ClassifySettings, ("annotator",),
    ("classify",), ("image", "source_text"), beside="topic", each=classify, use=(Use("annotator", 5000, 60, 1),),
)  # fmt: skip
