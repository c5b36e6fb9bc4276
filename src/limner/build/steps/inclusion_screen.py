"""Which figures may be taken: clear, with visual and textual elements, and no results, data plots or imaging output."""

from __future__ import annotations

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, Use
from ..replies import a_text


class InclusionSettings(StrictModel):
    """What is asked of a figure.

    Attributes:
        wanted: Name -> what must hold of a figure.
        unwanted: Name -> what must not.
        max_side: Pixels of the longer side of the picture that is sent.
        text_limit: Characters of source text that are shown.
    """

    wanted: dict[str, str] = Field(default_factory=dict)
    unwanted: dict[str, str] = Field(default_factory=dict)
    max_side: int = Field(default=1536, ge=64)
    text_limit: int = Field(default=3000, ge=0)


async def inclusion_screen(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    how: InclusionSettings = bench.settings
    asked = how.wanted | how.unwanted

    def read(reply: str) -> tuple[dict[str, bool], str]:
        found = loads(reply)
        if lost := [name for name in asked if type(found.get(name)) is not bool]:
            raise Unreadable(f'"{lost[0]}" must be true or false')
        return {name: bool(found[name]) for name in asked}, a_text(found, "reason")

    told = "\n".join(f"- `{name}`: {what}" for name, what in asked.items())
    words = bench.prompts.fill(
        "inclusion-screen", asked=told, reply=", ".join(f'"{name}": true' for name in asked),
        text=item.body["source_text"][: how.text_limit] or "(none)",
    )  # fmt: skip
    shown: list[Part] = [Text(words), Picture(item.body["image"], how.max_side)]
    found, reason = await bench.ask("annotator", item, shown, Contract(read))
    for name in asked:
        if found[name] != (name in how.wanted):
            raise Dropped(f"{'not ' if name in how.wanted else ''}{name.replace('_', ' ')}", reason)
    return item.having(screened=reason)


STEP = BuildStep(
    "inclusion-screen", "takes out figures that are not to be drawn", InclusionSettings, ("annotator",),
    ("inclusion-screen",), ("image", "source_text"), each=inclusion_screen, use=(Use("annotator", 800, 80, 1),),
)  # fmt: skip
