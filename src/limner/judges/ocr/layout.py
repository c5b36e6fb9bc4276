"""Which lines of a drawing stand so close, one after another, that they may be one label."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...core.evidence import Position, TextLine

MAX_PARTS = 3
"""A label may be broken over this many lines."""

TALL = 1.5
"""A box this many times higher than wide holds sideways text."""

_PARALLEL = math.cos(math.radians(15))


def chains(lines: Sequence[TextLine]) -> Iterator[tuple[int, ...]]:
    """Every run of one to `MAX_PARTS` lines, as indices, in which each line follows the one before.

    Whether two lines follow each other depends on these two alone: further lines never break a run.
    """
    follows = [[j for j, b in enumerate(lines) if i != j and _follows(a, b)] for i, a in enumerate(lines)]
    runs: list[tuple[int, ...]] = [(i,) for i in range(len(lines))]
    for _ in range(MAX_PARTS):
        yield from runs
        runs = [(*run, j) for run in runs for j in follows[run[-1]] if j not in run]


def _follows(a: TextLine, b: TextLine) -> bool:
    """Whether b may go on with the words of a: just under it, or close beside it."""
    return _are_close(a, b) and any(
        _goes_on(a, b, d) for d in _directions(a) if any(d[0] * e[0] + d[1] * e[1] >= _PARALLEL for e in _directions(b))
    )


def _are_close(a: TextLine, b: TextLine) -> bool:
    """A quick test that spares most pairs the exact one."""
    (al, at, ar, ab), (bl, bt, br, bb) = a.bounds, b.bounds
    reach = 2 * min(max(ar - al, ab - at), max(br - bl, bb - bt))
    return bl - ar <= reach and al - br <= reach and bt - ab <= reach and at - bb <= reach


def _directions(line: TextLine) -> list[Position]:
    """The ways the text may run, as unit vectors: both up and down for a tall box."""
    (across, down) = ((q[0] - p[0], q[1] - p[1]) for p, q in pairwise(line.box[:3]))
    if math.hypot(*down) >= TALL * math.hypot(*across) and len(line.text.strip()) > 1:
        x, y = _unit(down)
        return [(x, y), (-x, -y)]
    return [_unit(across)]


def _unit(vector: Position) -> Position:
    length = math.hypot(*vector)
    return (vector[0] / length, vector[1] / length) if length else (1.0, 0.0)


def _goes_on(a: TextLine, b: TextLine, along: Position) -> bool:
    (a_start, a_end), (a_top, a_bottom) = _extent(a, along)
    (b_start, b_end), (b_top, b_bottom) = _extent(b, along)
    low, high = sorted((a_bottom - a_top, b_bottom - b_top))
    if low <= 0 or high > 1.7 * low:
        return False
    shared = min(a_end, b_end) - max(a_start, b_start)
    under = -0.5 * low <= b_top - a_bottom <= 0.9 * low and shared >= 0.5 * min(a_end - a_start, b_end - b_start)
    level = min(a_bottom, b_bottom) - max(a_top, b_top) >= 0.6 * low
    return under or (level and -0.5 * low <= b_start - a_end <= 1.5 * low)


def _extent(line: TextLine, along: Position) -> tuple[Position, Position]:
    """How far the box reaches along the text and across it."""
    x, y = along
    run = [px * x + py * y for px, py in line.box]
    rise = [py * x - px * y for px, py in line.box]
    return (min(run), max(run)), (min(rise), max(rise))
