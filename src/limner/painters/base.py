"""The seam behind which everything that draws stands."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol

from ..calls import Calls, Fault, Outcome
from ..core.errors import LostImage
from ..core.exam import Exam
from ..core.faults import lost
from ..core.images import BadImage, ImageInfo, inspect
from ..core.registry import Opener, Registry
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..store import Blobs

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
    images: tuple[str, ...] = ()
    short: str | None = None


@dataclass(frozen=True)
class KeptImage:
    """An image that lies among the blobs: its bytes, their hash and what their header says."""

    data: bytes
    sha256: str
    info: ImageInfo


@dataclass(frozen=True)
class Painting:
    """A finished image and how it came about.

    Attributes:
        notes: Plain JSON; under ``cut`` stands in words what of the prompt was not read.
        kept: The image once more, where it lies among the blobs already; see `keep_painting`.
    """

    image: bytes
    prompt_sent: str | None = None
    calls: tuple[str, ...] = ()
    cost: float | None = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    kept: KeptImage | None = field(default=None, repr=False, compare=False)


async def keep_painting(painting: Painting, blobs: Blobs) -> tuple[str, ImageInfo]:
    """Return the hash and the header of a painting's image, which is stored unless it was stored before.

    Raises:
        Fault: The bytes are not an image within the limits.
    """
    if painting.kept is not None:
        return painting.kept.sha256, painting.kept.info
    try:
        return await asyncio.to_thread(blobs.put, painting.image)
    except BadImage as error:
        raise Fault("image", str(error), calls=painting.calls) from error


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


@dataclass(frozen=True)
class PainterInputs:
    """What a painter is made from.

    Attributes:
        name: The row it gets in tables.
        spec: All of ``kind/rest``, and what stands behind the first slash of it.
        options: The ``--painter-arg`` given.
        exam: For painters that draw from its references; never to be shown to a model.
        blank: The size of a blank sheet.
    """

    name: str
    spec: str
    rest: str
    options: Mapping[str, Any]
    exam: Exam[Any]
    blobs: Blobs
    settings: Settings
    ocr: OcrProbe
    blank: tuple[int, int]


@dataclass(frozen=True)
class PainterKind(Opener[PainterInputs, Painter]):
    """A sort of painter.

    A painter that may cost money has `limner.core.catalogue.Priced.price`, for estimates.

    Attributes:
        takes: The options it takes, of what stands behind the slash; where it is not said, presets speak as they are.
        devices: Whether it runs where ``--devices`` says, and takes that as an option.
    """

    devices: bool = False
    takes: Callable[[str], Collection[str]] | None = None


PAINTERS: Registry[PainterKind] = Registry("limner.painters", "painter", PainterKind)
CALLED: dict[str, tuple[str, ...]] = {
    "guidance": ("guidance", "guidance_scale", "true_cfg_scale"),
    "steps": ("steps", "num_inference_steps"),
}
"""What an option means, and what painters call it, the usual name first."""


def in_own_names(
    preset: Mapping[str, Any], given: Mapping[str, Any], takes: Collection[str] | None, names: Mapping[Any, str]
) -> dict[str, Any]:
    """Return the options of a painter: the preset's in its own names, less what is given, and what is given as it is.

    An option that it has no name for stays as the preset has it, for the painter to refuse.

    Args:
        preset: Options in any painter's names.
        given: Options of the user's, which go before the preset's under whatever name.
        takes: Every option the painter takes; None where that is not known.
        names: What this painter calls an option, where it takes several of the names.

    >>> in_own_names({"guidance": 3.5}, {}, {"guidance_scale", "size"}, {})
    {'guidance_scale': 3.5}
    """
    said = {meaning(name) for name in given}
    found: dict[str, Any] = {}
    for name, value in preset.items():
        what = meaning(name)
        if what in said:
            continue
        own = [names[what]] if what in names else [each for each in CALLED.get(what, ()) if each in (takes or ())]
        found[name if takes is None or name in own[:1] or not own else own[0]] = value
    return {**found, **given}


def meaning(name: str) -> str:
    """Return what an option of this name means; itself where no other name is known for it."""
    return next((what for what, names in CALLED.items() if name in names), name)


Refetch = Callable[[Mapping[str, Any]], Awaitable[bytes | None]]
"""Gets an image once more by what is stored of its call, where that costs nothing; None where there is no way."""
UNASKED = "it is not drawn again unasked: --retry-failed draws it once more, at its price"


class ImageKeeper:
    """The image of one call among the blobs: what is stored here is not read back."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._kept: KeptImage | None = None

    def put(self, data: bytes, info: ImageInfo | None = None) -> str:
        """Store an image and return its hash; see `limner.store.blobs.Blobs.put`."""
        sha256, info = self.blobs.put(data, info)
        self._kept = KeptImage(data, sha256, info)
        return sha256

    def get(self, sha256: str) -> KeptImage:
        """Return the image of a hash, which may have been stored by an earlier run.

        Raises:
            LostImage: It is missing or damaged.
        """
        if self._kept is not None and self._kept.sha256 == sha256:
            return self._kept
        data = self.blobs.get(sha256)
        return KeptImage(data, sha256, inspect(data))


async def kept_image(
    make: Callable[[], Awaitable[Outcome]], calls: Calls, keeper: ImageKeeper, refetch: Refetch | None = None
) -> tuple[Outcome, KeptImage]:
    """Make a call through the journal, or find it there, and read its image.

    Raises:
        Fault: The call's own; ``missing`` or ``damaged`` for an image that is lost and cannot be had for nothing.
    """
    outcome = await make()
    try:
        return outcome, await asyncio.to_thread(keeper.get, outcome.payload["image"])
    except LostImage as error:
        fault = lost(error)
    if refetch is not None and await fetched_again(outcome.payload, refetch, keeper.blobs):
        return outcome, await asyncio.to_thread(keeper.get, outcome.payload["image"])
    if not (calls.retry_failed and outcome.stored):
        raise Fault(fault.kind, f"{fault.detail}; {UNASKED}", calls=(outcome.key,))
    await calls.reopen(outcome.key)
    outcome = await make()
    try:
        return outcome, await asyncio.to_thread(keeper.get, outcome.payload["image"])
    except LostImage as error:
        raise lost(error) from error


async def fetched_again(payload: Mapping[str, Any], refetch: Refetch, blobs: Blobs) -> bool:
    """Fetch the image of a stored result again and put it back among the blobs; return whether that worked."""
    try:
        return await put_back(await refetch(payload), str(payload["image"]), blobs)
    except Fault:
        return False


async def put_back(data: bytes | None, sha256: str, blobs: Blobs) -> bool:
    """Whether these are the bytes of the hash; then they stand among the blobs again."""
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        return False
    try:
        await asyncio.to_thread(blobs.put, data)
    except BadImage:
        return False
    return True
