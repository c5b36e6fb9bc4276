"""A check that the chosen figure is a diagram of the method: its parts and their connections."""

from __future__ import annotations

from typing import Any

from ...core.asks import Contract, Part, Picture, Text, Unreadable
from ...core.json_text import loads
from ..base import BuildItem, BuildStep, Dropped, StepContext, Use


async def figure_check(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model decide whether the figure is a diagram of the method."""
    shown = context.prompts.fill("figure-check", caption=item.body["caption"] or "none")
    parts: list[Part] = [Picture(item.body["image"], max_side=1536), Text(shown)]
    yes, reason = await context.ask("checker", item, parts, Contract(_verdict))
    if not yes:
        raise Dropped("no diagram of the method", reason)
    return item.having(figure_checked=reason)


def _verdict(text: str) -> tuple[bool, str]:
    body: dict[str, Any] = loads(text)
    if type(body.get("diagram")) is not bool or not isinstance(body.get("reason"), str):
        raise Unreadable('"diagram" must be true or false, and "reason" a text')
    return body["diagram"], body["reason"]


STEP = BuildStep("figure-check", "is it a diagram of the method?", roles=("checker",), prompts=("figure-check",),
                 reads=("image", "caption"), takes="paper", makes="paper", each=figure_check,
                 use=(Use("checker", 250, 60, pictures=1),))  # fmt: skip
