"""A model's look at each picture with its key concept: every criterion by itself, and what it sees."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped, Use
from ..replies import an_object


class PictureFilterSettings(StrictModel):
    """What a picture must be.

    Attributes:
        criteria: Name -> what it asks; a picture must meet them all.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    criteria: dict[str, str] = Field(min_length=1)
    max_side: int = Field(default=1024, ge=64)


async def picture_filter(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    how: PictureFilterSettings = bench.settings

    def read(reply: str) -> dict[str, Any]:
        return read_verdict(loads(reply), how)

    told = "\n".join(f"- `{name}`: {words}" for name, words in how.criteria.items())
    shown: list[Part] = [
        Text(bench.prompts.fill("picture-filter", criteria=told, concept=item.body["concept"])),
        Picture(item.body["image"], how.max_side),
    ]
    found = await bench.ask("checker", item, shown, Contract(read))
    if failed := [name for name in how.criteria if not found["criteria"][name]]:
        raise Dropped(f"not {failed[0].replace('_', ' ')}", "; ".join(found["reason"]))
    return item.having(seen={"elements": found["elements"], "dependencies": found["dependencies"]})


def read_verdict(found: Any, how: PictureFilterSettings) -> dict[str, Any]:
    """Return a verdict that says yes or no to every criterion and agrees with itself.

    Raises:
        Unreadable: It does not.
    """
    marks = an_object(found, "criteria")
    for name in how.criteria:
        if type(marks.get(name)) is not bool:
            raise Unreadable(f'"criteria" must say true or false for "{name}"')
    for name in ("reason", "elements", "dependencies"):
        value = found.get(name)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise Unreadable(f'"{name}" must be a list of texts')
    if type(found.get("judge")) is not bool or found["judge"] != all(marks[name] for name in how.criteria):
        raise Unreadable('"judge" must be true where all criteria are, and only there')
    if found["judge"] and not (found["elements"] and found["dependencies"]):
        raise Unreadable("a picture that is kept has elements and dependencies: list them")
    return {name: found[name] for name in ("criteria", "reason", "elements", "dependencies")}


STEP = BuildStep("picture-filter", "a model looks at each picture: whole, legible, literal, fit", PictureFilterSettings,
                 ("checker",), ("picture-filter",), ("image", "concept"), each=picture_filter,
                 use=(Use("checker", 600, 300, 1),))  # fmt: skip
