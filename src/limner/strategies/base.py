"""The parts of a strategy: stages, and the studio in which they use a painter and models and record their steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..calls import Calls, Fault
from ..core.asks import Contract, Part, Picture, Prompts, Text
from ..core.errors import UsageError
from ..core.registry import Registry
from ..models import ChatModel, Context, ReplayModel, complete
from ..painters import Painter, PaintRequest
from ..painters.base import store_painting
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN

T = TypeVar("T")
OpenModel = ChatModel | ReplayModel
"""The types of models that `limner.models.open_model` returns."""
PROMPTS = Prompts(Path(__file__).parent / "prompts")


@dataclass(frozen=True)
class Canvas:
    """An unfinished image: its content hash, and the prompt it was drawn from."""

    image: str
    prompt_sent: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Studio:
    """Everything a strategy may use. It does not contain the rubric.

    Attributes:
        painter: The painter that draws.
        models: Models by role: ``planner``, ``coder``, ``chooser``, ``critic``.
        editor: The painter that edits; the one that draws if no other is named.
        options: The strategy's own options, as text.
        order: The question's own prompt, by which pictures are judged; the request's prompt may be a planner's.
        rounds: How often a request with unreadable replies may be repeated.
        steps: How the picture was made, step by step, as plain JSON.
        calls_made: Keys of the calls made or found in the journal.
        cut: The note on the longest prompt that a service read only in part; see `limner.store.records.PROMPT_CUT`.
        rewritten: Whether a service has rewritten a prompt without being asked.
    """

    painter: Painter
    calls: Calls
    blobs: Blobs
    models: Mapping[str, OpenModel] = field(default_factory=dict)
    editor: Painter | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    exam: str = ""
    prompts: Prompts = PROMPTS
    order: str = ""
    rounds: int = 0
    steps: list[dict[str, Any]] = field(default_factory=list)
    calls_made: list[str] = field(default_factory=list)
    cost: float | None = 0.0
    cut: dict[str, Any] = field(default_factory=dict)
    rewritten: bool = False

    def note(self, step: str, **what: Any) -> None:
        """Record a step: ``text``, ``image`` (a content hash), ``call`` and further fields."""
        self.steps.append({"step": step} | {name: value for name, value in what.items() if value not in (None, "")})

    def paid(self, cost: float | None, *keys: str) -> None:
        """Count calls and their cost towards the drawing."""
        self.calls_made += [key for key in keys if key not in self.calls_made]
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    async def ask(
        self, role: str, step: str, request: PaintRequest, shown: Sequence[Part], contract: Contract[T], repeat: int = 0
    ) -> tuple[T, str]:
        """Return the reply of this role's model, parsed by the contract, and the call's key.

        The model sees the question's own pictures first, if there are any.

        Raises:
            Fault: The call failed, or no reply satisfied the contract.
        """
        if request.inputs:
            shown = [Text(self.prompts.text("inputs_shown")), *map(Picture, request.inputs), *shown]
        for round in range(self.rounds + 1):
            context = Context(self.exam, request.question, self.painter.name, step, repeat, round)
            try:
                answer = await complete(self.models[role], tuple(shown), contract, context, self.calls)
            except Fault as fault:
                if fault.kind != "unreadable" or round == self.rounds:
                    raise
                # An earlier run could not read this reply, which is stored and paid for: ask again.
                self.paid(fault.cost, *fault.calls)
                continue
            break
        assert answer.reply.call is not None
        self.paid(answer.cost, answer.reply.call)
        return answer.value, answer.reply.call

    async def paint(self, request: PaintRequest, painter: Painter | None = None) -> Canvas:
        """Draw, and store the image; a painter that gets other pictures than the question's is told which is which.

        Raises:
            Fault: There is no image.
        """
        if request.images and request.inputs:
            request = replace(request, prompt=f"{request.prompt}\n\n{self.prompts.text('inputs_after')}")
        painting = await (painter or self.painter).paint(request, self.calls)
        self.paid(painting.cost, *painting.calls)
        self.rewritten |= PROMPT_REWRITTEN in painting.notes
        self.cut = max(self.cut, painting.notes.get(PROMPT_CUT, {}), key=lambda cut: cut.get("sent", 0))
        sha256, _ = await store_painting(painting, self.blobs)
        return Canvas(sha256, painting.prompt_sent, painting.notes)

    def number(self, name: str, usual: int, low: int = 1, high: int = 100_000) -> int:
        """Return an option that is a whole number.

        Raises:
            UsageError: It is not a whole number, or out of bounds.
        """
        word = self.options.get(name, str(usual))
        if not word.isdigit() or not low <= int(word) <= high:
            raise UsageError(f"-S {name}={word}: it must be a whole number from {low} to {high}")
        return int(word)


Drawer = Callable[[PaintRequest, Studio], Awaitable[Canvas]]


@dataclass(frozen=True)
class Guess:
    """An estimate of a stage's calls: their role (or ``painter`` or ``editor``), their number, and their tokens."""

    who: str
    calls: float
    tokens_in: int = 0
    tokens_out: int = 0
    pictures: int = 0


