"""The steps of a build: plain async functions over items, and the context they work in."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..calls import Calls, Fault
from ..core.asks import Contract, Part, Prompts, Unreadable
from ..core.errors import UsageError
from ..core.evidence import TextLine
from ..core.faults import picture_faults
from ..core.schema import StrictModel
from ..core.vocabulary import Rule, RuleOutcome, apply_rules
from ..evidence.probe import OcrProbe, TextRegionProbe
from ..models import ChatModel, Context, ReplayModel, complete
from ..painters import Painter, PaintRequest
from ..painters.base import store_painting
from ..store import Blobs

if TYPE_CHECKING:
    from .reviews import Review

T = TypeVar("T")
PART, TEST, TRAIN = "part", "test", "train"
"""The field that says whether an item is for the exam or for training, and its two values."""
OpenModel = ChatModel | ReplayModel
Code = Mapping[str, Any]
"""The functions and steps of a recipe's own code, by name."""


@dataclass(frozen=True)
class BuildItem:
    """An item that passes through a build: an image, a topic, a paper.

    Attributes:
        id: Its permanent name, such as the beginning of its image's hash.
        body: Plain JSON with pictures by content hash. A step sees the fields that it `reads`.
        sort: Its type; a step works on one sort, and items of other sorts skip it.
    """

    id: str
    body: Mapping[str, Any]
    sort: str = "image"

    def having(self, **fields: Any) -> BuildItem:
        """Return a copy of the item with these fields set, as a step returns it."""
        return BuildItem(self.id, {**self.body, **fields}, self.sort)


class Dropped(Exception):
    """The outcome of an item that a step removes: a short reason, which is counted, and details."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


class Waiting(Exception):
    """The outcome of an item that has to wait for people."""


class NoSettings(StrictModel):
    """The settings of a step without settings."""


class GenericSettings(StrictModel, ABC):
    """The settings of a generic step, which declare what it reads, writes and asks.

    Attributes:
        sort: The sort of items that it works on and makes.
    """

    sort: str = "image"

    @abstractmethod
    def declare(self, step: BuildStep, code: Code) -> BuildStep:
        """Return the step that the settings declare; `code` is that of the recipe.

        Raises:
            UsageError: They lack something.
        """

    def check_packages(self) -> None:
        """Check that nothing is missing that the step needs, before any call.

        Raises:
            UsageError: A package is not installed.
        """


@dataclass
class StepContext:
    """Everything a step may use for one item.

    Attributes:
        build: The build's name.
        place: The step's name in the recipe.
        settings: The step's checked settings.
        prompts: The recipe's templates, or the user's.
        folder: The recipe's folder, with files such as a taxonomy.
        code: The recipe's own code.
        models: Models by role.
        beside: The items of the step's `beside` sort.
        reviews: The reviews of each item, oldest first; for steps that use reviews.
        rounds: How often a request with unreadable replies may be repeated.
        painters: Painters by role.
    """

    build: str
    place: str
    settings: Any
    prompts: Prompts
    folder: Path
    code: Code
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
            role: The role of the model to ask.
            item: The item it is about.
            shown: What is sent, in order.
            contract: The form that the reply must have.
            name: Distinguishes several requests of one step.
            repeat: Counts deliberate repetitions of the same request.

        Raises:
            Fault: The call failed, or no reply met the contract.
            UsageError: The role has no model.
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
            Fault: The painter gave no picture.
        """
        try:
            painting = await self.painters[role].paint(PaintRequest(item.id, prompt, seed), self.calls)
        except Fault as fault:
            self._pay(fault.cost)
            raise
        self._pay(painting.cost)
        sha256, _ = await store_painting(painting, self.blobs)
        return sha256

    def _pay(self, cost: float | None) -> None:
        self.cost = None if self.cost is None or cost is None else self.cost + cost

    async def picture(self, sha256: str) -> bytes:
        """Return a picture from the store.

        Raises:
            Fault: It is missing or damaged.
        """
        with picture_faults(f"picture {sha256[:12]}"):
            return await asyncio.to_thread(self.blobs.get, sha256)

    async def read_text(self, sha256: str) -> list[TextLine]:
        """Return the lines of text that OCR finds in a picture; each picture is read once.

        Raises:
            Fault: It cannot be read.
        """
        return (await OcrProbe().measure(await self.picture(sha256), self.calls)).lines

    async def text_regions(self, sha256: str) -> list[list[float]]:
        """Return left, top, right and bottom of all text in a picture, read or not.

        Raises:
            Fault: It cannot be searched.
        """
        regions: list[list[float]] = (
            await TextRegionProbe().ask(await self.picture(sha256), self.calls, regions=True)
        )[0]
        return regions


