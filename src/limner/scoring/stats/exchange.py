"""Could an agreement be chance? The second evaluator's numbers are exchanged among questions, painters or drawings."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from .types import NEAR, SEED, Floats

ALL = 10_000
"""Up to so many exchanges all are tried; above it `SOME` random ones."""
SOME = 1_999
HELD = 2_000_000
"""So many numbers are held in memory at a time."""
BLOCKS_ALONE: Sequence[Hashable] = ()


@dataclass(frozen=True)
class Shape:
    """Places that may be exchanged.

    Attributes:
        table: A row for every block, a column for every key.
        turning: Whether columns may be exchanged too, in all rows alike: painters, beside questions.
    """

    table: NDArray[np.intp]
    turning: bool

    @property
    def count(self) -> int:
        """In how many ways that can be done; many where it is more than can be tried."""
        rows, columns = self.table.shape
        if max(rows, columns if self.turning else 1) > 9:
            return ALL + 1
        return factorial(rows) * (factorial(columns) if self.turning else 1)

    def ways(self) -> Iterator[NDArray[np.intp]]:
        """The table in every order."""
        rows, columns = self.table.shape
        for down in permutations(range(rows)):
            for across in permutations(range(columns)) if self.turning else [tuple(range(columns))]:
                yield self.table[np.ix_(down, across)]

    def chances(self, generator: np.random.Generator, count: int) -> NDArray[np.intp]:
        """So many random ones."""
        rows, columns = self.table.shape
        down = generator.permuted(np.tile(np.arange(rows), (count, 1)), axis=1)
        if not self.turning:
            moved: NDArray[np.intp] = self.table[down]
            return moved
        across = generator.permuted(np.tile(np.arange(columns), (count, 1)), axis=1)
        found: NDArray[np.intp] = self.table[down[:, :, None], across[:, None, :]]
        return found


Shapes = list[Shape]


def shapes(blocks: Sequence[str], keys: Sequence[Hashable] = BLOCKS_ALONE) -> Shapes:
    """Blocks (questions with all their drawings) that can stand for each other, for they have the same keys.

    Where all blocks have the same keys, each once, keys (painters) can stand for each other too.

    >>> [shape.table.tolist() for shape in shapes(["a", "a", "b", "b", "c"], ["x", "y", "y", "x", "x"])]
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
    crossed = len(found) == 1 and all(isinstance(shape, tuple) and len({*shape}) == len(shape) > 1 for shape in found)
    return [Shape(np.array(rows, dtype=np.intp), crossed) for rows in found.values()]


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
    count = prod(shape.count for shape in blocks)
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
    ratio: Floats = np.divide(found, below, out=np.full(len(found), np.nan), where=below > NEAR)
    return ratio


def _orders(blocks: Shapes, n: int, exact: bool) -> Iterator[NDArray[np.intp]]:
    """Who stands in whose place, many at a time."""
    step = max(1, HELD // n**2 if n <= 100 else HELD // n)
    generator = np.random.default_rng(SEED)
    if not exact:
        for start in range(0, SOME, step):
            orders = np.tile(np.arange(n), (min(step, SOME - start), 1))
            for shape in blocks:
                orders[:, shape.table] = shape.chances(generator, len(orders))
            yield orders
        return
    batch: list[NDArray[np.intp]] = []
    for way in product(*(shape.ways() for shape in blocks)):
        order = np.arange(n)
        for shape, moved in zip(blocks, way, strict=True):
            order[shape.table] = moved
        batch.append(order)
        if len(batch) == step:
            yield np.array(batch)
            batch = []
    if batch:
        yield np.array(batch)
