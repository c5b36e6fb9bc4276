"""Points along curves: bows, soft curves, mirror images, dashes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Point = tuple[float, float]


def polar(center: Point, radius: float, degrees: float) -> Point:
    """The point at an angle (clockwise from the right, as the y axis points down) around a centre."""
    turn = math.radians(degrees)
    return center[0] + radius * math.cos(turn), center[1] + radius * math.sin(turn)


def bow(center: Point, rx: float, ry: float, start: float, end: float, steps: int = 48) -> list[Point]:
    """Points along part of an ellipse, from one angle in degrees to another."""
    turns = (math.radians(start + (end - start) * i / steps) for i in range(steps + 1))
    return [(center[0] + rx * math.cos(t), center[1] + ry * math.sin(t)) for t in turns]


def smooth(points: Sequence[Point], steps: int = 12, closed: bool = False) -> list[Point]:
    """A soft curve through all points (Catmull-Rom)."""
    before, after = ([points[-1]], points[:2]) if closed else ([points[0]], [points[-1]])
    run = [*before, *points, *after]
    curve = [
        (_blend(a[0], b[0], c[0], d[0], i / steps), _blend(a[1], b[1], c[1], d[1], i / steps))
        for a, b, c, d in zip(run, run[1:], run[2:], run[3:], strict=False)
        for i in range(steps)
    ]
    return curve if closed else [*curve, points[-1]]


def mirrored(points: Iterable[Point], axis: float) -> list[Point]:
    """The points reflected in the upright line at x = `axis`."""
    return [(2 * axis - x, y) for x, y in points]


def turned(points: Iterable[Point], center: Point, degrees: float) -> list[Point]:
    """The points turned clockwise about a centre."""
    sin, cos = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    moved = ((x - center[0], y - center[1]) for x, y in points)
    return [(center[0] + x * cos - y * sin, center[1] + x * sin + y * cos) for x, y in moved]


def _blend(a: float, b: float, c: float, d: float, t: float) -> float:
    return 0.5 * (2 * b + (c - a) * t + (2 * a - 5 * b + 4 * c - d) * t**2 + (3 * b - a - 3 * c + d) * t**3)


def shortened(path: list[Point], cut: float) -> list[Point]:
    """The path without its last `cut` pixels."""
    path = list(path)
    while len(path) > 2 and math.dist(path[-2], path[-1]) <= cut:
        cut -= math.dist(path[-2], path[-1])
        path.pop()
    (x0, y0), (x1, y1) = path[-2:]
    share = cut / math.dist((x0, y0), (x1, y1))
    return [*path[:-1], (x1 - (x1 - x0) * share, y1 - (y1 - y0) * share)]


def dashed(path: list[Point], on: float, off: float) -> list[list[Point]]:
    """The drawn pieces of a dashed path, following its corners."""
    pieces: list[list[Point]] = []
    piece, left, drawing = [path[0]], on, True
    for end in path[1:]:
        here = piece[-1]
        while (gap := math.dist(here, end)) > left:
            share = left / gap
            here = (here[0] + (end[0] - here[0]) * share, here[1] + (end[1] - here[1]) * share)
            if drawing:
                pieces.append([*piece, here])
            piece, drawing = [here], not drawing
            left = on if drawing else off
        left -= gap
        piece = [*piece, end] if drawing else [end]
    if drawing and len(piece) > 1:
        pieces.append(piece)
    return pieces
