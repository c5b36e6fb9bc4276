"""Images are untrusted: limits before decoding, one look whatever the format, prepared once for each size sent."""

from __future__ import annotations

import asyncio
import base64
import io
import threading
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

MAX_BYTES = 64 * 2**20
MAX_PIXELS = 100_000_000
SUFFIXES = {"PNG": "png", "JPEG": "jpg", "WEBP": "webp", "GIF": "gif", "BMP": "bmp"}
"""Formats taken, with the suffix their blobs get."""
BIG_PIXELS = 25_000_000
"""Larger images are decoded one at a time: many at once would take all memory."""
ORIENTATION = 0x0112
"""The EXIF field that says how an image is to be turned."""
OTHERS = (
    (b"%PDF", "PDF"), (b"II*\0", "TIFF"), (b"MM\0*", "TIFF"), (b"\0\0\1\0", "an icon"), (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "gzip"), (b"{", "JSON"), (b"<!doctype html", "HTML"), (b"<html", "HTML"), (b"<svg", "SVG"),
)  # fmt: skip
"""How files begin that are taken for images by mistake."""
WEB_FORMATS = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
"""Formats that services take as they are."""


class BadImage(ValueError):
    """Bytes that are no image, or one beyond the limits."""


@dataclass(frozen=True)
class ImageInfo:
    """What an image's header says.

    Attributes:
        width: Of the upright image, as `height` is.
        notes: What is done with it beyond decoding, in words.
    """

    format: str
    width: int
    height: int
    notes: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """The file name's ending for this format."""
        return SUFFIXES[self.format]


def inspect(source: bytes | Path) -> ImageInfo:
    """Read the header only and hold it against the limits.

    Raises:
        BadImage: It is no image, of a format not taken, or too large.
        PermissionError: The file may not be read.
    """
    from PIL import Image, UnidentifiedImageError

    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size > MAX_BYTES:
        raise BadImage(f"{size:,} bytes; at most {MAX_BYTES:,} are taken")
    stream = io.BytesIO(source) if isinstance(source, bytes) else source
    try:
        with Image.open(stream, formats=list(SUFFIXES)) as image:
            info = _header(image)
    except UnidentifiedImageError as error:
        found = _other(source)
        said = f"this is {found}, not an image" if found else "not an image"
        raise BadImage(f"{said} ({', '.join(SUFFIXES)} are taken)") from error
    except PermissionError:
        raise  # That says nothing of the image.
    except Exception as error:  # Whatever a header can be made to do to its reader.
        raise BadImage(f"not a readable image: {error}") from error
    if info.width * info.height > MAX_PIXELS:
        raise BadImage(f"{info.width} x {info.height} pixels; at most {MAX_PIXELS:,} in all are taken")
    return info


def _header(image: Any) -> ImageInfo:
    # Several pictures in one JPEG file have a format of their own; the first is a plain JPEG.
    kind = "JPEG" if image.format == "MPO" else image.format or ""
    width, height, notes = image.width, image.height, []
    if min(width, height) < 1:
        raise BadImage(f"{width} x {height} pixels: there is nothing to see")
    if image.info.get("exif"):
        turned = image.getexif().get(ORIENTATION)
        if turned in range(2, 9):
            notes.append(f"turned upright by its EXIF orientation, {turned}")
            width, height = (height, width) if turned > 4 else (width, height)
    if getattr(image, "is_animated", False):
        notes.append("of several frames the first counts")
    return ImageInfo(kind, width, height, tuple(notes))


def _other(source: bytes | Path) -> str | None:
    """Return what a file that is no image seems to be."""
    if isinstance(source, bytes):
        head = source[:512]
    else:
        with source.open("rb") as file:
            head = file.read(512)
    head = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower() if head[:1] in b"\xef \t\r\n<" else head
    if head.startswith(b"<?xml"):
        return "SVG" if b"<svg" in head else "XML"
    if head[4:8] == b"ftyp":
        return "AVIF, HEIC or a film"
    return next((name for start, name in OTHERS if head.startswith(start)), None)


