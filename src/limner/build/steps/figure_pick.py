"""The choice of the method figure: candidates are compared in pairs, and a figure must win in both orders."""

from __future__ import annotations

from typing import Any

from ...core.asks import Contract, Picture, Text, Unreadable
from ...core.json_text import loads
from ..base import BuildItem, BuildStep, StepContext, Use


async def figure_pick(item: BuildItem, context: StepContext) -> BuildItem:
    """Choose the method figure by pairs in both orders."""
    candidates = item.body["candidates"]
    best, duels = candidates[0], list[dict[str, Any]]()
    for n, other in enumerate(candidates[1:], 1):
        first = await _better(item, context, best, other, f"{n}a")
        second = await _better(item, context, other, best, f"{n}b")
        # The candidates are ranked by rules; only the same choice in both orders overrules them.
        wins = first == 2 and second == 1
        duels.append({"held": best["file"], "against": other["file"], "won": wins, "agreed": first != second})
        best = other if wins else best
    return item.having(image=best["image"], caption=best["caption"], figure_file=best["file"], duels=duels)


async def _better(
    item: BuildItem, context: StepContext, first: dict[str, Any], second: dict[str, Any], name: str
) -> int:
    shown = context.prompts.fill("figure-pair", first=first["caption"] or "none", second=second["caption"] or "none")
    pictures = [Picture(first["image"], max_side=1024), Picture(second["image"], max_side=1024)]
    return await context.ask("chooser", item, [*pictures, Text(shown)], Contract(_choice), name)


def _choice(text: str) -> int:
    choice: Any = loads(text).get("figure")
    if type(choice) is not int or choice not in (1, 2):
        raise Unreadable('"figure" must be 1 or 2')
    return choice


STEP = BuildStep("figure-pick", "the method figure, by pairs in both orders", roles=("chooser",),
                 prompts=("figure-pair",), reads=("candidates",), takes="paper", makes="paper", each=figure_pick,
                 use=(Use("chooser", 300, 30, pictures=2, calls=6),))  # fmt: skip
