"""Counting regions without any model: find edges, close their gaps, and fill what they enclose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.errors import UsageError
from ...core.images import flatten
from .base import Box, Regions, merge_regions

if TYPE_CHECKING:
    from PIL.Image import Image

    from ...core.evidence import TextLine

REVISION = 1
"""Raised whenever this module would count the same image differently."""
SIDE = 1024
"""Larger images are reduced to this; what is a region must not depend on how many pixels it was drawn with."""
EDGE = 32
"""Neighbouring pixels that differ by more than this, in any colour, lie at an edge."""
GAP = 7
"""Gaps in edges narrower than this are closed; small letters close up and hold no regions."""
GROUND = 8
"""An area at the image's rim that differs from the rim's usual colour by no more than this is ground."""
SMALLEST = 0.0003
"""Areas below this part of the image are specks."""


class ClassicalCounter:
    """Counts areas within edges. Right on flat diagrams; shading and texture fall apart into many."""

    paper = False

    @property
    def name(self) -> str:
        """The method and its constants."""
        settings = f"edge={EDGE} close={GAP} ground={GROUND} smallest={SMALLEST:g} side={SIDE} rev={REVISION}"
        return f"classical/{settings}"

    def check(self) -> None:
        """Raise unless OpenCV can be loaded.

        Raises:
            UsageError: It cannot, such as where system libraries are missing.
        """
        try:
            import cv2  # noqa: F401
        except ImportError as error:
            what = "the classical counter needs OpenCV: pip install --force-reinstall opencv-python-headless"
            raise UsageError(f"{what} ({error})") from error

    def count(self, image: Image, lines: Sequence[TextLine]) -> Regions:
        """The regions of an image whose text has been read already."""
        return merge_regions(areas(image), lines)


def areas(image: Image) -> list[Box]:
    """The boxes of all areas within edges but the ground, in the image's own pixels, from top to bottom."""
    import cv2

    flat = flatten(image)
    pixels = np.ascontiguousarray(np.asarray(flat))
    scale = min(1.0, SIDE / max(flat.size))
    if scale < 1:
        width, height = (max(1, round(side * scale)) for side in flat.size)
        pixels = np.asarray(cv2.resize(pixels, (width, height), interpolation=cv2.INTER_AREA))
    height, width = pixels.shape[:2]
    steps = cv2.morphologyEx(pixels, cv2.MORPH_GRADIENT, np.ones((3, 3), np.uint8)).max(axis=2)
    edges = cv2.morphologyEx((steps > EDGE).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((GAP, GAP), np.uint8))
    number, labels, figures, _ = cv2.connectedComponentsWithStats(1 - edges, connectivity=4)
    rim = _rim(pixels)
    across, down = flat.width / width, flat.height / height
    found = []
    for label in range(1, number):
        left, top, wide, high, size = (int(figure) for figure in figures[label])
        at_rim = left == 0 or top == 0 or left + wide == width or top + high == height
        if size < SMALLEST * width * height:
            continue
        place = (slice(top, top + high), slice(left, left + wide))
        if at_rim and np.abs(_colour(pixels[place][labels[place] == label]) - rim).max() <= GROUND:
            continue
        found.append((left * across, top * down, (left + wide - 1) * across, (top + high - 1) * down))
    return found


def _rim(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return _colour(np.concatenate([pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]]))


def _colour(pixels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The usual colour of some pixels."""
    return np.asarray(np.median(pixels.astype(np.int16), axis=0))