StagePlace = Literal["words", "drawing", "several", "finishing"]


@dataclass(frozen=True)
class Stage:
    """One stage of a strategy.

    Attributes:
        place: Its place in the chain: it changes the prompt (``words``), makes the ``drawing``, makes ``several`` and
            chooses one, or edits the drawing (``finishing``).
        roles: The models it asks.
        options: Its own options, each with a description.
        choices: The allowed values of options that take only certain ones.
        spared: The roles and options that a choice, such as ``edit=plain``, or an option makes unnecessary.
        numbers: The options that take whole numbers.
        words: The function for ``words``: changes the request.
        draw: The function for ``drawing``: makes the drawing.
        many: The function for ``several``: makes several with the given drawer and chooses one.
        finish: The function for ``finishing``: edits the drawing.
        guess: Estimates its calls, by the number of tokens in the request, the options and n.
        paints: Whether it needs a painter.
        edits: Whether it needs a painter that starts from pictures.
    """

    name: str
    about: str
    place: StagePlace
    roles: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    spared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    words: Callable[[PaintRequest, Studio], Awaitable[PaintRequest]] | None = None
    draw: Drawer | None = None
    many: Callable[[PaintRequest, Studio, Drawer, int], Awaitable[Canvas]] | None = None
    finish: Callable[[Canvas, PaintRequest, Studio], Awaitable[Canvas]] | None = None
    guess: Callable[[int, Mapping[str, str], int], list[Guess]] = lambda tokens, options, n: []
    paints: bool = True
    edits: bool = False

    def asks(self, given: Mapping[str, str]) -> tuple[str, ...]:
        """Return the roles that it needs models for if these options are given."""
        spared = self._spared(given)
        return tuple(role for role in self.roles if role not in spared)

    def reads(self, given: Mapping[str, str]) -> set[str]:
        """Return the names of the options that it reads if these are given."""
        return self.options.keys() - self._spared(given)

    def _spared(self, given: Mapping[str, str]) -> set[str]:
        words = [word for name, value in given.items() for word in (name, f"{name}={value}")]
        return {name for word in words for name in self.spared.get(word, ())}


STRATEGIES: Registry[Stage] = Registry("limner.strategies", "strategy", Stage)


def facts_of(painter: Painter) -> Any:
    """Return the known facts about a painter at a service; None for other painters."""
    return getattr(painter, "facts", None)


def fault_with_costs(fault: Fault, studio: Studio) -> Fault:
    """Return the fault with all previous calls and costs added."""
    cost = None if studio.cost is None or fault.cost is None else studio.cost + fault.cost
    calls = tuple(dict.fromkeys((*studio.calls_made, *fault.calls)))
    return Fault(fault.kind, fault.detail, calls=calls, cost=cost)
