"""MMMG's merging of masks and text, and suppression of boxes, pixel by pixel and pair by pair: to check against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from limner.core.evidence import TextLine

Mask = NDArray[np.bool_]


def region_count(masks: list[Mask], lines: list[TextLine]) -> int:
    """The number of regions of an image with these masks, whole masks and no boxes given."""
    rows = text_rows(lines)
    kept = 0
    for mask in masks:
        if not mask.any():
            continue
        covered = False
        for row in rows:
            if share_of_smaller(edges(mask), row) > 0.8:
                covered = True
        if not covered:
            kept += 1
    for left, top, right, bottom in rows:
        if right - left >= 10 and bottom - top >= 10:
            kept += 1
    return kept


def text_rows(lines: list[TextLine]) -> list[tuple[int, int, int, int]]:
    """Lines as whole-pixel boxes; neighbours in height are one."""
    waiting = []
    for line in lines:
        corners = np.array(line.box)
        sides = [np.hypot(*(corners[n] - corners[n - 1])) for n in range(4)]
        if line.confidence >= 0.85 and min(sides) >= 20:
            waiting.append((corners[:, 1].mean(), corners))
    rows = []
    while waiting:
        # Always the topmost that is left; the earlier one of two at the same height.
        first = min(range(len(waiting)), key=lambda n: waiting[n][0])
        level, corners = waiting.pop(first)
        group = [corners]
        while waiting:
            next_one = min(range(len(waiting)), key=lambda n: waiting[n][0])
            if abs(waiting[next_one][0] - level) > 20:
                break
            centre, corners = waiting.pop(next_one)
            group.append(corners)
            level = (level + centre) / 2
        points = np.vstack(group)
        (left, top), (right, bottom) = points.min(axis=0), points.max(axis=0)
        rows.append((int(left), int(top), int(right), int(bottom)))
    return rows


def edges(mask: Mask) -> tuple[int, int, int, int]:
    """First and last column and row of a mask."""
    rows, columns = np.nonzero(mask)
    return int(columns.min()), int(rows.min()), int(columns.max()), int(rows.max())


def share_of_smaller(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> float:
    """Shared area over the smaller area, counting unit squares."""
    canvas = np.zeros((2, 400, 400), dtype=bool)
    for layer, (left, top, right, bottom) in zip(canvas, (one, other), strict=True):
        layer[top:bottom, left:right] = True
    both = (canvas[0] & canvas[1]).sum()
    return float(both / min(canvas[0].sum(), canvas[1].sum())) if both else 0.0


def survivors(boxes: list[tuple[int, int, int, int]], worth: list[float], threshold: float) -> list[int]:
    """Which boxes remain when the best takes away all that overlap it too much, and so on."""
    order = sorted(range(len(boxes)), key=lambda n: (-worth[n], n))
    gone: set[int] = set()
    for place, n in enumerate(order):
        if n in gone:
            continue
        for m in order[place + 1 :]:
            if m not in gone and intersection_over_union(boxes[n], boxes[m]) > threshold:
                gone.add(m)
    return [n for n in order if n not in gone]


def intersection_over_union(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> float:
    """Of two boxes; 0 when neither has an area."""
    wide = max(0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0, min(one[3], other[3]) - max(one[1], other[1]))
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in (one, other)]
    union = sum(areas) - wide * high
    return wide * high / union if union else 0.0
