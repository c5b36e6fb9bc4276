"""Figures that are PDF files become pictures: the first page, by a worker of its own, with bounded time and memory."""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from pathlib import Path

from ...core.errors import UsageError
from ...core.images import MAX_BYTES, BadImage, encode_png
from ...workers import JobFailure, Recipe, WorkerDeath, WorkerUnfit, once

SIDE = 2000
"""Pixels of the longer side."""
MEMORY = 4 * 2**30
SECONDS = 20
_FACTORY = f"{Path(__file__).with_name('pdf_worker.py')}:renderer"


def check_pdf() -> None:
    """Whether PDF figures can be taken.

    Raises:
        UsageError: What is needed is not installed; says what to do.
    """
    if find_spec("pypdfium2") is None:
        raise UsageError(
            "a figure is a PDF file, for which pypdfium2 is needed: pip install 'limner[build]'; "
            "or leave such figures out: --set figures.pdf=false"
        )


def first_page(pdf: bytes) -> bytes:
    """The first page as PNG bytes.

    Raises:
        BadImage: It is no PDF file that can be drawn.
    """
    from PIL import Image

    library = find_spec("pypdfium2")
    assert library is not None
    assert library.origin is not None
    args = {"library": str(Path(library.origin).parents[1]), "memory": MEMORY, "seconds": SECONDS, "side": SIDE}
    recipe = Recipe("pdf", _FACTORY, json.dumps(args), start_s=60, isolated=True, most=MAX_BYTES)
    try:
        found = once(recipe, {}, (pdf,), SECONDS * 10)
    except (WorkerDeath, JobFailure, WorkerUnfit) as error:
        raise BadImage(f"the PDF cannot be drawn: {error}") from None
    if not found.bodies:
        raise BadImage(f"the PDF cannot be drawn: {str(found.value)[:300]}")
    width, height, stride = struct.unpack_from("<3I", found.bodies[0])
    raw = found.bodies[0][struct.calcsize("<3I") :]
    return encode_png(Image.frombuffer("RGB", (width, height), raw, "raw", "RGB", stride, 1))