def decode(data: bytes) -> Image:
    """Return the upright RGB image on white behind `data`.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    return decode_checked(data)[0]


def check_whole(data: bytes) -> ImageInfo:
    """Decode all of an image and return its header: a good header alone would let half an image pass.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    info = inspect(data)
    with _upright(data, info=info):
        return info


_one_big = threading.Semaphore()


def decode_checked(data: bytes, least: int | None = None) -> tuple[Image, bool]:
    """The image, and whether every viewer makes the same of the bytes as they are; for `least` see `_upright`."""
    with _upright(data, least) as (opened, upright):
        same = upright is opened and not getattr(opened, "is_animated", False) and _opaque(opened)
        return flatten(upright), same and opened.mode in ("RGB", "RGBA", "L", "LA", "P", "1")


def reduced(data: bytes, side: int, info: ImageInfo | None = None) -> Image:
    """Return a small upright RGB image on white, `shrunk` before anything else is done with it.

    That takes a fraction of the time of scaling to an exact size, and is as good to look at.

    Args:
        data: The image's bytes.
        side: About how long its longer side is to be.
        info: What `inspect` says of the bytes, where that is known already.

    >>> from PIL import Image
    >>> [reduced(encode_png(Image.new("RGB", (width, 99))), 320).size for width in (1024, 512, 400)]
    [(342, 33), (256, 50), (400, 99)]

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    with _upright(data, side * 4 // 5, info) as (_, upright):
        simple = upright.mode in ("RGB", "RGBA", "L", "LA") and "transparency" not in upright.info
        return flatten(shrunk(upright if simple else flatten(upright), side))


def shrunk(image: Image, side: int) -> Image:
    """Return the image reduced by the whole number that brings its longer side nearest to `side`."""
    factor = max(1, round(max(image.size) / side))
    return image.reduce(factor) if factor > 1 else image


@contextmanager
def _upright(data: bytes, least: int | None = None, info: ImageInfo | None = None) -> Iterator[tuple[Image, Image]]:
    """The image as it was stored, and turned upright: the same one where there is nothing to turn.

    A JPEG of which no more than `least` pixels of a side are needed is decoded at a half, a quarter or an eighth of its
    size, as long as that is enough.
    """
    from PIL import Image, ImageOps

    info = info or inspect(data)
    try:
        room = _one_big if info.width * info.height > BIG_PIXELS else nullcontext()
        with room, Image.open(io.BytesIO(data), formats=list(SUFFIXES)) as opened:
            if least is not None and info.format == "JPEG":
                opened.draft("RGB", (least, least))
            opened.load()
            turned = opened.getexif().get(ORIENTATION) in range(2, 9)
            yield opened, ImageOps.exif_transpose(opened) if turned else opened
    except Exception as error:  # Broken metadata raises almost anything.
        raise BadImage(f"cannot be decoded: {error}") from error


def _opaque(image: Image) -> bool:
    """Whether nothing shows through."""
    if not image.has_transparency_data:
        return True
    least = image.convert("RGBA").getchannel("A").getextrema()[0]
    return least == 255


def flatten(image: Image) -> Image:
    """RGB on white, whatever the mode; 16-bit greys are brought down to 8 bits."""
    import numpy as np
    from PIL import Image as Module

    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        values = np.nan_to_num(np.asarray(image, dtype=np.float32))
        deep = image.mode.startswith("I;16") or values.max(initial=0) > 255
        image = Module.fromarray(np.clip(values / (257 if deep else 1), 0, 255).round().astype(np.uint8))
    if image.has_transparency_data:
        ground = Module.new("RGBA", image.size, "white")
        ground.alpha_composite(image.convert("RGBA"))
        image = ground
    return image.convert("RGB")


def encode_png(image: Image, compress_level: int = -1) -> bytes:
    """Return the image as PNG bytes, packed as zlib packs unless told otherwise."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=compress_level)
    return buffer.getvalue()


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
        """Return the prepared image, made in a thread unless it is at hand."""
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


PATH = Path(__file__).parent / "fonts" / "DejaVuSans.ttf"


@lru_cache(maxsize=64)
def font(size: int) -> FreeTypeFont:
    """DejaVu Sans at `size` pixels."""
    from PIL import ImageFont

    return ImageFont.truetype(PATH, size)
