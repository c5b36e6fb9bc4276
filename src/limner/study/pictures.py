"""Pictures as raters get them: one canvas, one format, sizes in whole steps, nothing of the file they come from."""

from __future__ import annotations

import io

from ..core.images import decode

STEP = 64 * 1024
"""Files are filled up to whole multiples of so many bytes: their sizes tell little."""
QUALITY = 90
COMMENT = 65_537
"""The longest comment in a JPEG, with its marker."""


def normal_picture(data: bytes, side: int) -> bytes:
    """An image on a white square of `side` pixels, as large as it fits, as a JPEG without anything else in it.

    Raises:
        limner.core.images.BadImage: It cannot be decoded within the limits.
    """
    from PIL import Image

    image = decode(data)
    scale = side / max(image.size)
    width, height = (max(1, round(length * scale)) for length in image.size)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    canvas = Image.new("RGB", (side, side), "white")
    canvas.paste(image, ((side - width) // 2, (side - height) // 2))
    buffer = io.BytesIO()
    canvas.save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return filled(buffer.getvalue())


def filled(jpeg: bytes) -> bytes:
    """The JPEG with empty comments after its first marker, up to the next whole step of bytes."""
    missing = -len(jpeg) % STEP
    if 0 < missing < 4:
        missing += STEP  # A comment takes four bytes at least.
    comments = b""
    while missing:
        size = min(missing, COMMENT)
        if 0 < missing - size < 4:
            size -= 4
        comments += b"\xff\xfe" + (size - 2).to_bytes(2, "big") + bytes(size - 4)
        missing -= size
    return jpeg[:2] + comments + jpeg[2:]
