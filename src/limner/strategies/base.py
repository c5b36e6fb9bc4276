"""What a strategy works with: the request, a painter, models by role; every step noted, every call journalled."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from ..calls import Calls, Fault
from ..core.asks import Contract, Part
from ..core.errors import UsageError
from ..core.prompts import Prompts
from ..core.registry import Registry
from ..models import ChatModel, Context, ReplayModel, complete
from ..painters import Painter, PaintRequest
from ..painters.base import keep_painting
from ..store import Blobs
from ..store.records import PROMPT_CUT, PROMPT_REWRITTEN

T = TypeVar("T")
OpenModel = ChatModel | ReplayModel
"""What `limner.models.open_model` gives."""
PROMPTS = Prompts(Path(__file__).parent / "prompts")


@dataclass(frozen=True)
class Canvas:
    """An image on the way: its content hash, and the words it was drawn from."""

    image: str
    prompt_sent: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Studio:
    """Everything a strategy may use. There is no rubric in it.

    Attributes:
        painter: Who draws.
        models: Models by role: ``planner``, ``coder``, ``chooser``, ``critic``.
        editor: Who edits; the painter itself where no other is named.
        options: The strategy's own options, as words.
        order: What the question asks for, in its own words: the request's may be a planner's by now. Whoever judges
            a picture goes by these.
        rounds: How often an ask whose replies were unreadable may be begun anew.
        steps: How the picture came about, step by step, as plain JSON.
        calls_made: Keys of the calls made or found.
        cut: What is told of the longest prompt that a service has read in part; see `limner.store.records.PROMPT_CUT`.
        rewritten: Whether a service has rewritten a prompt unasked.
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
        """Remember a step: ``text``, ``image`` (a content hash), ``call`` and whatever else tells it."""
        self.steps.append({"step": step} | {name: value for name, value in what.items() if value not in (None, "")})

    def paid(self, cost: float | None, *keys: str) -> None:
        """Count calls towards the drawing."""
        self.calls_made += [key for key in keys if key not in self.calls_made]
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    async def ask(
        self,
        role: str,
        step: str,
        request: PaintRequest,
        shown: Sequence[Part],
        contract: Contract[T],
        repeat: int = 0,
    ) -> tuple[T, str]:
        """Return what a model of this role replies, read by its contract, and the call's key.

        Raises:
            Fault: The call failed, or no reply kept the contract.
        """
        for round in range(self.rounds + 1):
            context = Context(self.exam, request.question, self.painter.name, step, repeat, round)
            try:
                answer = await complete(self.models[role], tuple(shown), contract, context, self.calls)
            except Fault as fault:
                if fault.kind != "unreadable" or round == self.rounds:
                    raise
                # What an earlier run could not read: stored, paid for, and asked anew.
                self.paid(fault.cost, *fault.calls)
                continue
            break
        assert answer.reply.call is not None
        self.paid(answer.cost, answer.reply.call)
        return answer.value, answer.reply.call

    async def paint(self, request: PaintRequest, painter: Painter | None = None) -> Canvas:
        """Draw, and keep the image.

        Raises:
            Fault: No image came.
        """
        painting = await (painter or self.painter).paint(request, self.calls)
        self.paid(painting.cost, *painting.calls)
        self.rewritten |= PROMPT_REWRITTEN in painting.notes
        self.cut = max(self.cut, painting.notes.get(PROMPT_CUT, {}), key=lambda cut: cut.get("sent", 0))
        sha256, _ = await keep_painting(painting, self.blobs)
        return Canvas(sha256, painting.prompt_sent, painting.notes)

    def number(self, name: str, usual: int, low: int = 1, high: int = 100_000) -> int:
        """Return an option that is a whole number.

        Raises:
            UsageError: It is none, or out of bounds.
        """
        word = self.options.get(name, str(usual))
        if not word.isdigit() or not low <= int(word) <= high:
            raise UsageError(f"-S {name}={word}: it must be a whole number from {low} to {high}")
        return int(word)


Drawer = Callable[[PaintRequest, Studio], Awaitable[Canvas]]


@dataclass(frozen=True)
class Guess:
    """What a stage will do once, for estimates: who (a role, ``painter`` or ``editor``), how often, how many tokens."""

    who: str
    calls: float
    tokens_in: int = 0
    tokens_out: int = 0
    pictures: int = 0


StagePlace = Literal["words", "drawing", "several", "finishing"]


@dataclass(frozen=True)
class Stage:
    """One link of a strategy's chain.

    Attributes:
        place: Where it stands: it changes the ``words``, makes the ``drawing``, makes ``several`` and keeps one, or
            works on what is drawn.
        roles: The models it asks.
        options: Its own options, with a word about each.
        choices: Of those the ones that take only certain words, with these.
        spared: By a choice, such as ``edit=plain``, or by an option's name, the roles and options of no use then.
        numbers: Of those the ones that take whole numbers.
        words: For the first place: the request it makes of a request.
        draw: For the second.
        many: For the third, given the drawer to use and how many.
        finish: For the fourth.
        guess: What it does once, for estimates, by the request's size in tokens and the options.
        paints: Whether it needs a painter.
        edits: Whether it needs one that starts from pictures.
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
        """Return the roles it needs models for, with these options."""
        spared = self._spared(given)
        return tuple(role for role in self.roles if role not in spared)

    def reads(self, given: Mapping[str, str]) -> set[str]:
        """Return the names of the options it reads, with these."""
        return self.options.keys() - self._spared(given)

    def _spared(self, given: Mapping[str, str]) -> set[str]:
        words = [word for name, value in given.items() for word in (name, f"{name}={value}")]
        return {name for word in words for name in self.spared.get(word, ())}


STRATEGIES: Registry[Stage] = Registry("limner.strategies", "strategy", Stage)


def facts_of(painter: Painter) -> Any:
    """Return what is known of a painter behind a service; None of others."""
    return getattr(painter, "facts", None)


def joined(fault: Fault, studio: Studio) -> Fault:
    """Return the fault, with all that was done and paid before it."""
    cost = None if studio.cost is None or fault.cost is None else studio.cost + fault.cost
    calls = tuple(dict.fromkeys((*studio.calls_made, *fault.calls)))
    return Fault(fault.kind, fault.detail, calls=calls, cost=cost)
