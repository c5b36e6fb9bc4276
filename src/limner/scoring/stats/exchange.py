"""Could an agreement be chance? The second evaluator's numbers are exchanged among questions, painters or drawings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from .types import NEAR, SEED, Floats

ALL = 50_000
"""Up to so many exchanges all are tried; above it `SOME` random ones."""
SOME = 9_999
HELD = 2_000_000
"""So many numbers are held in memory at a time."""
BLOCKS_ALONE: Sequence[Hashable] = ()
Shapes = list[NDArray[np.intp]]
"""Places that may be exchanged: for each shape a table with a row for every block."""


def shapes(blocks: Sequence[str], keys: Sequence[Hashable] = BLOCKS_ALONE) -> Shapes:
    """Blocks (questions with all their drawings) that can stand for each other, for they have the same keys.

    >>> [table.tolist() for table in shapes(["a", "a", "b", "b", "c"], ["x", "y", "y", "x", "x"])]
    [[[0, 1], [3, 2]], [[4]]]
    """
    members: dict[str, list[int]] = {}
    for place, block in enumerate(blocks):
        members.setdefault(block, []).append(place)
    found: dict[Hashable, list[list[int]]] = {}
    for places in members.values():
        if keys:
            places.sort(key=lambda place: str(keys[place]))
        shape = tuple(str(keys[place]) for place in places) if keys else len(places)
        found.setdefault(shape, []).append(places)
    return [np.array(rows, dtype=np.intp) for rows in found.values()]


def exchange_p(name: str, x: Floats, y: Floats, weights: Floats, blocks: Shapes) -> float | None:
    """Two-sided p: how often exchanged numbers correlate as strongly; None where nothing can be exchanged.

    All exchanges are tried where they are few, else a seeded sample, in which what was seen counts as one.

    Args:
        name: ``pearson``, ``spearman`` or ``kendall``.
        x: The first evaluator's numbers.
        y: The second's, which are exchanged.
        weights: What each place counts.
        blocks: See `shapes`.

    >>> order = np.arange(4.0)
    >>> round(exchange_p("spearman", order, order, np.ones(4), shapes(list("abcd"))), 4)
    0.0833
    """
    count = prod(factorial(len(table)) for table in blocks) if all(len(table) < 10 for table in blocks) else ALL + 1
    if count == 1:
        return None
    exact = count <= ALL
    if name != "pearson":
        from scipy.stats import rankdata

        x, y = rankdata(x.round(12)), rankdata(y.round(12))
    statistic = _kendall if name == "kendall" else _pearson
    seen = statistic(x, y[None, :], weights)[0]
    wide = total = 0
    for orders in _orders(blocks, len(x), exact):
        found = statistic(x, y[orders], weights)
        wide += int((np.abs(found) >= abs(seen) - NEAR).sum())
        total += int((~np.isnan(found)).sum())
    return wide / total if exact else (wide + 1) / (total + 1)


def _pearson(x: Floats, exchanged: Floats, weights: Floats) -> Floats:
    share = weights / weights.sum()
    x = x - share @ x
    exchanged = exchanged - exchanged[0].mean()
    mean = exchanged @ share
    below = np.sqrt(np.maximum((exchanged**2) @ share - mean**2, 0.0) * (share @ x**2))
    found: Floats = np.divide(exchanged @ (share * x), below, out=np.full(len(mean), np.nan), where=below > NEAR)
    return found


def _kendall(x: Floats, exchanged: Floats, weights: Floats) -> Floats:
    signs = np.sign(x[:, None] - x) * np.outer(weights, weights)
    theirs = np.sign(exchanged[:, :, None] - exchanged[:, None, :])
    found: Floats = np.einsum("ij,bij->b", signs, theirs)
    # Where points weigh differently, so do ties.
    below: Floats = np.sqrt(np.einsum("ij,bij->b", np.outer(weights, weights), theirs**2))
    return np.divide(found, below, out=np.full(len(found), np.nan), where=below > NEAR)


def _orders(blocks: Shapes, n: int, exact: bool) -> Iterator[NDArray[np.intp]]:
    """Who stands in whose place, many at a time."""
    step = max(1, HELD // n**2 if n <= 100 else HELD // n)
    batch: list[NDArray[np.intp]] = []
    generator = np.random.default_rng(SEED)
    if exact:
        ways = product(*(permutations(range(len(table))) for table in blocks))
    else:
        ways = (tuple(tuple(generator.permutation(len(table))) for table in blocks) for _ in range(SOME))
    for way in ways:
        order = np.arange(n)
        for table, moved in zip(blocks, way, strict=True):
            order[table] = table[list(moved)]
        batch.append(order)
        if len(batch) == step:
            yield np.array(batch)
            batch = []
    if batch:
        yield np.array(batch)
