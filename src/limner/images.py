"""Images are untrusted: limits before decoding; prepared once for sending, in threads, cached by content."""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 100_000_000
MAX_JPEG_SIDE = 65_500
SUFFIXES = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp"}
"""Formats taken, with the suffix their blobs get."""


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


def prepare(data: bytes, max_side: int | None) -> Prepared:
    """Scale down so that the longer side is at most `max_side` (never up), flatten, encode as JPEG."""
    import base64

    from PIL import Image

    image = decode(data)
    longer = max(image.size)
    if max_side is not None and longer > max_side:
        width, height = (max(1, int(side * max_side / longer)) for side in image.size)
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    if max(image.size) > MAX_JPEG_SIDE:
        raise BadImage(f"{image.width} x {image.height} pixels; JPEG, as it is sent, has {MAX_JPEG_SIDE:,} at most")
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG")
    return Prepared(f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}", *image.size)


class Preparer:
    """Prepares each image once per size; holds at most `limit` bytes of results."""

    def __init__(self, load: Callable[[str], bytes], limit: int = 256 * 2**20) -> None:
        self._load, self._limit = load, limit
        self._kept: OrderedDict[tuple[str, int | None], Prepared] = OrderedDict()
        self._flying: dict[tuple[str, int | None], asyncio.Future[Prepared]] = {}
        self._bytes = 0
        self.prepared = 0

    async def get(self, sha256: str, max_side: int | None) -> Prepared:
        """The prepared image, made in a thread unless it is at hand."""
        key = (sha256, max_side)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._flying:
            task = asyncio.ensure_future(asyncio.to_thread(self._make, *key))
            self._flying[key] = task
            task.add_done_callback(lambda done: self._keep(key, done))
        return await asyncio.shield(self._flying[key])

    def _make(self, sha256: str, max_side: int | None) -> Prepared:
        return prepare(self._load(sha256), max_side)

    def _keep(self, key: tuple[str, int | None], done: asyncio.Future[Prepared]) -> None:
        self._flying.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        self.prepared += 1
        self._kept[key] = done.result()
        self._bytes += len(done.result().url)
        while self._bytes > self._limit and len(self._kept) > 1:
            _, old = self._kept.popitem(last=False)
            self._bytes -= len(old.url)
