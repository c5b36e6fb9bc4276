"""Strategies that choose or improve: best-of-n, and edit (a critic lists faults and a painter corrects them)."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from ..calls import Fault
from ..calls.journal import in_turn
from ..core.asks import Contract, Part, Picture, Text, Unreadable
from ..core.faults import RETRIED_NEXT_RUN
from ..core.json_text import loads
from ..painters import PaintRequest
from .base import Canvas, Drawer, Guess, Stage, Studio

MAX_CANDIDATES = 16


async def best_of(request: PaintRequest, studio: Studio, drawer: Drawer, n: int) -> Canvas:
    """Draw n candidates with different seeds and return the one that the chooser prefers.

    A refused candidate is left out; after a transient failure the whole drawing waits for the next run, in which the
    other candidates cost nothing.
    """
    seeds = [request.seed * n + i for i in range(n)]
    tried = await asyncio.gather(*(drawer(replace(request, seed=s), studio) for s in seeds), return_exceptions=True)
    canvases: list[Canvas] = []
    faults: list[Fault] = []
    for seed, result in zip(seeds, tried, strict=True):
        if isinstance(result, Canvas):
            canvases.append(result)
            studio.note("candidate", image=result.image, seed=seed)
        elif isinstance(result, Fault):
            faults.append(result)
            studio.note("candidate", seed=seed, fault=result.kind, text=result.detail)
        else:
            raise result
    if waiting := next((fault for fault in faults if fault.kind in RETRIED_NEXT_RUN), None):
        raise waiting
    for fault in faults:
        studio.paid(fault.cost, *fault.calls)
    if not canvases:
        raise Fault(faults[0].kind, f"all {n} candidates: {faults[0].detail}")
    return canvases[await choose(request, studio, [canvas.image for canvas in canvases])]


async def choose(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """Return the index of the best picture; the first of equal ones."""
    different = list(dict.fromkeys(images))
    if len(different) == 1:
        return 0
    how = studio.options.get("choose", "listwise")
    best = await (_pairwise if how == "pairwise" else _listwise)(request, studio, different)
    studio.note("choice", image=different[best], text=f"{how}, in both orders")
    return images.index(different[best])


async def _listwise(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """Rank all pictures in both orders and add the ranks, so that position gives no advantage."""
    forth = list(range(len(images)))
    places = [0] * len(images)
    orders = forth, forth[::-1]
    rankings = await in_turn(partial(_rank, request, studio, [images[i] for i in order]) for order in orders)
    for order, ranking in zip(orders, rankings, strict=True):
        for place, letter in enumerate(ranking):
            places[order[letter]] += place
    return places.index(min(places))


async def _pairwise(request: PaintRequest, studio: Studio, images: Sequence[str]) -> int:
    """Compare each picture with the best so far; a challenger must win in both orders."""
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
        answer = loads(reply)
        ranking = answer.get("ranking")
        if not isinstance(ranking, list) or sorted(map(str, ranking)) != sorted(letters):
            raise Unreadable(f'"ranking" must hold each of {quoted} once')
        return [letters.index(str(letter)) for letter in ranking], str(answer.get("reason", ""))

    (ranking, reason), key = await studio.ask("chooser", "choose", request, shown, Contract(read))
    order = " > ".join(letters[i] for i in ranking)
    studio.note("ranking", text=f"{order}: {reason}", pictures=list(images), call=key)
    return ranking


def guess_choosing(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    """Return the estimated calls for choosing among n pictures."""
    if n < 2:
        return []
    if options.get("choose") == "pairwise":
        return [Guess("chooser", 2 * (n - 1), tokens + 250, 60, pictures=2)]
    return [Guess("chooser", 2, tokens + 250, 60, pictures=n)]


BEST_OF = Stage(
    "best-of-N", "N drawings with different seeds, of which a chooser keeps one", "several", ("chooser",),
    {"choose": "listwise (all at once) or pairwise; both in both orders"}, {"choose": ("listwise", "pairwise")},
    many=best_of, guess=guess_choosing,
)  # fmt: skip
USUAL_ROUNDS = 2
MAX_FAULTS = 8
"""The most faults that a critic may list at once."""


async def edit(canvas: Canvas, request: PaintRequest, studio: Studio) -> Canvas:
    """Edit until the critic finds no fault or the rounds are used up; ``edit=plain`` is AIBench's single pass."""
    if studio.options.get("edit") == "plain":
        # The editor acts as its own critic, and gets only the question.
        order = studio.prompts.fill("edit_plain", prompt=studio.order)
        return await _edit_once(order, canvas, request, studio) or canvas
    rounds = [canvas]
    for n in range(1, studio.number("rounds", USUAL_ROUNDS, high=10) + 1):
        faults = await _ask_for_faults(request, studio, rounds[-1], n)
        if not faults:
            break
        order = studio.prompts.fill("edit", prompt=request.prompt, faults="\n".join(f"- {fault}" for fault in faults))
        edited = await _edit_once(order, rounds[-1], request, studio, n)
        if edited is None:
            break
        rounds.append(edited)
    return rounds[await choose(request, studio, [each.image for each in rounds])]


