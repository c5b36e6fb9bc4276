"""The seam behind which everything that draws stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from ..calls import Calls, Fault

Aspect = Literal["square", "landscape", "portrait"]


@dataclass(frozen=True)
class PaintRequest:
    """What is to be drawn. A painter never sees the rubric.

    Attributes:
        images: Pictures to start from, by content hash in the store's blobs; only for painters that say `edits`.
        short: What a second, shorter text encoder reads in place of the prompt; only for local FLUX pipelines.
    """

    question: str
    prompt: str
    seed: int = 0
    aspect: Aspect = "square"
    options: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class Painting:
    """A finished image and how it came about.

    Attributes:
        notes: Plain JSON; under ``cut`` stands in words what of the prompt was not read.
    """

    image: bytes
    prompt_sent: str | None = None
    calls: tuple[str, ...] = ()
    cost: float | None = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)


class Painter(Protocol):
    """What draws.

    Attributes:
        name: The row it gets in tables.
        spec: What it is, such as ``folder/./images``.
        changeable: Whether the same request may bring another image tomorrow at no cost, so that it is always
            looked at again (a folder).
        options: What was asked of it beyond the question; other options are another row.
        group: ``closed`` or ``open``, for exams that word their drawing prompts by it.
        edits: Whether it takes pictures to start from.
    """

    name: str
    spec: str
    changeable: bool
    options: Mapping[str, Any]
    group: str | None
    edits: bool

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw.

        Raises:
            limner.calls.Fault: No image: ``missing``, ``refusal``, ``not_applicable`` or a call's fault.
        """
        ...

    def check(self) -> None:
        """Raise early when it cannot work at all, such as for want of a key."""
        ...

    def unpriced(self) -> str | None:
        """Why nobody knows what one of its calls can cost, or None when that is known."""
        ...


def refuse_pictures(painter: Painter, request: PaintRequest, most: int = 1) -> None:
    """Turn a request down that comes with pictures the painter cannot start from.

    Raises:
        limner.calls.Fault: ``bad_request``.
    """
    given = len(request.images)
    if given and not painter.edits:
        raise Fault("bad_request", f"{painter.spec} draws from words alone; it cannot start from a picture")
    if given > most:
        raise Fault("bad_request", f"{painter.spec} starts from at most {most} pictures, not from {given}")


class FreePainter:
    """For painters that cost nothing, need no key and have no options."""

    options: Mapping[str, Any] = MappingProxyType({})
    group: str | None = None
    edits = False

    def check(self) -> None:
        """Nothing can be missing."""

    def unpriced(self) -> str | None:
        """It costs nothing."""
        return None
