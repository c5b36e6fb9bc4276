"""Strategies: ways to make a drawing, as chains of plain async functions over painters and models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..calls import Calls, Fault
from ..core.asks import Prompts
from ..core.errors import LostImage, UsageError
from ..core.faults import fault_of_lost_image
from ..painters import Painter, Painting, PaintRequest
from ..painters.base import FinishedImages, ImageKeeper, too_many_pictures
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN
from .base import STRATEGIES, Canvas, Drawer, Guess, OpenModel, Stage, StagePlace, Studio, fault_with_costs
from .best_of import MAX_CANDIDATES
from .draw import DIRECT

SHARED_OPTIONS = {"prompts": "a folder with your own wording of the strategies' prompts"}
STAGE_ORDER: dict[StagePlace, str] = {
    "words": "first those that change the prompt",
    "drawing": "then one that draws",
    "several": "then one that draws several",
    "finishing": "then those that edit the drawing",
}


@dataclass(frozen=True)
class Strategy:
    """A chain of stages: first the prompt, then the drawing, then its editing.

    Attributes:
        name: Its row in tables: the chain and its options.
        stages: The stages in order, including the one that draws.
        n: The number of candidates that a best-of stage draws.
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
        """Raise an error early if a model or the editor cannot work at all."""
        for other in self._others():
            other.check()

    def unpriced(self) -> str | None:
        """Return why the cost of its own calls is unknown; None if it is known."""
        return next((why for other in self._others() if (why := other.unpriced()) is not None), None)

    def _others(self) -> list[OpenModel | Painter]:
        return [*self.models.values(), *([self.editor] if self.editor is not None else [])]

    def fits(self, painter: Painter, inputs: int = 0) -> None:
        """Check that the painter can do its part for a question with this number of pictures.

        Raises:
            UsageError: It cannot start from the pictures, or cannot edit and no other editor is named.
        """
        finished = isinstance(painter, FinishedImages) or not self.paints
        if not finished and (why := too_many_pictures(painter, inputs)) is not None:
            how = "The questions come with pictures: choose a painter that takes them, or other questions"
            raise UsageError(f"{why}. {how}")
        editing, editor = [stage.name for stage in self.stages if stage.edits], self.editor or painter
        if editing and (why := too_many_pictures(editor, inputs + 1)) is not None:
            raise UsageError(f"{editing[0]}: {why}; name an editor: -S editor=PROVIDER/MODEL")

    async def draw(
        self, request: PaintRequest, painter: Painter, calls: Calls, blobs: Blobs, exam: str, rounds: int = 0
    ) -> Painting:
        """Make one drawing; when run again, it finds every finished step in the journal.

        Args:
            request: The request for the drawing.
            painter: The painter that draws.
            calls: The journal.
            blobs: The store of pictures.
            exam: The name of the question's exam.
            rounds: How often its models may be asked again if an earlier run could not read their replies.

        Raises:
            Fault: The drawing failed; the fault includes the calls and costs of all steps before.
        """
        if not all(request.inputs) and not isinstance(painter, FinishedImages):
            raise Fault("missing", "a picture of the question is absent: add it to the exam's data")
        if self.stages == (DIRECT,):
            return await painter.paint(request, calls)
        studio = Studio(painter, calls, blobs, self.models, self.editor, self.options, exam)
        studio.order, studio.rounds = request.prompt, rounds
        if self.prompts is not None:
            studio.prompts = self.prompts
        try:
            canvas = await self._chain(request, studio)
        except Fault as fault:
            raise fault_with_costs(fault, studio) from fault
        try:
            kept = ImageKeeper(blobs).get(canvas.image)
        except LostImage as error:
            raise fault_with_costs(fault_of_lost_image(error), studio) from error
        service_notes: dict[str, Any] = {PROMPT_CUT: studio.cut} if studio.cut else {}
        if studio.rewritten:
            service_notes[PROMPT_REWRITTEN] = True
        notes = {**canvas.notes, **service_notes, "steps": studio.steps}
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
        """Return the calls that one drawing is expected to need, for a prompt with this number of tokens."""
        guesses: list[Guess] = []
        for stage in self.stages:
            made = stage.guess(tokens, self.options, self.n)
            if stage.place == "drawing" and self.n > 1:
                # A best-of stage draws n times in this way.
                made = [replace(guess, calls=guess.calls * self.n) for guess in made]
            guesses += made
            if stage.place == "words":
                tokens = made[0].tokens_out if made else tokens
        return guesses


DIRECT_STRATEGY = Strategy("direct", (DIRECT,))


