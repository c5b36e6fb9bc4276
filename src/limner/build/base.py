"""What a step of a build is: a plain async function over items, and all it may use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..calls import Calls, Fault
from ..core.asks import Contract, Part
from ..core.errors import UsageError
from ..core.evidence import TextLine
from ..core.faults import picture_faults
from ..core.prompts import Prompts
from ..core.registry import Registry
from ..core.schema import StrictModel
from ..evidence.probe import OcrProbe
from ..models import ChatModel, Context, ReplayModel, complete
from ..painters import Painter, PaintRequest
from ..painters.base import keep_painting
from ..store import Blobs

if TYPE_CHECKING:
    from .reviews import Review

T = TypeVar("T")
PART, TEST, TRAIN = "part", "test", "train"
"""The field of an item that says where it goes, where a recipe makes training data too; and what it says."""
OpenModel = ChatModel | ReplayModel


@dataclass(frozen=True)
class BuildItem:
    """What goes through a build: an image, a topic, a paper.

    Attributes:
        id: What names it for good, such as the beginning of its image's hash.
        body: Plain JSON; pictures stand in it by content hash. A step sees of it what it `reads`.
        sort: What it is; a step works on one sort, and items of other sorts pass it by.
    """

    id: str
    body: Mapping[str, Any]
    sort: str = "image"

    def having(self, **fields: Any) -> BuildItem:
        """Return a copy of the item with these fields set, as a step returns it."""
        return BuildItem(self.id, {**self.body, **fields}, self.sort)


class Dropped(Exception):
    """Raised, or given, by a step that takes an item out, and why: a short reason that is counted, and the details."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


class Waiting(Exception):
    """Raised, or given, by a step that cannot go on with an item before people have done something."""


class NoSettings(StrictModel):
    """Of a step that has none."""


@dataclass
class StepContext:
    """Everything a step may use for one item.

    Attributes:
        build: The build's name.
        place: The step's name in the recipe.
        settings: The step's own, checked.
        prompts: The recipe's templates, or the user's own wording.
        folder: The recipe's folder, with files such as a taxonomy.
        models: By the role's name in the step.
        beside: The items of the sort that the step has `beside` those it works on.
        reviews: What reviewers said of each item, oldest first; for steps that use reviews.
        rounds: How often an ask whose replies were unreadable may be begun anew.
        painters: As `models`, those roles that draw.
    """

    build: str
    place: str
    settings: Any
    prompts: Prompts
    folder: Path
    models: Mapping[str, OpenModel]
    calls: Calls
    blobs: Blobs
    beside: Sequence[BuildItem] = ()
    reviews: Mapping[str, Sequence[Review]] = field(default_factory=dict)
    rounds: int = 0
    cost: float | None = 0.0
    painters: Mapping[str, Painter] = field(default_factory=dict)

    async def ask(
        self, role: str, item: BuildItem, shown: Sequence[Part], contract: Contract[T], name: str = "", repeat: int = 0
    ) -> T:
        """Return the reply of this role's model about an item, parsed by its contract.

        Args:
            role: The step's word for who is asked.
            item: What it is about.
            shown: What is sent, in order.
            contract: What the reply must be.
            name: Tells several asks of one step apart.
            repeat: Counts deliberate repetitions of the same request.

        Raises:
            Fault: The call failed, or no reply kept the contract.
            UsageError: Nobody plays the role.
        """
        if role not in self.models:
            raise UsageError(f"step {self.place} needs the {role}: -S {role}=PROVIDER/MODEL")
        for round in range(self.rounds + 1):
            context = Context(self.build, item.id, "", f"{self.place}.{name}" if name else self.place, repeat, round)
            try:
                answer = await complete(self.models[role], tuple(shown), contract, context, self.calls)
            except Fault as fault:
                self._pay(fault.cost)
                if fault.kind != "unreadable" or round == self.rounds:
                    raise
                continue
            break
        self._pay(answer.cost)
        value: T = answer.value
        return value

    async def paint(self, role: str, item: BuildItem, prompt: str, seed: int = 0) -> str:
        """Have this role's painter draw for an item, store the picture and return its hash.

        Raises:
            Fault: There is no picture.
        """
        try:
            painting = await self.painters[role].paint(PaintRequest(item.id, prompt, seed), self.calls)
        except Fault as fault:
            self._pay(fault.cost)
            raise
        self._pay(painting.cost)
        sha256, _ = await keep_painting(painting, self.blobs)
        return sha256

    def _pay(self, cost: float | None) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    async def picture(self, sha256: str) -> bytes:
        """Return a picture from the store.

        Raises:
            Fault: It is not there, or damaged.
        """
        with picture_faults(f"picture {sha256[:12]}"):
            return await asyncio.to_thread(self.blobs.get, sha256)

    async def read_text(self, sha256: str) -> list[TextLine]:
        """Return the lines of text that OCR finds in a picture; each picture is read once.

        Raises:
            Fault: It cannot be read.
        """
        return (await OcrProbe().measure(await self.picture(sha256), self.calls)).lines


StepOutcome = BuildItem | Dropped | Waiting
"""How an item leaves a step."""


@dataclass(frozen=True)
class Use:
    """About what one item takes of a role, for estimates."""

    role: str
    tokens_in: int
    tokens_out: int
    pictures: int = 0
    calls: int = 1


@dataclass(frozen=True)
class BuildStep:
    """A step: one of `source`, `each` and `together`, with what shapes its outcome.

    Attributes:
        name: As recipes call it.
        about: What it does, in a line.
        settings: The shape of its settings, with usual values.
        roles: Who is asked.
        painters: Those of the roles that draw.
        optional: Those of the roles that it can do without.
        prompts: The templates it uses.
        reads: The fields of an item that it sees; all where None. An item is done anew only when one of these changes.
        takes: The sort of item it works on.
        makes: The sort of the items that it makes, where it makes any.
        beside: A sort of items that it sees all of, such as the topics that images are sorted into.
        source: Makes items; it gets those that came before, of any sort. Asked in every run.
        each: One item to the same item with more fields.
        together: All items at once to how each of them leaves; new ids are new items.
        reviewed: Whether it uses what reviewers said.
        use: What one item takes, for estimates.
        check: Raises, before anything is called, where its settings ask for what is not there.
        version: Counted up when the same input gives something else than before.
    """

    name: str
    about: str
    settings: type[StrictModel] = NoSettings
    roles: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    reads: tuple[str, ...] | None = None
    takes: str = "image"
    makes: str = "image"
    beside: str = ""
    source: Callable[[Sequence[BuildItem], StepContext], AsyncIterator[BuildItem | tuple[str, Dropped]]] | None = None
    each: Callable[[BuildItem, StepContext], Awaitable[BuildItem]] | None = None
    together: Callable[[Sequence[BuildItem], StepContext], Awaitable[Mapping[str, StepOutcome]]] | None = None
    reviewed: bool = False
    use: tuple[Use, ...] = ()
    check: Callable[[Any], None] | None = None
    version: int = 1
    painters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if sum(way is not None for way in (self.source, self.each, self.together)) != 1:
            raise TypeError(f"the step {self.name!r} needs one of source, each and together")

    def seen(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of an item that the step sees."""
        return dict(body) if self.reads is None else {name: body[name] for name in self.reads if name in body}


STEPS: Registry[BuildStep] = Registry("limner.steps", "step of a build", BuildStep)
