"""A model's check of each picture with its key concept: every criterion separately, and what it sees."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use
from ..replies import read_object


class PictureFilterSettings(StrictModel):
    """The requirements of a picture.

    Attributes:
        criteria: Name -> criterion; a picture must meet all of them.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    criteria: dict[str, str] = Field(min_length=1)
    max_side: int = Field(default=1024, ge=64)


async def picture_filter(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model check that a picture shows its prompt."""
    how: PictureFilterSettings = context.settings

    def read(reply: str) -> dict[str, Any]:
        return read_verdict(loads(reply), how)

    listed = "\n".join(f"- `{name}`: {words}" for name, words in how.criteria.items())
    shown: list[Part] = [
        Text(context.prompts.fill("picture-filter", criteria=listed, concept=item.body["concept"])),
        Picture(item.body["image"], how.max_side),
    ]
    verdict = await context.ask("checker", item, shown, Contract(read))
    if failed := [name for name in how.criteria if not verdict["criteria"][name]]:
        raise Dropped(f"not {failed[0].replace('_', ' ')}", "; ".join(verdict["reason"]))
    return item.having(seen={"elements": verdict["elements"], "dependencies": verdict["dependencies"]})


def read_verdict(reply: Any, how: PictureFilterSettings) -> dict[str, Any]:
    """Return a verdict with a yes or no for every criterion.

    Raises:
        Unreadable: The verdict is incomplete, or contradicts itself.
    """
    marks = read_object(reply, "criteria")
    for name in how.criteria:
        if type(marks.get(name)) is not bool:
            raise Unreadable(f'"criteria" must say true or false for "{name}"')
    for name in ("reason", "elements", "dependencies"):
        value = reply.get(name)
        if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
            raise Unreadable(f'"{name}" must be a list of texts')
    if type(reply.get("judge")) is not bool or reply["judge"] != all(marks[name] for name in how.criteria):
        raise Unreadable('"judge" must be true where all criteria are, and only there')
    if reply["judge"] and not (reply["elements"] and reply["dependencies"]):
        raise Unreadable("a picture that is kept has elements and dependencies: list them")
    return {name: reply[name] for name in ("criteria", "reason", "elements", "dependencies")}


STEP = BuildStep("picture-filter", "a model looks at each picture: whole, legible, literal, fit", PictureFilterSettings,
                 ("checker",), ("picture-filter",), ("image", "concept"), each=picture_filter,
                 use=(Use("checker", 600, 300, 1),))  # fmt: skip
