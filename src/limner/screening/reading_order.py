"""Orders in which lines may be meant to be read: column by column, and upright text from side to side."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..core.evidence import TextLine

Bounds = tuple[float, float, float, float]

REACH = 1.5
"""How far below a line the next one may begin, in heights of the line."""


def columns(lines: Sequence[TextLine]) -> list[list[int]]:
    """Runs of two or more lines, each just under the one before, as places among `lines`.

    A line goes on with the nearest line below it that it shares width with; where a wide line stands over two
    columns, with the one that begins most nearly where it begins. Runs that are read in this order anyway are left out.
    """
    after: dict[int, int] = {}
    taken: set[int] = set()
    bounds = [line.bounds for line in lines]
    by_top = sorted(range(len(lines)), key=lambda place: bounds[place][1])
    tops = [bounds[place][1] for place in by_top]
    pairs = []
    for upper, a in enumerate(bounds):
        reach = a[3] + REACH * (a[3] - a[1])
        for lower in by_top[bisect_right(tops, a[1]) : bisect_right(tops, reach)]:
            if (cost := _cost(a, bounds[lower])) is not None:
                pairs.append((cost, upper, lower))
    for _, upper, lower in sorted(pairs):
        if upper not in after and lower not in taken:
            after[upper] = lower
            taken.add(lower)
    runs = []
    for first in range(len(lines)):
        if first not in taken and first in after:
            run = [first]
            while run[-1] in after:
                run.append(after[run[-1]])
            if run != list(range(run[0], run[0] + len(run))):
                runs.append(run)
    return runs


def uprights(lines: Sequence[TextLine]) -> list[list[int]]:
    """Lines that run up or down the page, from left to right and from right to left."""
    upright = (place for place, line in enumerate(lines) if line.is_upright)
    run = sorted(upright, key=lambda place: (lines[place].bounds[0], place))
    return [run, run[::-1]] if len(run) > 1 else []


def _cost(a: Bounds, b: Bounds) -> float | None:
    """How far b stands from where the words of a would go on; None where they do not."""
    (al, at, ar, ab), (bl, bt, br, bb) = a, b
    height = min(ab - at, bb - bt)
    gap = bt - ab
    if height <= 0 or bt <= at or not -0.5 * height <= gap <= REACH * height:
        return None
    if min(ar, br) - max(al, bl) < 0.3 * min(ar - al, br - bl):
        return None
    aligned = min(abs(al - bl), abs(ar - br), abs(al + ar - bl - br) / 2)
    return max(gap, 0.0) + 0.5 * aligned
