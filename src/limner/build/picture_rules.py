"""What can be told of a picture by rules: how much detail it has, and whether a mark lies over it. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL.Image import Image

OWNERS = re.compile(
    r"shutterstock|alamy|dreamstime|istock|getty\s*images|123rf|depositphotos|adobe\s*stock|bigstock|freepik"
    r"|vecteezy|pngtree|canstock|vectorstock|stock\s*photo|\bwatermark|\bsample\s+only|preview\s+only|do\s+not\s+copy"
    r"|\bunlicensed\b|\bproof\s+only",
    re.IGNORECASE,
)
SIGNS = re.compile(
    r"©|\(c\)\s*(?:19|20)\d\d|\bcopyright\b|all\s+rights\s+reserved|www\.\w|\b[\w-]{3,}\.(?:com|net|org)\b", re.I
)
TILED = 3
"""So often the same words must stand in a picture to be a pattern laid over it."""
MARKED = 6
"""Letters that such words have at least."""


def detail(image: Image) -> float:
    """How far the picture can be shrunk and brought back without loss, as the share of its side that is left: 0 to 1.

    A picture that was blown up holds no more than what it was before.
    """
    from PIL import Image as Module

    grey = image.convert("L")
    if max(grey.size) > 1024:
        grey.thumbnail((1024, 1024), Module.Resampling.LANCZOS)
    whole = np.asarray(grey, dtype=np.float32)
    edges = _edges(whole)
    if edges < 1.0:
        return 0.0  # There is nothing drawn that could be sharp.
    for share in (0.2, 0.3, 0.4, 0.5, 0.65, 0.8):
        size = (max(1, round(grey.width * share)), max(1, round(grey.height * share)))
        back = grey.resize(size, Module.Resampling.LANCZOS).resize(grey.size, Module.Resampling.BICUBIC)
        if float(np.sqrt(np.mean((np.asarray(back, dtype=np.float32) - whole) ** 2))) < 0.06 * edges:
            return share
    return 1.0


def _edges(values: Any) -> float:
    """The strength of what changes in a picture: the root mean square around its mean."""
    return float(values.std())


def watermark(lines: Sequence[str], faint: Sequence[str]) -> str | None:
    """The words of a watermark among lines of text, or None.

    Args:
        lines: What OCR reads in the picture.
        faint: What it reads where only the light tones are shown, spread out.
    """
    for line in (*lines, *faint):
        if found := OWNERS.search(line):
            return found[0]
    for line in lines:
        if found := SIGNS.search(line):
            return found[0]
    words = Counter(_letters(line) for line in faint)
    again = Counter(_letters(line) for line in lines)
    for word, times in words.items():
        if len(word) >= MARKED and times >= TILED and times > again[word] // 2:
            return word
    for word, times in again.items():
        if len(word) >= MARKED and times > TILED:
            return word
    return None


def _letters(line: str) -> str:
    return "".join(ch for ch in line.casefold() if ch.isalpha())


def light_tones(image: Image) -> Image:
    """The picture with its dark tones gone and its light ones spread out, so that faint print over it can be read."""
    from PIL import Image as Module

    values = np.asarray(image.convert("L"), dtype=np.float32)
    ground = float(np.percentile(values, 90))
    floor = max(0.0, ground - 90.0)
    # What is darker than faint print goes to the ground: the drawing itself is not to be read again.
    shown = np.where(values < floor, ground, values)
    spread = np.clip((shown - floor) / max(1.0, ground - floor) * 255.0, 0, 255)
    return Module.fromarray(spread.astype(np.uint8)).convert("RGB")
