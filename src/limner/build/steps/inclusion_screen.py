"""Inclusion criteria of figures: clear, with visual and textual elements; no results, data plots or imaging output."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..replies import read_text_field


class InclusionSettings(StrictModel):
    """The criteria for figures.

    Attributes:
        wanted: Name -> what must be true of a figure.
        unwanted: Name -> what must not be true.
        max_side: Pixels of the longer side of the picture that is sent.
        text_limit: Characters of source text that are shown.
    """

    wanted: dict[str, str] = Field(default_factory=dict)
    unwanted: dict[str, str] = Field(default_factory=dict)
    max_side: int = Field(default=1536, ge=64)
    text_limit: int = Field(default=3000, ge=0)


async def inclusion_screen(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model check a figure against the inclusion criteria."""
    how: InclusionSettings = context.settings
    asked = how.wanted | how.unwanted

    def read(reply: str) -> tuple[dict[str, bool], str]:
        answer = loads(reply)
        if lost := [name for name in asked if type(answer.get(name)) is not bool]:
            raise Unreadable(f'"{lost[0]}" must be true or false')
        return {name: bool(answer[name]) for name in asked}, read_text_field(answer, "reason")

    listed = "\n".join(f"- `{name}`: {what}" for name, what in asked.items())
    words = context.prompts.fill(
        "inclusion-screen", asked=listed, reply=", ".join(f'"{name}": true' for name in asked),
        text=item.body["source_text"][: how.text_limit] or "(none)",
    )  # fmt: skip
    shown: list[Part] = [Text(words), Picture(item.body["image"], how.max_side)]
    verdicts, reason = await context.ask("annotator", item, shown, Contract(read))
    for name in asked:
        if verdicts[name] != (name in how.wanted):
            raise Dropped(f"{'not ' if name in how.wanted else ''}{name.replace('_', ' ')}", reason)
    return item.having(screened=reason)


STEP = BuildStep(
    "inclusion-screen", "drops figures that should not be drawn", InclusionSettings, ("annotator",),
    ("inclusion-screen",), ("image", "source_text"), each=inclusion_screen, use=(Use("annotator", 800, 80, 1),),
)  # fmt: skip
