"""Pictures that show what was counted."""

from __future__ import annotations

from collections.abc import Iterator

from PIL import Image, ImageDraw

from ...core.images import flatten
from .base import Box, Regions

MASK = (0, 114, 178)
"""Blue: a mask region, drawn with a whole line."""
LINE = (213, 94, 0)
"""Vermilion: a line of text, drawn with dashes. The two are told apart without colour too."""
HALO = (255, 255, 255)
DASH = 5
"""A dash, and the gap after it, in strokes."""


def overlay(image: Image.Image, regions: Regions) -> Image.Image:
    """The image with a box around every region: masks blue and whole, lines of text vermilion and dashed."""
    picture = flatten(image).copy()
    draw = ImageDraw.Draw(picture)
    stroke = max(2, round(max(picture.size) / 500))
    for number, box in enumerate(regions.boxes):
        if number < regions.masks:
            for colour, width in ((HALO, stroke + 2), (MASK, stroke)):
                for a, b in _sides(box):
                    draw.line((a, b), fill=colour, width=width)
        else:
            for colour, width in ((HALO, stroke + 2), (LINE, stroke)):
                for a, b in _sides(box):
                    for start, end in _dashes(a, b, DASH * stroke):
                        draw.line((start, end), fill=colour, width=width)
    return picture


Point = tuple[float, float]


def _sides(box: Box) -> list[tuple[Point, Point]]:
    left, top, right, bottom = box
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    return [(corners[n], corners[(n + 1) % 4]) for n in range(4)]


def _dashes(start: Point, end: Point, length: float) -> Iterator[tuple[Point, Point]]:
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
