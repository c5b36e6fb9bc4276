"""The bundled typeface, so that pictures made by code look alike on every machine."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

PATH = Path(__file__).parent / "DejaVuSans.ttf"


@lru_cache(maxsize=64)
def font(size: int) -> FreeTypeFont:
    """DejaVu Sans at `size` pixels."""
    from PIL import ImageFont

    return ImageFont.truetype(PATH, size)
