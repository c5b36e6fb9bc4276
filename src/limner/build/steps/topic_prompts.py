"""Prompts for each topic: scenes of a region, figures of a discipline."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use
from ..checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist
from ..replies import read_texts
from ..wording import same_words

_FINE = ({"item": "something", "explanation": "something"},)


class TopicPromptsSettings(StrictModel):
    """The settings of prompts.

    Attributes:
        batch: The most prompts in one call; earlier ones are listed, so that none is written twice.
        limits: The limits of a prompt.
    """

    batch: int = Field(default=10, ge=1, le=50)
    limits: ChecklistLimits = ChecklistLimits()


async def topic_prompts(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write prompts for a topic."""
    how: TopicPromptsSettings = context.settings
    place = item.body.get("continent")
    prompts: list[str] = []
    while len(prompts) < item.body["wanted"]:
        many = min(how.batch, item.body["wanted"] - len(prompts))
        fields = {"many": str(many), "words": str(how.limits.words), "topic": item.body["name"]}
        fields["earlier"] = "\n".join(f"- {entry}" for entry in prompts) or "- (none)"
        if place:
            words = context.prompts.fill("region-prompts", continent=place, **fields)
        else:
            words = context.prompts.fill("discipline-prompts", **fields)
        earlier = tuple(prompts)

        def read(reply: str, many: int = many, earlier: tuple[str, ...] = earlier) -> list[str]:
            return _read(reply, many, earlier, how.limits)

        prompts += await context.ask(
            "writer", item, [Text(words)], Contract(read), name=str(len(prompts) // how.batch + 1)
        )
    return item.having(prompts=prompts)


def _read(reply: str, many: int, earlier: Sequence[str], limits: ChecklistLimits) -> list[str]:
    answer = read_texts(loads(reply), "prompts", many, many)
    for n, prompt in enumerate(answer, 1):
        wrong = [
            entry
            for entry in lint_checklist(prompt, _FINE, limits)
            if not entry.point and entry.kind in CHECKLIST_ERRORS
        ]
        if wrong:
            raise Unreadable(f"prompt {n}: {wrong[0]}")
        if other := next((entry for entry in (*earlier, *answer[: n - 1]) if same_words(entry, prompt)), None):
            raise Unreadable(f"prompt {n} is nearly the same as {other[:80]!r}")
    return answer


STEP = BuildStep(
    "topic-prompts", "writes prompts for each topic", TopicPromptsSettings, ("writer",),
    ("region-prompts", "discipline-prompts"), ("name", "continent", "wanted"), takes="topic", makes="topic",
    each=topic_prompts, use=(Use("writer", 600, 500),),
)  # fmt: skip
