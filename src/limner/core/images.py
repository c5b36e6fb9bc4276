"""Images, which are untrusted: limits checked before decoding, uniform appearance, and preparation for sending."""

from __future__ import annotations

import asyncio
import base64
import io
import struct
import threading
import zlib
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 2**25
"""More than 8K has; decoding and flattening takes up to 20 bytes a pixel."""
BLOCK_BYTES = 2**28
"""The size of pieces of memory for pixels: large pieces return to the system at once, small ones do not."""
MAX_SIDE = 20_000
MAX_FRAMES = 1_000
MAX_SCANS = 100
"""The most passes of a progressive JPEG, each of which takes as long as decoding a plain one."""
SUFFIXES = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp"}
"""Accepted formats -> the suffix of their files in the store."""
ORIENTATION = 0x0112
"""The EXIF field with an image's orientation."""
OTHER_FORMATS = (
    (b"%PDF", "PDF"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"\0\0\1\0", "an icon"), (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "gzip"), (b"{", "JSON"), (b"<!doctype html", "HTML"), (b"<html", "HTML"), (b"<svg", "SVG"),
)  # fmt: skip
"""First bytes of files that are often mistaken for images."""
WEB_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
"""Formats that services accept unchanged."""


class BadImage(ValueError):
    """Bytes that are not an image, or one beyond the limits."""


class TooLargeImage(BadImage):
    """An image beyond the limits of size."""


@dataclass(frozen=True)
class ImageInfo:
    """Facts from an image's header.

    Attributes:
        width: The width of the upright image, after any EXIF rotation.
        height: The height of the upright image.
        notes: Descriptions of special handling beyond decoding.
    """

    format: str
    width: int
    height: int
    notes: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """The file name suffix for this format."""
        return SUFFIXES[self.format]


def inspect(source: bytes | Path) -> ImageInfo:
    """Read an image's header and check it against the limits.

    Raises:
        BadImage: It is not an image, has a format that is not accepted, or is too large.
        PermissionError: The file is not readable by this user.
    """
    from PIL import Image, UnidentifiedImageError

    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size > MAX_BYTES:
        raise TooLargeImage(f"{size:,} bytes; the limit is {MAX_BYTES:,}")
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with Image.open(stream, formats=list(SUFFIXES)) as image:
            info = _header(image)
    except UnidentifiedImageError as error:
        other = _guess_format(source)
        problem = f"this is {other}, not an image" if other else "not an image"
        raise BadImage(f"{problem} (accepted: {', '.join(SUFFIXES)})") from error
    except PermissionError:
        raise  # The problem is not the image.
    except Exception as error:  # A malicious header can raise anything.
        raise BadImage(f"not a readable image: {error}") from error
    if info.width * info.height > MAX_PIXELS or max(info.width, info.height) > MAX_SIDE:
        limits = f"{MAX_PIXELS:,} in total and {MAX_SIDE:,} a side"
        raise TooLargeImage(f"{info.width} x {info.height} pixels; the limit is {limits}")
    if info.format == "JPEG" and isinstance(source, bytes) and source.count(b"\xff\xda") > MAX_SCANS:
        raise BadImage(f"a JPEG of more than {MAX_SCANS} scans, which is the limit")
    return info


def _header(image: Any) -> ImageInfo:
    # MPO is a JPEG file with several pictures; the first is a plain JPEG.
    kind = "JPEG" if image.format == "MPO" else image.format or ""
    width, height, notes = image.width, image.height, []
    if min(width, height) < 1:
        raise BadImage(f"{width} x {height} pixels: the image is empty")
    if image.info.get("exif"):
        turned = image.getexif().get(ORIENTATION)
        if turned in range(2, 9):
            notes.append(f"turned upright by its EXIF orientation, {turned}")
            width, height = (height, width) if turned > 4 else (width, height)
    # The frames of a GIF are counted by reading them all, so only the bytes limit them.
    if kind != "GIF" and getattr(image, "n_frames", 1) > MAX_FRAMES:
        raise BadImage(f"{image.n_frames:,} frames; the limit is {MAX_FRAMES:,}")
    if getattr(image, "is_animated", False):
        notes.append("only the first of several frames is used")
    return ImageInfo(kind, width, height, tuple(notes))


def _guess_format(source: bytes | Path) -> str | None:
    """Guess the type of a file that is not an image, from its first bytes; None if unknown."""
    if isinstance(source, bytes):
        head = source[:512]
    else:
        with source.open("rb") as file:
            head = file.read(512)
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower() if head[:1] in b"\xef \t\r\n<" else head
    if head.startswith(b"<?xml"):
        return "SVG" if b"<svg" in head else "XML"
    if head[4:8] == b"ftyp":
        return "AVIF, HEIC or a video"
    return next((name for start, name in OTHER_FORMATS if head.startswith(start)), None)


def decode(data: bytes) -> Image:
    """Return the image as upright RGB on white.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    return decode_checked(data)[0]


def check_whole(data: bytes) -> ImageInfo:
    """Decode the whole image and return its header facts; a valid header does not prove that the rest is intact.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    info = check_rows(data)
    with _open_upright(data, info=info):
        return info


CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
"""The number of values of a pixel by a PNG's colour type."""
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""The passes of an interlaced PNG: first column and row, and the steps between columns and rows."""


def check_rows(data: bytes) -> ImageInfo:
    """Check an image's header and, for a PNG, that it has all rows, since decoders leave missing ones black.

    Raises:
        BadImage: It is beyond the limits, or incomplete.
    """
    info = inspect(data)
    if info.format != "PNG" or data[12:16] != b"IHDR":
        return info
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    sizes = [(-(-(width - left) // across), -(-(height - top) // down)) for left, top, across, down in passes]
    bits = depth * CHANNELS.get(colour, 1)
    expected = sum(high * (1 + -(-wide * bits // 8)) for wide, high in sizes if wide > 0 and high > 0)
    inflate, place, came = zlib.decompressobj(), 8, 0
    try:
        while place + 8 <= len(data) and not inflate.eof and came < expected:
            length, kind = struct.unpack(">I4s", data[place : place + 8])
            left = data[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
            while left and came < expected:
                came += len(inflate.decompress(left, 2**20))
                left = inflate.unconsumed_tail
            place += 12 + length
    except zlib.error as error:
        raise BadImage(f"cannot be decoded: {error}") from error
    if came < expected:
        raise BadImage(f"cannot be decoded: its data has {came:,} of {expected:,} bytes, so rows are missing")
    return info


class PixelRoom:
    """A limit on the pixels that all threads together decode and prepare at a time."""

    def __init__(self, most: int) -> None:
        self._free = self._most = most
        self._changed, self._mine = threading.Condition(), threading.local()

    @contextmanager
    def take(self, info: ImageInfo) -> Iterator[None]:
        """Wait for room for an image's pixels and hold it inside the block; a thread that already has room has it."""
        if getattr(self._mine, "held", False):
            yield
            return
        pixels = min(self._most, info.width * info.height)
        with self._changed:
            self._changed.wait_for(lambda: self._free >= pixels)
            self._free -= pixels
        self._mine.held = True
        try:
            yield
        finally:
            self._mine.held = False
            with self._changed:
                self._free += pixels
                self._changed.notify_all()


_room = PixelRoom(MAX_PIXELS)


def decode_checked(data: bytes, *, grey: bool = False) -> tuple[Image, bool]:
    """Return the image, and whether all viewers show its bytes identically; if `grey`, a grey image stays grey."""
    with _open_upright(data) as (opened, upright):
        same = upright is opened and not getattr(opened, "is_animated", False) and _is_opaque(opened)
        same = same and opened.mode in ("RGB", "RGBA", "L", "LA", "P", "1")
        kept = grey and upright.mode == "L" and not upright.has_transparency_data
        return upright.copy() if kept else flatten(upright), same


def make_thumbnail(data: bytes, side: int, info: ImageInfo | None = None) -> Image:
    """Return a small upright RGB image on white, reduced first by `reduce_to_side`.

    This is several times faster than scaling to an exact size and looks as good.

    Args:
        data: The image's bytes.
        side: The approximate length of its longer side.
        info: The result of `inspect`, if it is already known.

    >>> from PIL import Image
    >>> [make_thumbnail(encode_png(Image.new("RGB", (width, 99))), 320).size for width in (1024, 512, 400)]
    [(342, 33), (256, 50), (400, 99)]

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    with _open_upright(data, side * 4 // 5, info) as (_, upright):
        simple = upright.mode in ("RGB", "RGBA", "L", "LA") and "transparency" not in upright.info
        return flatten(reduce_to_side(upright if simple else flatten(upright), side))


def reduce_to_side(image: Image, side: int) -> Image:
    """Return the image reduced by the integer factor that makes its longer side closest to `side`."""
    factor = max(1, round(max(image.size) / side))
    return image.reduce(factor) if factor > 1 else image


@contextmanager
def _open_upright(
    data: bytes, least: int | None = None, info: ImageInfo | None = None
) -> Iterator[tuple[Image, Image]]:
    """Open an image, both as stored and upright; they are the same object if no rotation is needed.

    With `least`, a JPEG may be decoded at a half, a quarter or an eighth of its size, as long as its sides keep at
    least that many pixels.
    """
    from PIL import Image, ImageOps

    info = info or inspect(data)
    Image.core.set_block_size(BLOCK_BYTES)  # type: ignore[attr-defined]
    try:
        with _room.take(info), Image.open(io.BytesIO(data), formats=list(SUFFIXES)) as opened:
            if least is not None and info.format == "JPEG":
                opened.draft("RGB", (least, least))
            opened.load()
            turned = opened.getexif().get(ORIENTATION) in range(2, 9)
            yield opened, ImageOps.exif_transpose(opened) if turned else opened
    except Exception as error:  # Broken metadata can raise almost anything.
        raise BadImage(f"cannot be decoded: {error}") from error


def _is_opaque(image: Image) -> bool:
    """Return whether the image has no transparent pixel."""
    if not image.has_transparency_data:
        return True
    alpha = image if "A" in image.getbands() else image.convert("RGBA")
    least = alpha.getchannel("A").getextrema()[0]
    return least == 255


def is_one_colour(data: bytes) -> bool:
    """Return whether a picture is blank: all its pixels have one colour.

    Raises:
        BadImage: The bytes are not an image within the limits.
    """
    return flatten(decode(data)).getcolors(1) is not None


STRIP_ROWS = 256
"""The rows of an image that are put on white at a time."""


def flatten(image: Image) -> Image:
    """Return the image as RGB on white, whatever its mode; 16-bit greys become 8-bit."""
    import numpy as np
    from PIL import Image as Module

    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.nan_to_num(np.asarray(image, dtype=np.float32))
        deep = image.mode.startswith("I;16") or values.max(initial=0) > 255
        image = Module.fromarray(np.clip(values / (257 if deep else 1), 0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        flat = Module.new("RGB", image.size)
        for top in range(0, image.height, STRIP_ROWS):  # In strips, which saves half of the memory.
            box = (0, top, image.width, min(image.height, top + STRIP_ROWS))
            strip = image.crop(box)
            ground = Module.new("RGBA", strip.size, "white")
            ground.alpha_composite(strip.convert("RGBA"))
            flat.paste(ground.convert("RGB"), box)
        return flat
    return image.convert("RGB")


def encode_png(image: Image, compress_level: int = -1) -> bytes:
    """Return the image as PNG bytes, by default with zlib's default compression."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=compress_level)
    return buffer.getvalue()


