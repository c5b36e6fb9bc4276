"""Images are untrusted: limits before decoding, and one look whatever the format."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

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
    """What a file that is no image seems to be."""
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
    """The upright RGB image on white behind `data`.

    Raises:
        BadImage: It cannot be decoded within the limits.
    """
    return decode_checked(data)[0]


_one_big = threading.Semaphore()


@contextmanager
def _room(info: ImageInfo) -> Iterator[None]:
    if info.width * info.height <= BIG_PIXELS:
        yield
        return
    with _one_big:
        yield


def decode_checked(data: bytes, least: int | None = None) -> tuple[Image, bool]:
    """The image, and whether every viewer makes the same of the bytes as they are; for `least` see `_upright`."""
    with _upright(data, least) as (opened, upright):
        same = upright is opened and not getattr(opened, "is_animated", False) and _opaque(opened)
        return flatten(upright), same and opened.mode in ("RGB", "RGBA", "L", "LA", "P", "1")


def reduced(data: bytes, side: int, info: ImageInfo | None = None) -> Image:
    """A small upright RGB image on white, `shrunk` before anything else is done with it.

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
    """The image reduced by the whole number that brings its longer side nearest to `side`."""
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
        with _room(info), Image.open(io.BytesIO(data), formats=list(SUFFIXES)) as opened:
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
    """The image as PNG bytes, packed as zlib packs unless told otherwise."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=compress_level)
    return buffer.getvalue()