async def _edit_once(
    order: str, canvas: Canvas, request: PaintRequest, studio: Studio, n: int | None = None
) -> Canvas | None:
    """Return the edited picture; None if the editor refuses, so that the picture stays unchanged."""
    try:
        edited = await studio.paint(
            replace(request, prompt=order, images=(canvas.image,)), studio.editor or studio.painter
        )
    except Fault as fault:
        if fault.kind in RETRIED_NEXT_RUN:
            raise
        studio.paid(fault.cost, *fault.calls)
        studio.note("edit", round=n, fault=fault.kind, text=fault.detail)
        return None
    studio.note("edit", round=n, image=edited.image)
    return edited


async def _ask_for_faults(request: PaintRequest, studio: Studio, canvas: Canvas, n: int) -> list[str]:
    def read(reply: str) -> list[str]:
        listed = loads(reply).get("faults")
        if not isinstance(listed, list):
            raise Unreadable('"faults" must be a list')
        faults = []
        for fault in listed[:MAX_FAULTS]:
            if not isinstance(fault, dict) or not str(fault.get("what", "")).strip():
                raise Unreadable('every fault needs "what", "where" and "mend"')
            where, mend = (str(fault.get(name) or "").strip() for name in ("where", "mend"))
            faults.append(str(fault["what"]).strip() + (f" ({where})" if where else "") + (f": {mend}" if mend else ""))
        return faults

    shown: list[Part] = [
        Text(studio.prompts.fill("critique", prompt=studio.order, most=str(MAX_FAULTS))),
        Picture(canvas.image),
    ]
    faults, key = await studio.ask("critic", "critique", request, shown, Contract(read))
    studio.note("critique", round=n, text="\n".join(faults) or "nothing to mend", call=key)
    return faults


def _guess(tokens: int, options: Mapping[str, str], n: int) -> list[Guess]:
    if options.get("edit") == "plain":
        return [Guess("editor", 1)]
    rounds = int(options.get("rounds", USUAL_ROUNDS))
    return [
        Guess("critic", rounds, tokens + 300, 250, pictures=1),
        Guess("editor", rounds, pictures=1),
        *guess_choosing(tokens, options, rounds + 1),
    ]


EDIT = Stage(
    "edit", "a critic lists errors, a painter corrects them, a chooser keeps the best round", "finishing",
    ("critic", "chooser"),
    {
        "edit": "critique (the default), or plain: one pass by the editor alone, without critic or chooser",
        "rounds": "the most rounds of editing; 2 by default",
        "editor": "the painter that edits; by default the one that draws",
    },
    {"edit": ("critique", "plain")}, ("rounds",), {"edit=plain": frozenset({"critic", "chooser", "rounds"})},
    finish=edit, guess=_guess, edits=True,
)  # fmt: skip
