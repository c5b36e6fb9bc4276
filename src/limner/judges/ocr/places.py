"""Where labels stand among the words of a drawing: at an axis, or one after another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from ...core.evidence import Position, TextLine
from .layout import TALL
from .matching import LabelMatch

ORDERS: dict[str, Position] = {
    "top to bottom": (0, 1),
    "bottom to top": (0, -1),
    "left to right": (1, 0),
    "right to left": (-1, 0),
}
"""Ways labels may follow each other, and the direction that is."""

EDGE = 0.35
"""The name of an axis stands within this share of the written field from its lower edge (x) or left one (y)."""


def stand_at(axes: Sequence[str], places: Sequence[LabelMatch], lines: Sequence[TextLine]) -> bool:
    """Whether the labels stand where the names of their axes would: level and low for x, sideways or left for y.

    Where both are named it is enough that the name of x stands lower than that of y, and further right.
    """
    at = {axis: place for axis, place in zip(axes, places, strict=True) if axis}
    if {"x", "y"} <= at.keys():
        (x_right, x_down), (y_right, y_down) = _centre(at["x"].span.lines), _centre(at["y"].span.lines)
        return x_right > y_right and x_down > y_down and not _sideways(at["x"])
    return all(_at_edge(axis, place, lines) for axis, place in at.items())


def follow(order: str, places: Sequence[LabelMatch]) -> bool:
    """Whether the labels follow each other in this order, each clear of the one before."""
    dx, dy = ORDERS[order]
    along = [x * dx + y * dy for x, y in (_centre(place.span.lines) for place in places)]
    step = min((_height(place.span.lines) for place in places), default=0.0) / 2
    return all(b - a > step for a, b in pairwise(along))


def _at_edge(axis: str, place: LabelMatch, lines: Sequence[TextLine]) -> bool:
    left, top, right, bottom = _bounds(lines)
    x, y = _centre(place.span.lines)
    if len(lines) <= len(place.span.lines) or right <= left or bottom <= top:
        return False
    across, down = (x - left) / (right - left), (y - top) / (bottom - top)
    if axis == "x":
        return not _sideways(place) and down >= 1 - EDGE
    return across <= EDGE and (_sideways(place) or down <= 1 / 2)


def _sideways(place: LabelMatch) -> bool:
    """Whether the words run up or down."""
    return all(_is_tall(line) for line in place.span.lines)


def _is_tall(line: TextLine) -> bool:
    (ax, ay), (bx, by), (cx, cy) = line.box[:3]
    along, across = (bx - ax, by - ay), (cx - bx, cy - by)
    long = along if math.hypot(*along) >= math.hypot(*across) else across
    return abs(long[1]) > abs(long[0]) and max(map(abs, long)) >= TALL * min(math.hypot(*along), math.hypot(*across))


def _bounds(lines: Sequence[TextLine]) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*(line.bounds for line in lines), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _centre(lines: Sequence[TextLine]) -> Position:
    left, top, right, bottom = _bounds(lines)
    return (left + right) / 2, (top + bottom) / 2


def _height(lines: Sequence[TextLine]) -> float:
    return min(min(right - left, bottom - top) for left, top, right, bottom in (line.bounds for line in lines))
