"""Prompt templates, the parts of a message to a model, the contract for its reply, and the reply.

Templates are Markdown with ``{{name}}`` fields, shipped or written by the user.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from .errors import UsageError
from .marks import Criterion

FIELD = re.compile(r"\{\{([^{}]+)\}\}")
"""A field in a template or a text."""


@dataclass(frozen=True)
class Template:
    """A text with fields at known positions, so that other braces do no harm.

    Attributes:
        text: The original text, used for hashing.
        pieces: Pieces of text alternating with field names, starting and ending with text.
    """

    text: str
    pieces: tuple[str, ...]

    def fill(self, fields: Mapping[str, str]) -> str:
        """Return the text with its fields filled in."""
        return "".join(fields[piece] if n % 2 else piece for n, piece in enumerate(self.pieces))


class Prompts:
    """A set of Markdown templates with ``{{name}}`` fields, shipped or written by the user.

    Attributes:
        released: The templates of the authors' release; if there are any, only these are used.
    """

    def __init__(self, shipped: Path, own: Path | None = None, released: Mapping[str, Template] | None = None) -> None:
        self.shipped, self.own, self.released = shipped, own, dict(released or {})
        self._read = {name: template.text for name, template in self.released.items()}
        if own is not None:
            self._check(own)

    def _check(self, own: Path) -> None:
        """Check that every file of the user's folder replaces a template; hidden files are ignored."""
        if not own.is_dir():
            raise UsageError(f"--prompts {own}: no such folder")
        names = sorted(path.name for path in self.shipped.glob("*.md"))
        files = [path.name for path in own.iterdir() if path.is_file() and not path.name.startswith(".")]
        unknown = sorted(set(files) - set(names))
        if unknown:
            raise UsageError(
                f"--prompts {own}: {unknown[0]} is not a prompt template; templates are: {', '.join(names)}"
            )

    def text(self, name: str) -> str:
        """Return the template called `name`, preferably from the user's folder; it is read once."""
        if name not in self._read:
            self._read[name] = self._load(name)
        return self._read[name]

    def _load(self, name: str) -> str:
        for folder in (self.own, self.shipped):
            if folder is not None and (path := folder / f"{name}.md").is_file():
                try:
                    return path.read_text(encoding="utf-8")
                except (OSError, UnicodeDecodeError) as error:
                    raise UsageError(f"prompt template {path}: cannot be read: {error}") from error
        raise UsageError(f"no prompt template {name}.md in {self.own or self.shipped}")

    def hash(self, *names: str) -> str:
        """Return a hash that identifies the wording of the named templates."""
        digest = hashlib.sha256()
        for name in sorted(names):
            digest.update(name.encode() + b"\0" + self.text(name).encode() + b"\0")
        return digest.hexdigest()[:12]

    def fill(self, name: str, /, *, spare: Collection[str] = (), **fields: str) -> str:
        """Return the template with its fields filled in.

        Args:
            name: The template's name.
            spare: Fields that the template may lack, because they contain only wording of our own.
            **fields: The values; a field that the template lacks is an error.
        """
        if name in self.released:
            return self.released[name].fill(fields)
        text = self.text(name)
        for field_name in fields:
            if field_name not in spare and f"{{{{{field_name}}}}}" not in text:
                raise UsageError(f"prompt template {name}.md lacks the field {{{{{field_name}}}}}")
        # One pass over the template, so that "{{…}}" inside a value is not filled.
        return FIELD.sub(lambda gap: fields.get(gap[1], gap[0]), text)


T_co = TypeVar("T_co", covariant=True)
MAX_REPORTED_FAULTS = 6
"""The maximum number of faults in a draft that are reported to the model."""


@dataclass(frozen=True)
class Variant:
    """A way of asking a judge; part of the identity of a marking."""

    name: str
    prompts: Prompts
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def released(self) -> tuple[str, ...]:
        """The names of the templates in the release's own wording; empty if the judge is asked in other words."""
        return tuple(self.prompts.released)


class Unreadable(ValueError):
    """A reply that breaks its contract; the message can be shown to the model."""


@dataclass(frozen=True)
class DraftFault:
    """One fault in a model's draft: its kind, for counting, and a description."""

    kind: str
    detail: str

    def __str__(self) -> str:
        """Return kind and description."""
        return f"{self.kind}: {self.detail}"


def refuse_faulty_draft(faults: Sequence[DraftFault]) -> None:
    """Refuse a draft that has any faults.

    Raises:
        Unreadable: There are faults; the message has the first ones and the number of the others.
    """
    if faults:
        more = f"; and {len(faults) - MAX_REPORTED_FAULTS} more" if len(faults) > MAX_REPORTED_FAULTS else ""
        raise Unreadable("; ".join(map(str, faults[:MAX_REPORTED_FAULTS])) + more)


@dataclass(frozen=True)
class Contract(Generic[T_co]):
    """The form a reply must have: the parser decides, the schema only describes the shape.

    Attributes:
        required: Whether it is a fault if all replies break the contract; otherwise the last reply is kept, and each
            reading interprets it.
        heavy: Whether parsing is slow enough to need a thread.
        tries: Requests in all before a reply counts as unreadable.
    """

    parse: Callable[[str], T_co]
    schema: Mapping[str, Any] | None = None
    required: bool = True
    heavy: bool = False
    tries: int = 3


@dataclass(frozen=True)
class Text:
    """Text sent to a model."""

    text: str


@dataclass(frozen=True)
class Picture:
    """An image sent to a model, identified by content hash, and the way it is prepared.

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
        name: A name that is unique among the asks of a question.
        shown: The parts that are sent, in order.
        criteria: The criteria in structured form, for judges that do not read prose.
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
    """The text of a judge's answer to one ask, and the call that returned it."""

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
    """Return the JSON schema of a list of objects with exactly these fields."""
    return {"type": "array", "items": object_schema(fields)}


def text_in(entry: Mapping[str, Any], name: str) -> str:
    """Return the text in a field of a reply's object; empty if there is none."""
    text = entry.get(name)
    return text if isinstance(text, str) else ""
