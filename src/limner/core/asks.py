"""The parts of a message to a model, the contract its reply keeps, and the reply. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .marks import Criterion
from .prompts import Prompts

T_co = TypeVar("T_co", covariant=True)
MAX_REPORTED_FAULTS = 6
"""How many faults of a draft are reported to the model."""


@dataclass(frozen=True)
class Variant:
    """The way a judge is asked; all of it is part of a marking's identity."""

    name: str
    prompts: Prompts
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def released(self) -> tuple[str, ...]:
        """The templates of the release's own wording, if the judge is asked in that wording."""
        return tuple(self.prompts.released)


class Unreadable(ValueError):
    """A reply that breaks its contract. The message is suitable to be shown to the model."""


@dataclass(frozen=True)
class DraftFault:
    """One fault in what a model drafted: its kind, by which faults are counted, and a description."""

    kind: str
    detail: str

    def __str__(self) -> str:
        """Return kind and description."""
        return f"{self.kind}: {self.detail}"


def refuse_faulty_draft(faults: Sequence[DraftFault]) -> None:
    """Refuse a draft that has any faults.

    Raises:
        Unreadable: With the first of them, and how many more there are.
    """
    if faults:
        more = f"; and {len(faults) - MAX_REPORTED_FAULTS} more" if len(faults) > MAX_REPORTED_FAULTS else ""
        raise Unreadable("; ".join(map(str, faults[:MAX_REPORTED_FAULTS])) + more)


@dataclass(frozen=True)
class Contract(Generic[T_co]):
    """The form a reply must have: the parser decides, the schema only describes the shape.

    Attributes:
        required: Whether a reply that breaks it every time is a fault; if not, the last reply is kept for the readings
            to interpret.
        heavy: Whether parsing takes long enough to be done in a thread.
    """

    parse: Callable[[str], T_co]
    schema: Mapping[str, Any] | None = None
    required: bool = True
    heavy: bool = False


@dataclass(frozen=True)
class Text:
    """Text sent to a model."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An image sent to a model, by content hash, with how it is prepared.

    Without `max_side` it is sent unchanged, up to the service's limit.
    """

    sha256: str
    max_side: int | None = None
    detail: str | None = None


Part = Text | Picture


@dataclass(frozen=True)
class Ask:
    """One call to a judge.

    Attributes:
        name: Identifies the ask within its question.
        shown: The parts that are sent, in order.
        criteria: The criteria in typed form, for judges that do not read prose.
        contract: The form the reply must have.
        system: The system message, if the protocol has one.
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
    """Return the only reply to one of these asks.

    Raises:
        Unreadable: There is none, or more than one.
    """
    matching = [reply for reply in replies if reply.ask in asks]
    if len(matching) != 1:
        raise Unreadable(f"expected one reply, not {len(matching)}")
    return matching[0]


def object_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with exactly these fields."""
    return {"type": "object", "properties": dict(fields), "required": list(fields), "additionalProperties": False}


def list_schema(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a list of such objects."""
    return {"type": "array", "items": object_schema(fields)}


def text_in(entry: Mapping[str, Any], name: str) -> str:
    """Return the text under a name of a reply's object; empty if there is none."""
    text = entry.get(name)
    return text if isinstance(text, str) else ""