@dataclass(frozen=True)
class PreparedImage:
    """An image ready to be sent: its data URL and its size."""

    url: str
    width: int
    height: int

    @property
    def packed(self) -> tuple[str, str]:
        """The media type and the base64 text in the URL."""
        head, _, payload = self.url.partition(",")
        return head.removeprefix("data:").removesuffix(";base64"), payload

    @property
    def parts(self) -> tuple[str, bytes]:
        """The media type and the bytes in the URL."""
        media, payload = self.packed
        return media, base64.b64decode(payload)


ImageForm = Literal["jpeg", "native"]
"""The way an image is prepared; part of call keys."""


def prepare(data: bytes, max_side: int | None, form: ImageForm = "jpeg") -> PreparedImage:
    """Prepare an image for sending.

    Args:
        data: The image's bytes.
        max_side: The maximum length of the longer side; larger images are scaled down, smaller ones are kept.
        form: ``jpeg`` flattens and encodes; greys stay grey, as the releases send them. ``native`` sends the bytes
            unchanged if format and size allow it and all services decode them identically, otherwise a PNG: images
            with an EXIF rotation, transparency, animation or print colours may be shown differently by others.
    """
    info = inspect(data)
    with _room.take(info):
        return _prepare(data, info, max_side, form)


def _prepare(data: bytes, info: ImageInfo, max_side: int | None, form: ImageForm) -> PreparedImage:
    longer = max(info.width, info.height)
    fits = max_side is None or longer <= max_side
    image, same = decode_checked(data, grey=form == "jpeg")
    if form == "native" and fits and same and info.format in WEB_FORMATS:
        return _url(data, WEB_FORMATS[info.format], image)
    if not fits:
        from PIL import Image

        assert max_side is not None
        width, height = (max(1, int(side * max_side / longer)) for side in (info.width, info.height))
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    if form == "native":
        return _url(encode_png(image), "image/png", image)
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG")
    return _url(buffer.getvalue(), "image/jpeg", image)


def _url(data: bytes, media: str, image: Image) -> PreparedImage:
    return PreparedImage(f"data:{media};base64,{base64.b64encode(data).decode()}", *image.size)


_PreparedKey = tuple[str, int | None, ImageForm]


class Preparer:
    """A cache that prepares each image once per size and holds at most `limit` bytes of results."""

    def __init__(self, load: Callable[[str], bytes], limit: int = 256 * 2**20) -> None:
        self._load, self._limit = load, limit
        self._kept: OrderedDict[_PreparedKey, PreparedImage] = OrderedDict()
        self._flying: dict[_PreparedKey, asyncio.Future[PreparedImage]] = {}
        self._counts: Counter[str] = Counter()
        self._bytes = 0
        self.prepared = 0

    async def get(self, sha256: str, max_side: int | None, form: ImageForm = "jpeg") -> PreparedImage:
        """Return the prepared image, made in a thread unless it is cached."""
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
        """Return whether the image is cached in any form, which proves that its bytes were intact when read."""
        return sha256 in self._counts

    async def _make(self, sha256: str, max_side: int | None, form: ImageForm) -> PreparedImage:
        return await asyncio.to_thread(lambda: prepare(self._load(sha256), max_side, form))

    def _keep(self, key: _PreparedKey, done: asyncio.Future[PreparedImage]) -> None:
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


FONT_PATH = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"


@lru_cache(maxsize=64)
def font(size: int) -> FreeTypeFont:
    """Return DejaVu Sans at `size` pixels."""
    from PIL import ImageFont

    return ImageFont.truetype(FONT_PATH, size)
