"""A question for a picture, with weighted points for marking drawings."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use
from ..criterion_words import ERRORS, LintLimits, lint_question
from ..replies import read_text_field


class DraftSettings(StrictModel):
    """The settings of drafts.

    Attributes:
        examples: The template with examples.
        limits: The limits of a question; the model is shown violations and writes it again.
        max_side: Pixels of the longer side of the picture that is sent.
        text_limit: Characters of source text that are shown.
    """

    examples: str = "examples"
    limits: LintLimits = LintLimits()
    max_side: int = Field(default=1536, ge=64)
    text_limit: int = Field(default=6000, ge=0)


async def draft(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model draft the prompt and the scoring points of a picture."""
    how: DraftSettings = context.settings

    def read(reply: str) -> dict[str, Any]:
        answer = loads(reply)
        prompt, points = read_text_field(answer, "prompt"), _points(answer.get("scoring_points"))
        if errors := [str(lint) for lint in lint_question(prompt, points, how.limits) if lint.kind in ERRORS]:
            raise Unreadable("; ".join(errors[:6]))
        return {"prompt": prompt, "scoring_points": points}

    limits = how.limits
    words = context.prompts.fill(
        "draft", taxonomy=item.body["taxonomy"], text=item.body["source_text"][: how.text_limit] or "(none)",
        words=str(limits.words), points=str(limits.points), examples=context.prompts.text(how.examples),
    )  # fmt: skip
    shown: list[Part] = [Text(words), Picture(item.body["image"], how.max_side)]
    return item.having(**await context.ask("annotator", item, shown, Contract(read)))


def _points(reply: Any) -> list[dict[str, Any]]:
    if not isinstance(reply, list) or not reply:
        raise Unreadable('"scoring_points" must be a list')
    points = []
    for entry in reply:
        if not isinstance(entry, dict):
            raise Unreadable("each scoring point must be an object")
        score = entry.get("score")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise Unreadable('"score" must be a number')
        points.append({"question": read_text_field(entry, "question"), "score": float(score)})
    return points


STEP = BuildStep(
    "draft", "drafts a question and weighted points", DraftSettings, ("annotator",), ("draft", "examples"),
    ("image", "source_text", "taxonomy"), each=draft, use=(Use("annotator", 2200, 900, 1),),
)  # fmt: skip
