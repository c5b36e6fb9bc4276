"""The interface of everything that draws."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, runtime_checkable

from ..calls import Calls, Fault, Outcome
from ..core.errors import LostImage
from ..core.exam import Exam
from ..core.faults import fault_of_lost_image
from ..core.images import BadImage, ImageInfo, inspect
from ..core.registry import Opener, Registry
from ..core.settings import Settings
from ..evidence.probe import OcrProbe
from ..store import Blobs

Aspect = Literal["square", "landscape", "portrait"]
MAX_PICTURES = 16
"""The most pictures that local painters start from."""


@dataclass(frozen=True)
class PaintRequest:
    """A request for one drawing. A painter never sees the rubric.

    Attributes:
        images: Pictures that a strategy starts from, by content hash in the store's blobs.
        inputs: The question's own pictures, by content hash, empty for one that is absent; painters that hand in
            finished images ignore them.
        short: The text for a second, shorter text encoder instead of the prompt; only for local FLUX pipelines.
    """

    question: str
    prompt: str
    seed: int = 0
    aspect: Aspect = "square"
    images: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    short: str | None = None

    @property
    def pictures(self) -> tuple[str, ...]:
        """All pictures that a painter starts from: first those of the strategy, then the question's own."""
        return self.images + self.inputs


@dataclass(frozen=True)
class StoredImage:
    """An image in the blob store: its bytes, their hash and their header."""

    data: bytes
    sha256: str
    info: ImageInfo


@dataclass(frozen=True)
class Painting:
    """A finished image and how it was made.

    Attributes:
        notes: Plain JSON; ``cut`` says which part of the prompt was not read.
        kept: The stored image, if it is stored already; see `store_painting`.
    """

    image: bytes
    prompt_sent: str | None = None
    calls: tuple[str, ...] = ()
    cost: float | None = 0.0
    notes: Mapping[str, Any] = field(default_factory=dict)
    kept: StoredImage | None = field(default=None, repr=False, compare=False)


async def store_painting(painting: Painting, blobs: Blobs) -> tuple[str, ImageInfo]:
    """Store a painting's image unless it is stored already, and return its hash and header.

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
    """A source of drawings.

    Attributes:
        name: Its row in tables.
        spec: Its kind and place, such as ``folder/./images``.
        changeable: Whether a later run may get another image for the same request at no cost, as from a folder, so that
            every run asks again.
        options: Its options beyond the question; painters with different options have different rows.
        group: ``closed`` or ``open``, for exams whose drawing prompts differ by it.
        most_pictures: The most pictures that it can start from; 0 if it draws from text alone.
    """

    name: str
    spec: str
    changeable: bool
    options: Mapping[str, Any]
    group: str | None
    most_pictures: int

    async def paint(self, request: PaintRequest, calls: Calls) -> Painting:
        """Draw.

        Raises:
            limner.calls.Fault: There is no image: ``missing``, ``refusal``, ``not_applicable`` or a call's fault.
        """
        ...

    def check(self) -> None:
        """Raise an error early if the painter cannot work at all, for example without a key."""
        ...

    def unpriced(self) -> str | None:
        """Return why the cost of one of its calls is unknown; None if it is known."""
        ...


@runtime_checkable
class FinishedImages(Protocol):
    """A painter that draws nothing but hands in finished images, perhaps not for all questions."""

    def lacks(self, question: str) -> bool:
        """Return whether there is no image for a question."""
        ...


def refuse_pictures(painter: Painter, request: PaintRequest) -> None:
    """Refuse a request with pictures that the painter cannot start from.

    Raises:
        limner.calls.Fault: ``bad_request``.
    """
    given = request.images if isinstance(painter, FinishedImages) else request.pictures
    if (why := too_many_pictures(painter, len(given))) is not None:
        raise Fault("bad_request", why)


def too_many_pictures(painter: Painter, given: int) -> str | None:
    """Return why a painter cannot start from this number of pictures; None if it can."""
    if given and not painter.most_pictures:
        return f"{painter.name} draws from text alone; it cannot start from a picture"
    if given > painter.most_pictures:
        return f"{painter.name} starts from at most {painter.most_pictures} pictures; {given} are given"
    return None


class FreePainter:
    """The base class of painters that cost nothing, need no key and have no options."""

    options: Mapping[str, Any] = MappingProxyType({})
    group: str | None = None
    most_pictures = 0

    def check(self) -> None:
        """Do nothing: a free painter needs neither key nor package."""

    def unpriced(self) -> str | None:
        """Return None: it costs nothing."""
        return None


@dataclass(frozen=True)
class PainterInputs:
    """The inputs of a painter.

    Attributes:
        name: Its row in tables.
        spec: The whole ``kind/rest``.
        rest: The part after the first slash.
        options: The given ``--painter-arg`` values.
        exam: For painters that draw from its references; never shown to a model.
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
    """A kind of painter.

    A painter that may cost money has `limner.core.catalogue.Priced.price`, for estimates.

    Attributes:
        takes: Returns the options it takes, given the part after the slash; if None, presets are passed on unchanged.
        devices: Whether it runs on the devices of ``--devices``, which it takes as an option.
    """

    devices: bool = False
    takes: Callable[[str], Collection[str]] | None = None


