"""Edit: a critic lists faults, an editing painter mends them, the chooser keeps the best round; or one plain pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..calls import Fault
from ..core.asks import Contract, Part, Picture, Text, Unreadable
from ..core.faults import RETRIED_NEXT_RUN
from ..core.json_text import loads
from ..painters import PaintRequest
from .base import Canvas, Guess, Stage, Studio
from .best_of import choices, choose

ROUNDS = 2
FAULTS = 8
"""Faults a critic may name at once."""


async def edit(canvas: Canvas, request: PaintRequest, studio: Studio) -> Canvas:
    """Mend until the critic finds nothing or the rounds are used up; ``edit=plain`` is AIBench's single pass."""
    if studio.options.get("edit") == "plain":
        # Nobody tells the editor what is wrong: it is its own critic, and goes by the question.
        return await _mended(studio.prompts.fill("edit_plain", prompt=studio.order), canvas, request, studio) or canvas
    rounds = [canvas]
    for n in range(1, studio.number("rounds", ROUNDS, high=10) + 1):
        faults = await _faults(request, studio, rounds[-1], n)
        if not faults:
            break
        order = studio.prompts.fill("edit", prompt=request.prompt, faults="\n".join(f"- {fault}" for fault in faults))
        mended = await _mended(order, rounds[-1], request, studio, n)
        if mended is None:
            break
        rounds.append(mended)
    return rounds[await choose(request, studio, [each.image for each in rounds])]


async def _mended(
    order: str, canvas: Canvas, request: PaintRequest, studio: Studio, n: int | None = None
) -> Canvas | None:
    """What the editor makes of the picture; None where it will not edit it, and what there is stays."""
    try:
        mended = await studio.paint(
            replace(request, prompt=order, images=(canvas.image,)), studio.editor or studio.painter
        )
    except Fault as fault:
        if fault.kind in RETRIED_NEXT_RUN:
            raise
        studio.paid(fault.cost, *fault.calls)
        studio.note("edit", round=n, fault=fault.kind, text=fault.detail)
        return None
    studio.note("edit", round=n, image=mended.image)
    return mended


async def _faults(request: PaintRequest, studio: Studio, canvas: Canvas, n: int) -> list[str]:
    def read(reply: str) -> list[str]:
        found = loads(reply).get("faults")
        if not isinstance(found, list):
            raise Unreadable('"faults" must be a list')
        told = []
        for fault in found[:FAULTS]:
            if not isinstance(fault, dict) or not str(fault.get("what", "")).strip():
                raise Unreadable('every fault needs "what", "where" and "mend"')
            where, mend = (str(fault.get(name) or "").strip() for name in ("where", "mend"))
            told.append(str(fault["what"]).strip() + (f" ({where})" if where else "") + (f": {mend}" if mend else ""))
        return told

    shown: list[Part] = [
        Text(studio.prompts.fill("critique", prompt=studio.order, most=str(FAULTS))),
        Picture(canvas.image),
    ]
    faults, key = await studio.ask("critic", "critique", request, shown, Contract(read))
    studio.note("critique", round=n, text="\n".join(faults) or "nothing to mend", call=key)
    return faults


def _guess(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    if options.get("edit") == "plain":
        return [Guess("editor", 1)]
    rounds = int(options.get("rounds", ROUNDS))
    return [
        Guess("critic", rounds, tokens + 300, 250, pictures=1),
        Guess("editor", rounds, pictures=1),
        *choices(tokens, options, rounds + 1),
    ]


EDIT = Stage(
    "edit", "a critic lists faults, an editing painter mends them, a chooser keeps the best round", "finishing",
    ("critic", "chooser"),
    {
        "edit": "critique (the default), or plain: one pass by the editor alone, without critic or chooser",
        "rounds": "of mending, at most; 2 by default",
        "editor": "the painter that edits; the drawing one by default",
    },
    {"edit": ("critique", "plain")}, ("rounds",), {"edit=plain": frozenset({"critic", "chooser", "rounds"})},
    finish=edit, guess=_guess, edits=True,
)  # fmt: skip
