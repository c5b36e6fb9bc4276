"""Region counters held against each other: in numbers, and in pictures of what was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from PIL import Image, ImageDraw

from ...core.evidence import Position
from ...core.images import flatten
from .base import Box, Regions

MOVED = 0.1
"""Readability that differs by more than this is another readability."""
MASK = (0, 114, 178)
"""Blue: a mask region, drawn with a whole line."""
LINE = (213, 94, 0)
"""Vermilion: a line of text, drawn with dashes. The two are told apart without colour too."""
HALO = (255, 255, 255)
DASH = 5
"""A dash, and the gap after it, in strokes."""


@dataclass(frozen=True)
class CounterPair:
    """Two counters on the images that both counted.

    Attributes:
        difference: The second one's count less the first one's, on average; None without images.
        moved: The share of images whose readability differs by more than `MOVED`.
    """

    first: str
    second: str
    images: int
    difference: float | None
    moved: float | None

    def to_json(self) -> dict[str, Any]:
        """A plain mapping."""
        return {
            "first": self.first,
            "second": self.second,
            "images": self.images,
            "mean_difference": self.difference,
            "moved": self.moved,
        }


def compare(
    counts: Sequence[Mapping[str, int]], counters: Sequence[str], readability: Callable[[int], float]
) -> list[CounterPair]:
    """Every two counters beside each other.

    Args:
        counts: For each image, the count by counter; a counter that failed on it is missing.
        counters: Their names.
        readability: From a count to 0-1.
    """
    found = []
    for first, second in combinations(counters, 2):
        both = [(row[first], row[second]) for row in counts if first in row and second in row]
        difference = fmean(b - a for a, b in both) if both else None
        # Differences of thresholds' size must not be decided by how 0.1 is rounded.
        moved = fmean(abs(readability(b) - readability(a)) > MOVED + 1e-9 for a, b in both) if both else None
        found.append(CounterPair(first, second, len(both), difference, moved))
    return found


def overlay(image: Image.Image, regions: Regions) -> Image.Image:
    """The image with a box around every region: masks blue and whole, lines of text vermilion and dashed."""
    picture = flatten(image).copy()
    draw = ImageDraw.Draw(picture)
    stroke = max(2, round(max(picture.size) / 500))
    for number, box in enumerate(regions.boxes):
        is_mask = number < regions.masks
        pieces = [piece for side in _sides(box) for piece in ([side] if is_mask else _dashes(*side, DASH * stroke))]
        for colour, width in ((HALO, stroke + 2), (MASK if is_mask else LINE, stroke)):
            for piece in pieces:
                draw.line(piece, fill=colour, width=width)
    return picture


def _sides(box: Box) -> list[tuple[Position, Position]]:
    left, top, right, bottom = box
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return [(corners[n], corners[(n + 1) % 4]) for n in range(4)]


def _dashes(start: Position, end: Position, length: float) -> Iterator[tuple[Position, Position]]:
    (x, y), (right, bottom) = start, end
    far = abs(right - x) + abs(bottom - y)
    at = 0.0
    while at < far:
        upto = min(at + length, far)
        yield (
            (x + (right - x) * at / far, y + (bottom - y) * at / far),
            (x + (right - x) * upto / far, y + (bottom - y) * upto / far),
        )
        at += 2 * length