PAINTERS: Registry[PainterKind] = Registry("limner.painters", "painter", PainterKind)
OPTION_NAMES: dict[str, tuple[str, ...]] = {
    "guidance": ("guidance", "guidance_scale", "true_cfg_scale"),
    "steps": ("steps", "num_inference_steps"),
}
"""The names that painters use for an option, the most common first, by the option's meaning."""


def translate_options(
    preset: Mapping[str, Any], given: Mapping[str, Any], takes: Collection[str] | None, names: Mapping[Any, str]
) -> dict[str, Any]:
    """Return a painter's options: the preset's, under the painter's names unless overridden, and the given ones.

    An option that the painter does not have keeps the preset's name, and the painter refuses it.

    Args:
        preset: Options under any painter's names.
        given: The user's options, which override the preset's under any name.
        takes: Every option the painter takes; None if unknown.
        names: The painter's own names, by meaning, if it takes several of them.

    >>> translate_options({"guidance": 3.5}, {}, {"guidance_scale", "size"}, {})
    {'guidance_scale': 3.5}
    """
    given_meanings = {option_meaning(name) for name in given}
    options: dict[str, Any] = {}
    for name, value in preset.items():
        what = option_meaning(name)
        if what in given_meanings:
            continue
        own = [names[what]] if what in names else [each for each in OPTION_NAMES.get(what, ()) if each in (takes or ())]
        options[name if takes is None or name in own[:1] or not own else own[0]] = value
    return {**options, **given}


def option_meaning(name: str) -> str:
    """Return the meaning of an option's name; the name itself if it has no synonyms."""
    return next((what for what, names in OPTION_NAMES.items() if name in names), name)


Refetch = Callable[[Mapping[str, Any]], Awaitable[bytes | None]]
"""A function that fetches an image again for free, using its call's stored result; it returns None if it cannot."""
NOT_REDRAWN = "it is not drawn again automatically, since that costs money: --retry-failed draws it again"


class ImageKeeper:
    """A keeper of one call's image in the blob store; an image that it has just stored is not read back."""

    def __init__(self, blobs: Blobs) -> None:
        self.blobs = blobs
        self._kept: StoredImage | None = None

    def put(self, data: bytes, info: ImageInfo | None = None) -> str:
        """Store an image and return its hash; see `limner.store.blobs.Blobs.put`."""
        sha256, info = self.blobs.put(data, info)
        self._kept = StoredImage(data, sha256, info)
        return sha256

    def get(self, sha256: str) -> StoredImage:
        """Return the image with this hash, which may have been stored by an earlier run.

        Raises:
            LostImage: It is missing or damaged.
        """
        if self._kept is not None and self._kept.sha256 == sha256:
            return self._kept
        data = self.blobs.get(sha256)
        return StoredImage(data, sha256, inspect(data))


async def call_for_image(
    make: Callable[[], Awaitable[Outcome]], calls: Calls, keeper: ImageKeeper, refetch: Refetch | None = None
) -> tuple[Outcome, StoredImage]:
    """Make a call through the journal, or find it there, and return its outcome and image.

    Raises:
        Fault: The call's fault; ``missing`` or ``damaged`` for a lost image that cannot be fetched again for free.
    """
    outcome = await make()
    try:
        return outcome, await asyncio.to_thread(keeper.get, outcome.payload["image"])
    except LostImage as error:
        fault = fault_of_lost_image(error)
    if refetch is None or not await fetch_again(outcome.payload, refetch, keeper.blobs):
        if not (calls.retry_failed and outcome.stored):
            raise Fault(fault.kind, f"{fault.detail}; {NOT_REDRAWN}", calls=(outcome.key,))
        await calls.reopen(outcome.key)
        outcome = await make()
    try:
        return outcome, await asyncio.to_thread(keeper.get, outcome.payload["image"])
    except LostImage as error:
        raise fault_of_lost_image(error) from error


async def fetch_again(payload: Mapping[str, Any], refetch: Refetch, blobs: Blobs) -> bool:
    """Fetch the image of a stored result again and restore it to the blobs; return whether that worked."""
    try:
        return await restore_image(await refetch(payload), str(payload["image"]), blobs)
    except Fault:
        return False


async def restore_image(data: bytes | None, sha256: str, blobs: Blobs) -> bool:
    """Store an image's bytes again; return False if they do not have this hash or are not an image."""
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        return False
    try:
        await asyncio.to_thread(blobs.put, data)
    except BadImage:
        return False
    return True