def parse_strategy(word: str) -> tuple[tuple[Stage, ...], int]:
    """Return the stages of a word such as ``rewrite+best-of-4``, including the one that draws, and the n of best-of-n.

    Raises:
        UsageError: A stage does not exist, or the order is wrong.
    """
    STRATEGIES.own()
    names = STRATEGIES.names()
    stages: list[Stage] = []
    n = 1
    for name in word.split("+"):
        if (many := re.fullmatch(r"(.+)-(\d+)", name)) and f"{many[1]}-N" in names:
            n, name = int(many[2]), f"{many[1]}-N"
            if not 2 <= n <= MAX_CANDIDATES:
                raise UsageError(f"--strategy {word}: {name} takes N from 2 to {MAX_CANDIDATES}")
        elif name not in names or name.endswith("-N"):
            raise UsageError(f"--strategy {word}: no strategy {name!r}; the strategies are: {', '.join(names)}")
        stages.append(STRATEGIES.get(name))
    if not any(stage.place == "drawing" for stage in stages):
        first = next((i for i, stage in enumerate(stages) if stage.place != "words"), len(stages))
        stages.insert(first, DIRECT)
    places = [list(STAGE_ORDER).index(stage.place) for stage in stages]
    if places != sorted(places) or any(places.count(place) > 1 for place in (1, 2)):
        raise UsageError(f"--strategy {word}: {_order()}")
    return tuple(stages), n


def _order() -> str:
    """Return a description of the order in which the installed strategies can be combined."""
    stages: dict[StagePlace, list[str]] = {}
    for name in STRATEGIES.names():
        with suppress(UsageError):
            stages.setdefault(STRATEGIES.get(name).place, []).append(name)
    return ", ".join(
        f"{description} ({', '.join(stages.get(place, ()))})" for place, description in STAGE_ORDER.items()
    )


def open_strategy(word: str, given: Mapping[str, str], open_model: Any, open_editor: Any) -> Strategy:
    """Return the strategy behind a word.

    Args:
        word: Such as ``rewrite+best-of-4``.
        given: ``-S`` options: a model for each role (``planner``), arguments for it (``planner.temperature``), an
            ``editor``, and the options of the stages.
        open_model: Opens a model by a spec and its arguments.
        open_editor: Opens a painter by a spec and its options.

    Raises:
        UsageError: A role has no model, or an option is unknown.
    """
    stages, n = parse_strategy(word)
    if stages == (DIRECT,):
        return DIRECT_STRATEGY
    roles = list(dict.fromkeys(role for stage in stages for role in stage.asks(given)))
    readable = {name for stage in stages for name in stage.reads(given)} | set(SHARED_OPTIONS)
    used: dict[str, str] = {}
    arguments: dict[str, dict[str, str]] = {}
    for name, value in given.items():
        role, dot, argument = name.partition(".")
        if dot and (role in roles or (role == "editor" and "editor" in readable)):
            arguments.setdefault(role, {})[argument] = value
        elif name not in readable and name not in roles:
            continue
        used[name] = value
    for role in roles:
        if role not in used:
            raise UsageError(f"--strategy {word}: name its {role}: -S {role}=PROVIDER/MODEL")
    models = {role: open_model(used[role], arguments.get(role, {})) for role in roles}
    editor = open_editor(used["editor"], arguments.get("editor", {})) if "editor" in used else None
    for stage in stages:
        _check(word, stage, used)
    options = {name: value for name, value in used.items() if name in readable and name not in ("editor", "prompts")}
    prompts = Prompts(Path(__file__).parent / "prompts", Path(used["prompts"])) if "prompts" in used else None
    shown = ",".join(f"{name}={value}" for name, value in sorted(used.items()))
    return Strategy(f"{word}[{shown}]" if shown else word, stages, n, models, editor, options, prompts)


def known_options(words: list[str], given: Mapping[str, str]) -> set[str]:
    """Return every ``-S`` name that one of these strategies reads, without the arguments of models."""
    stages = [stage for word in words for stage in parse_strategy(word)[0]]
    return {name for stage in stages for name in (*stage.reads(given), *stage.asks(given))} | set(SHARED_OPTIONS)


def _check(word: str, stage: Stage, used: Mapping[str, str]) -> None:
    for name, allowed in stage.choices.items():
        if name in used and used[name] not in allowed:
            raise UsageError(f"--strategy {word}: -S {name}={used[name]}: it must be one of: {', '.join(allowed)}")
    for name in stage.numbers:
        if name in used and not used[name].isdigit():
            raise UsageError(f"--strategy {word}: -S {name}={used[name]}: it must be a whole number")
