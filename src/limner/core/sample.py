"""Some of an exam's questions, in the proportions of all: seeded, and spread over the exam's own breakdowns. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


def shares(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many of each group to take for n of all: in proportion, by the largest remainder, the larger group of equals.

    >>> shares({"biology": 6, "physics": 3, "music": 1}, 4)
    {'biology': 3, 'physics': 1, 'music': 0}
    """
    whole = sum(sizes.values())
    n = min(n, whole)
    parts = {name: divmod(size * n, whole) if whole else (0, 0) for name, size in sizes.items()}
    found = {name: part for name, (part, _) in parts.items()}
    order = sorted(sizes, key=lambda name: (-parts[name][1], -sizes[name], name))
    for name in order[: n - sum(found.values())]:
        found[name] += 1
    return found


def stratified(
    items: Sequence[T], n: int, seed: int, strata: Sequence[Callable[[T], str]], name: Callable[[T], str]
) -> list[T]:
    """n of the items, in their order, or all where there are no more.

    Args:
        items: What is chosen from.
        n: How many.
        seed: Another one chooses others.
        strata: Groups to spread the choice over: by the first, within its groups by the next, and so on.
        name: What an item is called. By this and the seed it is chosen, whatever order the items come in.
    """
    chosen = {name(item) for item in _chosen(items, n, seed, strata, name)}
    return [item for item in items if name(item) in chosen]


def _chosen(
    items: Sequence[T], n: int, seed: int, strata: Sequence[Callable[[T], str]], name: Callable[[T], str]
) -> list[T]:
    if n <= 0:
        return []
    if not strata or n >= len(items):
        return sorted(items, key=lambda item: hashlib.sha256(f"{seed}\n{name(item)}".encode()).digest())[:n]
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(strata[0](item), []).append(item)
    taken = shares({group: len(found) for group, found in groups.items()}, n)
    return [item for group in groups for item in _chosen(groups[group], taken[group], seed, strata[1:], name)]
