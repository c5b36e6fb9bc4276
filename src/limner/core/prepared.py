"""Images as they are sent: prepared once for each size, in threads, cached by content."""

from __future__ import annotations

import asyncio
import base64
import io
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from .images import WEB_FORMATS, BadImage, decode_checked, encode_png, inspect

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_JPEG_SIDE = 65_500


@dataclass(frozen=True)
class PreparedImage:
    """An image as it is sent: a data URL, and the size it was sent at."""

    url: str
    width: int
    height: int

    @property
    def packed(self) -> tuple[str, str]:
        """The media type and the base64 in the URL."""
        head, _, payload = self.url.partition(",")
        return head.removeprefix("data:").removesuffix(";base64"), payload

    @property
    def parts(self) -> tuple[str, bytes]:
        """The media type and the bytes in the URL."""
        media, payload = self.packed
        return media, base64.b64decode(payload)


ImageForm = Literal["jpeg", "native", "quick-jpeg", "quick-native"]
"""How an image is prepared, as it stands in the keys of calls."""
QUICK = "quick-"
QUICK_GAP = 1.25
"""The quick way begins with the nearest size that is at least so many times the one wanted."""


def prepare(data: bytes, max_side: int | None, form: ImageForm = "jpeg") -> PreparedImage:
    """Make an image ready to be sent.

    Args:
        data: The image's bytes.
        max_side: The longer side is scaled down to this; never up.
        form: ``jpeg`` flattens and encodes; ``native`` sends the bytes as they are where the web's formats and the
            size allow it and every service must see the same in them, and a PNG otherwise: what is turned by its
            EXIF orientation, transparent, animated, or in colours for print may be shown differently elsewhere.
            With ``quick-`` before it, what is scaled down is scaled by a shorter filter from a rougher decoding, and
            a PNG is packed less tightly: the same picture to the eye, in other bytes.
    """
    info = inspect(data)
    quick, native = form.startswith(QUICK), form.endswith("native")
    longer = max(info.width, info.height)
    fits = max_side is None or longer <= max_side
    least = int(QUICK_GAP * max_side) if quick and max_side is not None and not fits else None
    image, same = decode_checked(data, least)
    if native and fits and same and info.format in WEB_FORMATS:
        return _url(data, WEB_FORMATS[info.format], image)
    if not fits:
        from PIL import Image

        assert max_side is not None
        width, height = (max(1, int(side * max_side / longer)) for side in (info.width, info.height))
        filter = Image.Resampling.HAMMING if quick else Image.Resampling.LANCZOS
        image = image.resize((width, height), filter, reducing_gap=QUICK_GAP if quick else None)
    if native:
        return _url(encode_png(image, 1 if quick else -1), "image/png", image)
    if max(image.size) > MAX_JPEG_SIDE:
        raise BadImage(f"{image.width} x {image.height} pixels; JPEG, as it is sent, has {MAX_JPEG_SIDE:,} at most")
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG")
    return _url(buffer.getvalue(), "image/jpeg", image)


def _url(data: bytes, media: str, image: Image) -> PreparedImage:
    return PreparedImage(f"data:{media};base64,{base64.b64encode(data).decode()}", *image.size)


_Wanted = tuple[str, int | None, ImageForm]


class Preparer:
    """Prepares each image once per size; holds at most `limit` bytes of results.

    Attributes:
        elsewhere: What prepares images in place of this process, as `prepare` does; set where workers stand elsewhere.
    """

    elsewhere: ClassVar[Callable[[bytes, int | None, ImageForm], Awaitable[PreparedImage]] | None] = None

    def __init__(self, load: Callable[[str], bytes], limit: int = 256 * 2**20) -> None:
        self._load, self._limit = load, limit
        self._kept: OrderedDict[_Wanted, PreparedImage] = OrderedDict()
        self._flying: dict[_Wanted, asyncio.Future[PreparedImage]] = {}
        self._counts: Counter[str] = Counter()
        self._bytes = 0
        self.prepared = 0

    async def get(self, sha256: str, max_side: int | None, form: ImageForm = "jpeg") -> PreparedImage:
        """The prepared image, made in a thread unless it is at hand."""
        key = (sha256, max_side, form)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._flying:
            task = asyncio.ensure_future(self._make(*key))
            self._flying[key] = task
            task.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(self._flying[key])

    def has(self, sha256: str) -> bool:
        """Whether the image is at hand in some form, so that its bytes were whole when they were read."""
        return sha256 in self._counts

    async def _make(self, sha256: str, max_side: int | None, form: ImageForm) -> PreparedImage:
        there = Preparer.elsewhere
        if there is not None:
            return await there(await asyncio.to_thread(self._load, sha256), max_side, form)
        return await asyncio.to_thread(lambda: prepare(self._load(sha256), max_side, form))

    def _keep(self, key: _Wanted, done: asyncio.Future[PreparedImage]) -> None:
        self._flying.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        self.prepared += 1
        self._kept[key] = done.result()
        self._counts[key[0]] += 1
        self._bytes += len(done.result().url)
        while self._bytes > self._limit and len(self._kept) > 1:
            (sha256, *_), old = self._kept.popitem(last=False)
            self._bytes -= len(old.url)
            self._counts[sha256] -= 1
            if not self._counts[sha256]:
                del self._counts[sha256]
