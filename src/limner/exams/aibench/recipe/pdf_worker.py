"""The worker's side of rendering a PDF page: a separate process that sets its limits before it gets the file.

It runs without site packages and without Limner.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def renderer(library: str, memory: int, seconds: int, side: int) -> Callable[..., Any]:
    """Return the worker's function, which returns width, height, stride and RGB values, or an error message.

    Args:
        library: The folder with the packages.
        memory: The limit of the address space, in bytes.
        seconds: The limit of processor time.
        side: The longer side of the image, in pixels.
    """
    import resource

    for what, most in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds)):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE):
        resource.setrlimit(what, (0, 0))
    sys.path.insert(0, library)

    def render(pdf: bytes) -> Any:
        import struct

        import pypdfium2

        try:
            document = pypdfium2.PdfDocument(pdf)
            page = document[0]
            picture = page.render(scale=side / max(*page.get_size(), 1.0), rev_byteorder=True, force_bitmap_format=2)
        except (pypdfium2.PdfiumError, IndexError, ValueError) as error:
            return str(error)
        return struct.pack("<3I", picture.width, picture.height, picture.stride) + bytes(picture.buffer)

    return render
