"""Search words for each topic, for collecting pictures."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Text
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use
from ..replies import read_texts


class KeywordsSettings(StrictModel):
    """The number of search words.

    Attributes:
        per_topic: Search words for each topic; with 0, no model is asked.
    """

    per_topic: int = Field(default=5, ge=0, le=50)


async def keywords(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write search words for a topic."""
    if (many := context.settings.per_topic) == 0:
        return item.having(keywords=[])
    shown = [Text(context.prompts.fill("keywords", taxonomy=item.body["path"], many=str(many)))]
    words = await context.ask(
        "annotator", item, shown, Contract(lambda reply: read_texts(loads(reply), "keywords", 1, many))
    )
    return item.having(keywords=words)


STEP = BuildStep(
    "keywords", "writes search words for each topic", KeywordsSettings, ("annotator",), ("keywords",), ("path",),
    takes="topic", each=keywords, use=(Use("annotator", 250, 100),),
)  # fmt: skip
