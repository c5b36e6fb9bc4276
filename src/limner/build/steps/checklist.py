"""A checklist for each prompt: each item is a fact that knowledge requires of the picture, with an explanation."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use
from ..checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist
from ..replies import read_text_field


class ChecklistSettings(StrictModel):
    """The settings of checklists.

    Attributes:
        items: The number of items; the paper's printed cases have 10.
        limits: The limits of a checklist.
        refuse: Kinds of warnings that also make the model write the checklist again.
    """

    items: int = Field(default=10, ge=1, le=50)
    limits: ChecklistLimits = ChecklistLimits()
    refuse: tuple[str, ...] = ()


async def checklist(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write a checklist for a prompt."""
    how: ChecklistSettings = context.settings
    limits = how.limits.model_copy(update={"items": max(how.items, how.limits.items)})

    def read(reply: str) -> list[dict[str, str]]:
        rows = loads(reply).get("checklist")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise Unreadable('"checklist" must be a list of objects')
        if len(rows) != how.items:
            raise Unreadable(f'"checklist" has {len(rows)} items; it must have {how.items}')
        entries = [{name: read_text_field(row, name) for name in ("item", "explanation")} for row in rows]
        wrong = [
            str(lint)
            for lint in lint_checklist(item.body["prompt"], entries, limits)
            if lint.kind in CHECKLIST_ERRORS or lint.kind in how.refuse
        ]
        if wrong:
            raise Unreadable("; ".join(wrong[:6]))
        return entries

    topic = item.body.get("country") or item.body.get("discipline") or item.body["domain"]
    words = context.prompts.fill("checklist", prompt=item.body["prompt"], topic=topic, items=str(how.items))
    return item.having(checklist=await context.ask("writer", item, [Text(words)], Contract(read)))


STEP = BuildStep(
    "checklist", "writes a checklist for each prompt", ChecklistSettings, ("writer",), ("checklist",),
    ("prompt", "domain", "country", "discipline"), takes="prompt", makes="prompt", each=checklist,
    use=(Use("writer", 700, 700),),
)  # fmt: skip
