"""What a model is asked and what it replies: the parts of a message, the contract a reply keeps, the reply. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .marks import Criterion
from .prompts import Prompts

T_co = TypeVar("T_co", covariant=True)
TOLD = 6
"""Faults of a draft that are told to the model."""


@dataclass(frozen=True)
class Variant:
    """How a judge is asked: all of it is part of what identifies a marking."""

    name: str
    prompts: Prompts
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def released(self) -> tuple[str, ...]:
        """The templates of the release's own wording, where the judge is asked in that."""
        return tuple(self.prompts.released)


class Unreadable(ValueError):
    """A reply that breaks its contract. The message can be told to the model."""


@dataclass(frozen=True)
class DraftFault:
    """One thing that is wrong with what a model drafted: a word that is counted, and what was seen."""

    kind: str
    detail: str

    def __str__(self) -> str:
        """Both."""
        return f"{self.kind}: {self.detail}"


def refuse(faults: Sequence[DraftFault]) -> None:
    """Refuse a draft that has any faults.

    Raises:
        Unreadable: With the first of them, and how many more there are.
    """
    if faults:
        more = f"; and {len(faults) - TOLD} more" if len(faults) > TOLD else ""
        raise Unreadable("; ".join(map(str, faults[:TOLD])) + more)


@dataclass(frozen=True)
class Contract(Generic[T_co]):
    """What a reply must be: the parser is the authority, the schema only describes the shape.

    Attributes:
        required: Whether a reply that breaks it every time is a fault; if not, the last one is kept as it is, for the
            readings to make of it what they can.
        heavy: Whether parsing takes long enough to be done beside everything else.
    """

    parse: Callable[[str], T_co]
    schema: Mapping[str, Any] | None = None
    required: bool = True
    heavy: bool = False


@dataclass(frozen=True)
class Text:
    """Words sent to a model."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An image sent to a model, by content hash, with how it is prepared.

    Without `max_side` it goes as it is, up to what the service takes.
    """

    sha256: str
    max_side: int | None = None
    detail: str | None = None


Part = Text | Picture


@dataclass(frozen=True)
class Ask:
    """One call to a judge.

    Attributes:
        name: Tells the asks of one question apart.
        shown: What is sent, in order.
        criteria: The same in typed form, for judges that do not read prose.
        contract: What the reply must be.
        system: What the model is told of itself beforehand, where the protocol says something.
    """

    name: str
    shown: tuple[Part, ...]
    criteria: tuple[Criterion, ...]
    contract: Contract[Any]
    system: str | None = None


@dataclass(frozen=True)
class Reply:
    """A judge's answer to one ask, as text, with the call it came from."""

    ask: str
    text: str
    call: str | None = None


def only_reply(replies: Sequence[Reply], asks: Container[str]) -> Reply:
    """Return the one reply to one of these asks.

    Raises:
        Unreadable: There is none, or more than one.
    """
    found = [reply for reply in replies if reply.ask in asks]
    if len(found) != 1:
        raise Unreadable(f"{len(found)} replies where one is wanted")
    return found[0]


def object_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these fields."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def list_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list of such objects."""
    return {"type": "array", "items": object_schema(fields)}


def text_in(entry: Mapping[str, Any], name: str) -> str:
    """Return the text that a reply's object has under a name; nothing where it has none."""
    text = entry.get(name)
    return text if isinstance(text, str) else ""
