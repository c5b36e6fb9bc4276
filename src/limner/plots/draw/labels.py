"""Finds a place beside each point for its name, so that names hide neither each other nor a point."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from ..style import GREY, SMALL, wide

Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""
AROUND = [n * pi / 8 for n in (0, 8, 4, 12, 2, 6, 10, 14, 1, 7, 9, 15, 3, 5, 11, 13)]
"""Directions, the preferred first: right, left, above, below, then between them."""
FAR = (5.0, 8.0, 12.0, 17.0, 24.0, 32.0, 42.0)
LEADER = 8.0
"""Names further away than this get a thin line to their point."""
POINT = 3.2


def choose(points: Sequence[tuple[float, float]], widths: Sequence[float], inside: Box) -> list[tuple[float, float]]:
    """For each point the middle of its name: near it, inside the frame, and on nothing else where that can be.

    Args:
        points: Where they are, in points (1/72 inch).
        widths: How wide each name is.
        inside: The frame.

    >>> choose([(50, 50)], [20], (0, 0, 100, 100))
    [(65.0, 50.0)]
    """
    filled = [(x - POINT, y - POINT, x + POINT, y + POINT) for x, y in points]
    found: list[tuple[float, float]] = [(0.0, 0.0)] * len(points)
    # Those with the closest neighbours have the least choice, so they come first.
    order = sorted(range(len(points)), key=lambda n: _nearest(points, n))
    for n in order:
        best: tuple[float, float, float] | None = None
        for middle in _places(points[n], widths[n]):
            box = _box(middle, widths[n])
            bad = sum(_overlap(box, other) for other in filled) + 20 * _outside(box, inside)
            if best is None or bad < best[0] - 1e-9:
                best = (bad, *middle)
            if bad == 0:
                break
        assert best is not None
        found[n] = best[1:]
        filled.append(_box(found[n], widths[n]))
    return found


def _nearest(points: Sequence[tuple[float, float]], n: int) -> float:
    x, y = points[n]
    return min(((x - a) ** 2 + (y - b) ** 2 for m, (a, b) in enumerate(points) if m != n), default=0.0)


def _places(point: tuple[float, float], width: float) -> list[tuple[float, float]]:
    x, y = point
    return [
        (x + cos(angle) * (far + width / 2), y + sin(angle) * (far + SMALL / 2 - 1)) for far in FAR for angle in AROUND
    ]


def _box(middle: tuple[float, float], width: float) -> Box:
    x, y = middle
    return x - width / 2 - 1.5, y - SMALL * 0.58, x + width / 2 + 1.5, y + SMALL * 0.58


def _overlap(one: Box, other: Box) -> float:
    across = min(one[2], other[2]) - max(one[0], other[0])
    down = min(one[3], other[3]) - max(one[1], other[1])
    return across * down if across > 0 and down > 0 else 0.0


def _outside(box: Box, inside: Box) -> float:
    return sum(
        max(0.0, each) for each in (inside[0] - box[0], inside[1] - box[1], box[2] - inside[2], box[3] - inside[3])
    )


def place(panel: Any, points: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write the names into a panel whose size is settled."""
    scale = 72 / panel.figure.dpi
    where = [(float(x) * scale, float(y) * scale) for x, y in panel.transData.transform(list(points))]
    edge = panel.get_window_extent()
    inside = (edge.x0 * scale + 1, edge.y0 * scale + 1, edge.x1 * scale - 1, edge.y1 * scale - 1)
    widths = [wide(name, SMALL) * 72 for name in names]
    chosen = choose(where, widths, inside)
    # Over lines, below points.
    paper = {"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none"}
    for name, data, (x, y), (a, b), width in zip(names, points, where, chosen, widths, strict=True):
        gap = max(abs(x - a) - width / 2, abs(y - b) - SMALL / 2)
        line = {"arrowstyle": "-", "lw": 0.4, "color": GREY, "shrinkA": 0, "shrinkB": 2.5} if gap > LEADER else None
        panel.annotate(name, data, (a - x, b - y), textcoords="offset points", ha="center", va="center",
                              fontsize=SMALL, arrowprops=line, zorder=2.5, bbox=paper)  # fmt: skip
