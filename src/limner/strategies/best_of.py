"""Strategies that choose and improve: best-of-n, and edit, where a critic lists faults and a painter removes them."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..calls import Fault
from ..calls.journal import in_turn
from ..core.asks import Contract, Part, Picture, Text, Unreadable
from ..core.errors import UsageError
from ..core.faults import RETRIED_NEXT_RUN
from ..core.json_text import loads
from ..painters import PaintRequest
from .base import Canvas, Drawer, Guess, Stage, Studio

MOST = 16


async def best_of(request: PaintRequest, studio: Studio, drawer: Drawer, n: int) -> Canvas:
    """Draw n times with n seeds and keep the one the chooser prefers.

    A candidate that is refused is left out; one that failed in passing makes the whole drawing wait for the next run,
    where the others cost nothing.
    """
    seeds = [request.seed * n + i for i in range(n)]
    tried = await asyncio.gather(*(drawer(replace(request, seed=s), studio) for s in seeds), return_exceptions=True)
    canvases: list[Canvas] = []
    faults: list[Fault] = []
    for seed, found in zip(seeds, tried, strict=True):
        if isinstance(found, Canvas):
            canvases.append(found)
            studio.note("candidate", image=found.image, seed=seed)
        elif isinstance(found, Fault):
            faults.append(found)
            studio.note("candidate", seed=seed, fault=found.kind, text=found.detail)
        else:
            raise found
    if waiting := next((fault for fault in faults if fault.kind in RETRIED_NEXT_RUN), None):
        raise waiting
    for fault in faults:
        studio.paid(fault.cost, *fault.calls)
    if not canvases:
        raise Fault(faults[0].kind, f"all {n} candidates: {faults[0].detail}")
    return canvases[await choose(request, studio, [canvas.image for canvas in canvases])]


async def choose(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """Return the index of the best picture; the earlier of equals."""
    different = list(dict.fromkeys(images))
    if len(different) == 1:
        return 0
    how = studio.options.get("choose", "listwise")
    if how == "listwise":
        best = await _listwise(request, studio, different)
    elif how == "pairwise":
        best = await _pairwise(request, studio, different)
    else:
        raise UsageError(f"-S choose={how}: there is: listwise, pairwise")
    studio.note("choice", image=different[best], text=f"{how}, in both orders")
    return images.index(different[best])


async def _listwise(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """Ranked once in each order; places are added up, so that standing first or last gains nothing."""
    forth = list(range(len(images)))
    places = [0] * len(images)
    orders = forth, forth[::-1]
    rankings = await in_turn(partial(_rank, request, studio, [images[i] for i in order]) for order in orders)
    for order, ranking in zip(orders, rankings, strict=True):
        for place, letter in enumerate(ranking):
            places[order[letter]] += place
    return places.index(min(places))


async def _pairwise(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """One against the next; a challenger must win in both orders."""
    best = 0
    for other in range(1, len(images)):
        both = [images[best], images[other]], [images[other], images[best]]
        first, second = await in_turn(partial(_rank, request, studio, pair) for pair in both)
        if first[0] == 1 and second[0] == 0:
            best = other
    return best


async def _rank(request: PaintRequest, studio: Studio, images: Sequence[str]) -> list[int]:
    letters = string.ascii_uppercase[: len(images)]
    quoted = ", ".join(f'"{letter}"' for letter in letters)
    shown: list[Part] = [Text(studio.prompts.fill("choose", prompt=studio.order, letters=quoted))]
    for letter, image in zip(letters, images, strict=True):
        shown += [Text(f"Picture {letter}:"), Picture(image)]

    def read(reply: str) -> tuple[list[int], str]:
        found = loads(reply)
        ranking = found.get("ranking")
        if not isinstance(ranking, list) or sorted(map(str, ranking)) != sorted(letters):
            raise Unreadable(f'"ranking" must hold each of {quoted} once')
        return [letters.index(str(letter)) for letter in ranking], str(found.get("reason", ""))

    (ranking, reason), key = await studio.ask("chooser", "choose", request, shown, Contract(read))
    told = " > ".join(letters[i] for i in ranking)
    studio.note("ranking", text=f"{told}: {reason}", pictures=list(images), call=key)
    return ranking


def choices(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    """Return what choosing among n pictures takes."""
    if n < 2:
        return []
    if options.get("choose") == "pairwise":
        return [Guess("chooser", 2 * (n - 1), tokens + 250, 60, pictures=2)]
    return [Guess("chooser", 2, tokens + 250, 60, pictures=n)]


BEST_OF = Stage(
    "best-of-N", "N drawings with different seeds, of which a chooser keeps one", "several", ("chooser",),
    {"choose": "listwise (all at once) or pairwise; both in both orders"}, {"choose": ("listwise", "pairwise")},
    many=best_of, guess=choices,
)  # fmt: skip
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
    """Return what the editor makes of the picture; None where it will not edit it, and what there is stays."""
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
    "edit", "a critic lists errors, a painter corrects them, a chooser keeps the best round", "finishing",
    ("critic", "chooser"),
    {
        "edit": "critique (the default), or plain: one pass by the editor alone, without critic or chooser",
        "rounds": "of mending, at most; 2 by default",
        "editor": "the painter that edits; the drawing one by default",
    },
    {"edit": ("critique", "plain")}, ("rounds",), {"edit=plain": frozenset({"critic", "chooser", "rounds"})},
    finish=edit, guess=_guess, edits=True,
)  # fmt: skip
