"""Aspect buckets: sizes of about the same area, so that pictures are trained on in their own shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

WIDEST = 2.0
"""The longest side by the shortest, at most."""


@cache
def buckets(size: int, step: int) -> tuple[tuple[int, int], ...]:
    """Widths and heights, multiples of `step`, that have about size x size pixels but never more.

    >>> buckets(1024, 64)[0], len(buckets(1024, 64))
    ((768, 1344), 9)
    """
    area, found = size * size, set()
    for width in range(step, 2 * size + 1, step):
        height = area // width // step * step
        if height and 1 / WIDEST <= width / height <= WIDEST:
            found.add((width, height))
    return tuple(sorted(found)) or ((step, step),)


def bucket(width: int, height: int, size: int, step: int) -> tuple[int, int]:
    """The bucket whose shape is nearest to the picture's; the larger of two alike.

    >>> bucket(1600, 900, 1024, 64)
    (1344, 768)
    """
    aspect = width / height
    return min(buckets(size, step), key=lambda one: (abs(_ratio(one[0] / one[1], aspect)), -one[0] * one[1]))


def _ratio(one: float, other: float) -> float:
    return max(one / other, other / one) - 1


def order(groups: Sequence[tuple[int, int]], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """Which samples go together in one epoch, in an order of its own: batches of one bucket each.

    Args:
        groups: The bucket of each sample.
        batch: Samples in a batch; the last of a bucket may be filled up with its first.
        seed: Another one gives another order.
        epoch: So does another epoch.
    """
    import random

    dice = random.Random(f"{seed}/{epoch}")
    by_bucket: dict[tuple[int, int], list[int]] = {}
    for place, group in enumerate(groups):
        by_bucket.setdefault(group, []).append(place)
    found = []
    for members in by_bucket.values():
        dice.shuffle(members)
        filled = members + (members * batch)[: -len(members) % batch]
        found += [filled[start : start + batch] for start in range(0, len(filled), batch)]
    dice.shuffle(found)
    return found
