"""Strategies: how a drawing comes about, as chains of plain async functions over painters and models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..calls import Calls, Fault
from ..core.errors import LostImage, UsageError
from ..core.faults import lost
from ..core.prompts import Prompts
from ..painters import Painter, Painting, PaintRequest
from ..painters.base import ImageKeeper
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN
from .base import STRATEGIES, Canvas, Drawer, Guess, OpenModel, Stage, StagePlace, Studio, joined
from .best_of import MOST
from .draw import DIRECT

__all__ = [
    "DIRECT_STRATEGY",
    "STRATEGIES",
    "Canvas",
    "Guess",
    "Stage",
    "Strategy",
    "Studio",
    "open_strategy",
    "parse",
]

SHARED = {"prompts": "a folder with your own wording of the strategies' prompts"}
PLACES: dict[StagePlace, str] = {
    "words": "first what works on the words",
    "drawing": "then one that draws",
    "several": "then one that draws several",
    "finishing": "then what works on the drawing",
}


@dataclass(frozen=True)
class Strategy:
    """A chain of stages: words first, then the drawing, then what is done with it.

    Attributes:
        name: The row it gets in tables: the chain, and the options it was given.
        stages: The links, in order, the drawing one among them.
        n: How many candidates a best-of stage draws.
    """

    name: str
    stages: tuple[Stage, ...]
    n: int = 1
    models: Mapping[str, OpenModel] = field(default_factory=dict)
    editor: Painter | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    prompts: Prompts | None = None

    @property
    def paints(self) -> bool:
        """Whether it needs a painter."""
        return all(stage.paints for stage in self.stages)

    def check(self) -> None:
        """Raise early when a model or editor cannot work at all."""
        for one in self._others():
            one.check()

    def unpriced(self) -> str | None:
        """Why nobody knows what its own calls can cost, or None."""
        return next((why for one in self._others() if (why := one.unpriced()) is not None), None)

    def _others(self) -> list[OpenModel | Painter]:
        return [*self.models.values(), *([self.editor] if self.editor is not None else [])]

    def fits(self, painter: Painter) -> None:
        """Check that the painter can do its part.

        Raises:
            UsageError: It cannot edit, and no other editor is named.
        """
        editing, editor = [stage.name for stage in self.stages if stage.edits], self.editor or painter
        if editing and not editor.edits:
            how = "name an editor: -S editor=PROVIDER/MODEL"
            raise UsageError(f"{editing[0]}: {editor.name} takes no pictures to start from; {how}")

    async def draw(
        self, request: PaintRequest, painter: Painter, calls: Calls, blobs: Blobs, exam: str, rounds: int = 0
    ) -> Painting:
        """Make one drawing; run again, it finds every step already made.

        Args:
            request: What is asked for.
            painter: Who draws.
            calls: The journal.
            blobs: Where pictures are kept.
            exam: Whose question it is.
            rounds: How often its models may be asked anew where an earlier run could not read their replies.

        Raises:
            Fault: With the calls and costs of all that was done before.
        """
        if self.stages == (DIRECT,):
            return await painter.paint(request, calls)
        studio = Studio(painter, calls, blobs, self.models, self.editor, self.options, exam)
        studio.order, studio.rounds = request.prompt, rounds
        if self.prompts is not None:
            studio.prompts = self.prompts
        try:
            canvas = await self._chain(request, studio)
        except Fault as fault:
            raise joined(fault, studio) from fault
        try:
            kept = ImageKeeper(blobs).get(canvas.image)
        except LostImage as error:
            raise joined(lost(error), studio) from error
        told = ({PROMPT_CUT: studio.cut} if studio.cut else {}) | ({PROMPT_REWRITTEN: True} if studio.rewritten else {})
        notes = {**canvas.notes, **told, "steps": studio.steps}
        return Painting(kept.data, canvas.prompt_sent, tuple(studio.calls_made), studio.cost, notes, kept)

    async def _chain(self, request: PaintRequest, studio: Studio) -> Canvas:
        drawer: Drawer | None = None
        canvas: Canvas | None = None
        for stage in self.stages:
            if stage.words is not None:
                request = await stage.words(request, studio)
            elif stage.draw is not None:
                drawer = stage.draw
            elif stage.many is not None:
                assert drawer is not None
                canvas = await stage.many(request, studio, drawer, self.n)
            elif stage.finish is not None:
                assert drawer is not None
                if canvas is None:
                    canvas = await drawer(request, studio)
                    studio.note("draft", image=canvas.image)
                canvas = await stage.finish(canvas, request, studio)
        assert drawer is not None
        return canvas or await drawer(request, studio)

    def guesses(self, tokens: int) -> list[Guess]:
        """Return what one drawing takes, for a prompt of so many tokens."""
        found: list[Guess] = []
        for stage in self.stages:
            made = stage.guess(tokens, self.options, self.n)
            if stage.place == "drawing" and self.n > 1:
                # The one that draws several draws n times in this way.
                made = [replace(guess, calls=guess.calls * self.n) for guess in made]
            found += made
            if stage.place == "words":
                tokens = made[0].tokens_out if made else tokens
        return found


DIRECT_STRATEGY = Strategy("direct", (DIRECT,))


def parse(word: str) -> tuple[tuple[Stage, ...], int]:
    """Return the stages behind a word such as ``rewrite+best-of-4``, with the drawing one put in, and best-of's n.

    Raises:
        UsageError: No such stage, or an order that makes no sense.
    """
    STRATEGIES.own()
    known = STRATEGIES.names()
    stages: list[Stage] = []
    n = 1
    for name in word.split("+"):
        if (many := re.fullmatch(r"(.+)-(\d+)", name)) and f"{many[1]}-N" in known:
            n, name = int(many[2]), f"{many[1]}-N"
            if not 2 <= n <= MOST:
                raise UsageError(f"--strategy {word}: {name} takes N from 2 to {MOST}")
        elif name not in known or name.endswith("-N"):
            raise UsageError(f"--strategy {word}: no strategy {name!r}; there is: {', '.join(known)}")
        stages.append(STRATEGIES.get(name))
    if not any(stage.place == "drawing" for stage in stages):
        first = next((i for i, stage in enumerate(stages) if stage.place != "words"), len(stages))
        stages.insert(first, DIRECT)
    places = [list(PLACES).index(stage.place) for stage in stages]
    if places != sorted(places) or any(places.count(place) > 1 for place in (1, 2)):
        raise UsageError(f"--strategy {word}: {_order()}")
    return tuple(stages), n


def _order() -> str:
    """In what order strategies are joined, with those there are."""
    there: dict[StagePlace, list[str]] = {}
    for name in STRATEGIES.names():
        with suppress(UsageError):
            there.setdefault(STRATEGIES.get(name).place, []).append(name)
    return ", ".join(f"{told} ({', '.join(there.get(place, ()))})" for place, told in PLACES.items())


def open_strategy(word: str, given: Mapping[str, str], open_model: Any, open_editor: Any) -> Strategy:
    """Return the strategy behind a word.

    Args:
        word: Such as ``rewrite+best-of-4``.
        given: ``-S`` options: a model for each role (``planner``), arguments for it (``planner.temperature``), an
            ``editor``, and the stages' own.
        open_model: Makes a model of a spec and its arguments.
        open_editor: Makes a painter of a spec and its options.

    Raises:
        UsageError: A role has no model, or an option is not known.
    """
    stages, n = parse(word)
    if stages == (DIRECT,):
        return DIRECT_STRATEGY
    roles = list(dict.fromkeys(role for stage in stages for role in stage.asks(given)))
    known = {name for stage in stages for name in stage.reads(given)} | set(SHARED)
    used: dict[str, str] = {}
    arguments: dict[str, dict[str, str]] = {}
    for name, value in given.items():
        role, dot, argument = name.partition(".")
        if dot and (role in roles or (role == "editor" and "editor" in known)):
            arguments.setdefault(role, {})[argument] = value
        elif name not in known and name not in roles:
            continue
        used[name] = value
    for role in roles:
        if role not in used:
            raise UsageError(f"--strategy {word}: name its {role}: -S {role}=PROVIDER/MODEL")
    models = {role: open_model(used[role], arguments.get(role, {})) for role in roles}
    editor = open_editor(used["editor"], arguments.get("editor", {})) if "editor" in used else None
    for stage in stages:
        _check(word, stage, used)
    options = {name: value for name, value in used.items() if name in known and name not in ("editor", "prompts")}
    prompts = Prompts(Path(__file__).parent / "prompts", Path(used["prompts"])) if "prompts" in used else None
    told = ",".join(f"{name}={value}" for name, value in sorted(used.items()))
    return Strategy(f"{word}[{told}]" if told else word, stages, n, models, editor, options, prompts)


def known_options(words: list[str], given: Mapping[str, str]) -> set[str]:
    """Every ``-S`` name that one of these strategies reads beside those given, without the arguments of models."""
    stages = [stage for word in words for stage in parse(word)[0]]
    return {name for stage in stages for name in (*stage.reads(given), *stage.asks(given))} | set(SHARED)


def _check(word: str, stage: Stage, used: Mapping[str, str]) -> None:
    for name, allowed in stage.choices.items():
        if name in used and used[name] not in allowed:
            raise UsageError(f"--strategy {word}: -S {name}={used[name]}: there is: {', '.join(allowed)}")
    for name in stage.numbers:
        if name in used and not used[name].isdigit():
            raise UsageError(f"--strategy {word}: -S {name}={used[name]}: it must be a whole number")
