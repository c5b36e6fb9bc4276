"""Pictures inside a picture: only PNG, JPEG, GIF and WebP that the file itself carries."""

from __future__ import annotations

import base64
import binascii
import re

from ..images import BadImage, inspect
from .limits import BadSvg, Limits

_DATA = re.compile(r"data:image/(png|jpe?g|gif|webp);base64,([A-Za-z0-9+/=\s]*)", re.IGNORECASE)


def embedded(href: str, limits: Limits, line: int | None) -> tuple[str, int]:
    """The address of a picture in its plain form, and how many bytes it holds.

    Raises:
        BadSvg: It lies elsewhere, is of another kind, broken or too large.
    """
    found = _DATA.fullmatch(href.strip())
    if not found:
        start = href.strip()[:40]
        raise BadSvg(
            f"image: {start!r} is not taken: draw it with shapes, or write it as data:image/png;base64,…", line
        )
    try:
        data = base64.b64decode("".join(found[2].split()), validate=True)
        info = inspect(data)
    except (binascii.Error, BadImage) as error:
        raise BadSvg(f"image: {error}", line) from None
    said = found[1].lower().replace("jpg", "jpeg")
    if info.format.lower() != said:
        raise BadSvg(f"image: called {said}, but it is {info.format}", line)
    if info.width * info.height > limits.image_pixels:
        raise BadSvg(f"image: {info.width} x {info.height}; at most {limits.image_pixels:,} pixels are taken", line)
    return f"data:image/{said};base64,{base64.b64encode(data).decode()}", len(data)
