"""The atoms of a figure, from the figure, its text and the expert's prompt; evidence says which the prompt asks for."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..figures import doubts, list_lines, read_draft


class AtomDraftSettings(StrictModel):
    """The settings of the draft.

    Attributes:
        max_side: Pixels of the longer side of the picture that is sent.
    """

    max_side: int = Field(default=2048, ge=64)


async def atom_draft(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model draft the atoms of a figure, with evidence from the prompt."""
    prompt, lines = item.body["free_prompt"], item.body["layout_lines"]

    def read(reply: str) -> dict[str, Any]:
        return read_draft(loads(reply), prompt, item.body["panel_type"])

    words = context.prompts.fill("atom-draft", prompt=prompt, lines=list_lines(lines), panels=item.body["panel_type"])
    shown: list[Part] = [Text(words), Picture(item.body["image"], context.settings.max_side)]
    draft = await context.ask("annotator", item, shown, Contract(read, heavy=True))
    if draft["empty"]:
        raise Dropped("empty category", "; ".join(draft["empty"]))
    fields = {name: draft[name] for name in ("visual", "text", "relation", "layout", "evidence")}
    return item.having(**fields, warnings=doubts(draft, prompt, lines))


STEP = BuildStep(
    "atom-draft", "drafts the atoms of each figure, with evidence", AtomDraftSettings, ("annotator",), ("atom-draft",),
    ("image", "free_prompt", "layout_lines", "panel_type"), each=atom_draft, use=(Use("annotator", 2500, 5000, 1),),
)  # fmt: skip
