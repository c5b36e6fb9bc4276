"""Tests by exchange: the sign-flip test (had the two done each other's work on some questions?), and Holm for many."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .resample import AT_ONCE, LARGEST, ratios
from .types import ALPHA, NEAR, SEED, Derive, Floats, Measure, Parts, known

EXACT = 14
"""Up to this many clusters that differ, every exchange is tried; above it `FLIPS` random ones, or more on request."""
FLIPS = 10_000
ENOUGH = 10
"""Where so many random exchanges gave as wide a gap, p is known well enough."""
NO_SCORE = "one of the two has no such score"


def difference(one: Parts, other: Parts, name: str, derive: Derive) -> float | None:
    """The first one's number less the second's; None where one of them has none."""
    first, second = (derive(ratios(parts)).get(name) for parts in (one, other))
    return float(first - second) if first is not None and second is not None and known(first - second) else None


def sign_flip(one: Parts, other: Parts, name: str = "value", derive: Derive = dict, tests: int = 1) -> Measure:
    """Two-sided p of the sign-flip test: how often a gap as wide comes from exchanging the two within clusters.

    Were the two the same, what they did on a question could as well have been done by the other. All exchanges are
    tried where few clusters differ, else a seeded sample of them.

    >>> from limner.scoring.stats import as_parts
    >>> sign_flip(as_parts([1, 1, 1, 1, 1, 1]), as_parts([0, 0, 0, 0, 0, 0]))
    Measure(value=0.03125, n=6, reason=None)
    """
    return exchanged(one, other, name, derive, tests)[0]


def exchanged(one: Parts, other: Parts, name: str, derive: Derive, tests: int) -> tuple[Measure, int]:
    """The same, and how many clusters differ at all."""
    gap = difference(one, other, name, derive)
    if gap is None:
        return Measure(None, 0, NO_SCORE), 0
    if gap < 0:  # The better one first: the p of a pair is the same whoever is named first.
        one, other = other, one
    names = sorted({*one, *other})
    size = len(next(iter({**one, **other}.values()))[0])
    mine, theirs = (_columns(parts, names, size) for parts in (one, other))
    order = np.lexsort(np.hstack([mine, theirs]).T)
    mine, theirs = mine[order], theirs[order]

    between = theirs - mine
    # Most scores of an exam have the same denominators for both: what nothing moves is not summed up.
    moves = np.flatnonzero(between.any(axis=0))

    def gaps(moving: NDArray[Any], places: NDArray[Any]) -> Floats:
        moved = np.zeros((len(moving), between.shape[1]))
        moved[:, moves] = moving.astype(np.float64) @ between[np.ix_(places, moves)]
        return after(moved)

    def after(moved: Floats) -> Floats:
        sides = [_named(total, names) for total in (mine.sum(axis=0) + moved, theirs.sum(axis=0) - moved)]
        values = [derive(side)[name] for side in sides]
        return np.asarray(values[0] - values[1], dtype=np.float64)

    near = NEAR * max(1.0, abs(gap))
    everywhere = np.arange(size)
    changed = after(between) - abs(gap)  # Each cluster exchanged alone.
    differs = np.flatnonzero(np.isnan(changed) | (np.abs(changed) > near))
    if not len(differs):
        return Measure(1.0, size), 0
    exact = len(differs) <= EXACT
    batches = 1 if exact else ceil(max(FLIPS, 2 * tests / ALPHA) / FLIPS)
    wide = total = 0
    for batch in range(batches):
        flips, places = (_all_flips(len(differs)), differs) if exact else (_random_flips(size, batch), everywhere)
        step = max(1, LARGEST // 2 // size)
        for start in range(0, len(flips), step):
            found = np.abs(gaps(flips[start : start + step], places))
            wide += int((found >= abs(gap) - near).sum())
            total += int((~np.isnan(found)).sum())
        if wide >= ENOUGH:
            break
    # What was seen is itself one of the ways it could have come.
    return Measure(wide / total if exact else (wide + 1) / (total + 1), size), len(differs)


def _columns(parts: Parts, names: list[str], size: int) -> Floats:
    blank = (np.zeros(size), np.zeros(size))
    return np.column_stack([side for name in names for side in parts.get(name, blank)])


def _named(totals: Floats, names: list[str]) -> dict[str, Floats]:
    found = {}
    for place, name in enumerate(names):
        tops, bottoms = totals[:, 2 * place], totals[:, 2 * place + 1]
        found[name] = np.divide(tops, bottoms, out=np.full(len(tops), np.nan), where=bottoms > NEAR)
    return found


def _all_flips(count: int) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (np.arange(2**count)[:, None] >> np.arange(count)) & 1 == 1
    return found


@lru_cache(maxsize=4)
def _random_flips(count: int, batch: int) -> NDArray[np.bool_]:
    generator, step = np.random.default_rng([SEED, batch]), max(1, AT_ONCE // count)
    found = np.empty((FLIPS, count), dtype=np.bool_)
    for start in range(0, FLIPS, step):
        some = found[start : start + step]
        some[:] = generator.random(some.shape, dtype=np.float32) < 0.5
    return found


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down correction; None stays None and does not count as a test.

    >>> holm([0.01, None, 0.04, 0.03])
    [0.03, None, 0.06, 0.06]
    """
    there = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    found: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for step, (p, place) in enumerate(there):
        highest = max(highest, min(1.0, p * (len(there) - step)))
        found[place] = highest
    return found