StepOutcome = BuildItem | Dropped | Waiting
"""The outcome of a step for an item."""


@dataclass(frozen=True)
class Use:
    """The calls of a role for one item.

    Attributes:
        prompt: The template that is sent, whose length counts.
        tokens_out: The usual length of a reply.
        calls: The usual number of calls.
        batches: The number of times that these are made for an item with these fields, if not once.
    """

    role: str
    prompt: str = ""
    tokens_out: int = 300
    pictures: int = 0
    calls: int = 1
    batches: Callable[[Mapping[str, Any]], int] | None = None


@dataclass(frozen=True)
class BuildStep:
    """A step: one of `source`, `each` and `together`, with everything that determines its outcome.

    Attributes:
        name: Its name in recipes.
        about: A line that says what it does.
        settings: The model of its settings, with defaults.
        roles: The models it asks.
        painters: The roles that draw.
        optional: The roles that it can do without.
        prompts: The templates it uses.
        reads: The fields of an item that it sees; None for all. Only a change of these repeats the step.
        writes: The fields that it sets.
        takes: The sort of item it works on.
        makes: The sort of the items that it makes, if any.
        beside: A sort of items that it sees all of, such as the topics that images are sorted into; of these it sees
            the fields `beside_reads`.
        source: Makes items from the earlier ones of any sort; called in every run.
        each: Adds fields to one item.
        together: Gives the outcome of each item from all items at once; new ids are new items.
        reviewed: Whether it uses reviews.
        use: The estimated use for one item.
        preview: Whether a source needs only its settings and files, so that an estimate can run it.
        expect: For another source: returns the number of items that it will make, from its settings, the recipe's
            folder, the items before it, and the number of items of each sort, and of entries in their lists, to come.
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
    beside_reads: tuple[str, ...] = ()
    source: Callable[[Sequence[BuildItem], StepContext], AsyncIterator[BuildItem | tuple[str, Dropped]]] | None = None
    each: Callable[[BuildItem, StepContext], Awaitable[BuildItem]] | None = None
    together: Callable[[Sequence[BuildItem], StepContext], Awaitable[Mapping[str, StepOutcome]]] | None = None
    reviewed: bool = False
    use: tuple[Use, ...] = ()
    preview: bool = False
    expect: Callable[[Any, Path, Sequence[BuildItem], Mapping[str, int]], int] | None = None
    painters: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    def seen(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the part of an item that the step sees."""
        return dict(body) if self.reads is None else {name: body[name] for name in self.reads if name in body}


def raise_outcome(outcome: RuleOutcome) -> None:
    """Raise what a failed rule demands of an item.

    Raises:
        Dropped: The item is dropped.
        Waiting: It waits for people.
        Unreadable: The model must write its reply again.
    """
    if outcome.action == "drop":
        raise Dropped(outcome.reason, outcome.detail)
    if outcome.action == "wait":
        raise Waiting(str(outcome))
    if outcome.action == "again":
        raise Unreadable(str(outcome))


WARNINGS = "warnings"
"""The field with the warnings for an item's reviewers."""


def judge(rules: Sequence[Rule], item: BuildItem) -> BuildItem:
    """Return an item with the warnings of these rules.

    Raises:
        Dropped: A rule drops it.
        Waiting: A rule makes it wait.
    """
    warnings = []
    for outcome in apply_rules(rules, item.body):
        raise_outcome(outcome)
        warnings.append(str(outcome))
    return add_warnings(item, warnings)


def add_warnings(item: BuildItem, warnings: Sequence[str]) -> BuildItem:
    """Return an item with further warnings for its reviewers."""
    return item.having(**{WARNINGS: [*item.body.get(WARNINGS, ()), *warnings]}) if warnings else item


def rule_fields(rules: Sequence[Rule]) -> set[str]:
    """Return the fields of an item that these rules look at or set."""
    warned = {WARNINGS} if any(rule.warn for rule in rules) else set()
    return warned | {field for rule in rules for field in rule.fields()}
