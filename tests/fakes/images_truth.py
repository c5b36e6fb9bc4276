"""What the fake image service draws: a pure function of what it is asked for.

Tests import it to work out, without the service or the program under test, which image must be stored.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Sequence

from PIL import Image


def picture(
    prompt: str, which: int = 0, size: str = "1024x1024", kind: str = "png", shown: Sequence[str] = ()
) -> bytes:
    """The one right image for a request.

    Args:
        prompt: The prompt.
        which: The seed where one was sent; else how often this very request came before under the plan.
        size: Width and height, as "1536x1024" or "3:2"; the picture is small and has this shape.
        kind: The image format.
        shown: The hashes of the pictures that came with the request, in their order.
    """
    wide, high = (int(side) for side in re.split("[x:]", size))
    scale = 16 / min(wide, high)
    words = "\x00".join((prompt, str(which), size, *shown))
    return stamped(words, (round(wide * scale), round(high * scale)), kind)


def stamped(words: str, size: tuple[int, int], kind: str = "png") -> bytes:
    """An image of the words' hash."""
    root = hashlib.sha256(words.encode("utf-8", "surrogatepass")).digest()
    image = Image.new("RGB", size, (root[0], root[1], root[2]))
    # The whole hash stands in a corner, so that no two pictures are alike.
    for n, shade in enumerate(root):
        image.putpixel((n % 8, n // 8), (shade, shade, shade))
    buffer = io.BytesIO()
    image.save(buffer, kind.upper())
    return buffer.getvalue()


def revised(prompt: str) -> str:
    """A prompt as the services rewrite it."""
    return f"In careful detail: {prompt}"
