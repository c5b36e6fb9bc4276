"""Images are untrusted: limits before decoding; prepared once for sending, in threads, cached by content."""

from __future__ import annotations

import asyncio
import base64
import io
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 100_000_000
MAX_JPEG_SIDE = 65_500
SUFFIXES = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp"}
"""Formats taken, with the suffix their blobs get."""


WEB_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
"""Formats that services take as they are."""


class BadImage(ValueError):
    """Bytes that are no image, or one beyond the limits."""


@dataclass(frozen=True)
class Info:
    """What an image's header says."""

    format: str
    width: int
    height: int

    @property
    def suffix(self) -> str:
        """The file name's ending for this format."""
        return SUFFIXES[self.format]


def inspect(source: bytes | Path) -> Info:
    """Read the header only and hold it against the limits.

    Raises:
        BadImage: It is no image, of a format not taken, or too large.
    """
    from PIL import Image, UnidentifiedImageError

    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size > MAX_BYTES:
        raise BadImage(f"{size:,} bytes; at most {MAX_BYTES:,} are taken")
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with Image.open(stream, formats=list(SUFFIXES)) as image:
            info = Info(image.format or "", image.width, image.height)
    except UnidentifiedImageError as error:
        raise BadImage(f"not an image ({', '.join(SUFFIXES)} are taken)") from error
    except Exception as error:  # Whatever a header can be made to do to its reader.
        raise BadImage(f"not a readable image: {error}") from error
    if info.width * info.height > MAX_PIXELS:
        raise BadImage(f"{info.width} x {info.height} pixels; at most {MAX_PIXELS:,} in all are taken")
    return info


def decode(data: bytes) -> Image:
    """The upright RGB image on white behind `data`.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    from PIL import Image, ImageOps

    inspect(data)
    try:
        with Image.open(io.BytesIO(data), formats=list(SUFFIXES)) as opened:
            opened.load()
            return flatten(ImageOps.exif_transpose(opened))
    except Exception as error:  # Broken metadata raises almost anything.
        raise BadImage(f"cannot be decoded: {error}") from error


def flatten(image: Image) -> Image:
    """RGB on white, whatever the mode; 16-bit greys are brought down to 8 bits."""
    import numpy as np
    from PIL import Image as Module

    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.nan_to_num(np.asarray(image, dtype=np.float64))
        deep = image.mode.startswith("I;16") or values.max(initial=0) > 255
        image = Module.fromarray(np.clip(values / (257 if deep else 1), 0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        ground = Module.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        image = ground
    return image.convert("RGB")


def encode_png(image: Image) -> bytes:
    """The image as PNG bytes."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return buffer.getvalue()


@dataclass(frozen=True)
class Prepared:
    """An image as it is sent: a data URL, and the size it was sent at."""

    url: str
    width: int
    height: int


Form = Literal["jpeg", "native"]


def prepare(data: bytes, max_side: int | None, form: Form = "jpeg") -> Prepared:
    """Make an image ready to be sent.

    Args:
        data: The image's bytes.
        max_side: The longer side is scaled down to this; never up.
        form: ``jpeg`` flattens and encodes; ``native`` sends the bytes as they are where the web's formats and the
            size allow it, and a PNG otherwise.
    """
    info = inspect(data)
    image = decode(data)
    longer = max(image.size)
    fits = max_side is None or longer <= max_side
    if form == "native" and fits and info.format in WEB_FORMATS and (info.width, info.height) == image.size:
        return _url(data, WEB_FORMATS[info.format], image)
    if not fits:
        from PIL import Image

        assert max_side is not None
        width, height = (max(1, int(side * max_side / longer)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    if form == "native":
        return _url(encode_png(image), "image/png", image)
    if max(image.size) > MAX_JPEG_SIDE:
        raise BadImage(f"{image.width} x {image.height} pixels; JPEG, as it is sent, has {MAX_JPEG_SIDE:,} at most")
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG")
    return _url(buffer.getvalue(), "image/jpeg", image)


def _url(data: bytes, media: str, image: Image) -> Prepared:
    return Prepared(f"data:{media};base64,{base64.b64encode(data).decode()}", *image.size)


_Wanted = tuple[str, int | None, Form]


class Preparer:
    """Prepares each image once per size; holds at most `limit` bytes of results."""

    def __init__(self, load: Callable[[str], bytes], limit: int = 256 * 2**20) -> None:
        self._load, self._limit = load, limit
        self._kept: OrderedDict[_Wanted, Prepared] = OrderedDict()
        self._flying: dict[_Wanted, asyncio.Future[Prepared]] = {}
        self._bytes = 0
        self.prepared = 0

    async def get(self, sha256: str, max_side: int | None, form: Form = "jpeg") -> Prepared:
        """The prepared image, made in a thread unless it is at hand."""
        key = (sha256, max_side, form)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._flying:
            task = asyncio.ensure_future(asyncio.to_thread(self._make, *key))
            self._flying[key] = task
            task.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(self._flying[key])

    def _make(self, sha256: str, max_side: int | None, form: Form) -> Prepared:
        return prepare(self._load(sha256), max_side, form)

    def _keep(self, key: _Wanted, done: asyncio.Future[Prepared]) -> None:
        self._flying.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        self.prepared += 1
        self._kept[key] = done.result()
        self._bytes += len(done.result().url)
        while self._bytes > self._limit and len(self._kept) > 1:
            _, old = self._kept.popitem(last=False)
            self._bytes -= len(old.url)
