"""Seeded samples with known probabilities: stratified, by cells of crossed tags, or weighted."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..core.exam import sample_stratified
from .design import SampleDesign

T = TypeVar("T")
ALL = "all"
"""The stratum of a sample without strata."""


@dataclass(frozen=True)
class Sampled(Generic[T]):
    """A sampled item with its stratum and probability."""

    item: T
    stratum: str
    probability: float


def sample(
    items: Sequence[T],
    design: SampleDesign,
    name: Callable[[T], str],
    tags: Callable[[T], Mapping[str, str]],
    sizes: Mapping[str, float] | None = None,
) -> list[Sampled[T]]:
    """Return a sample of the items, in their order.

    Args:
        items: The population.
        design: The size of the sample, its tags and its seed.
        name: Returns an item's name. Names and seed determine the sample; the order of the items does not matter.
        tags: Returns an item's tags.
        sizes: For a sample by disagreement: name -> how much judges disagree, from 0 to 1.
    """
    cells: dict[str, list[T]] = {}
    for item in items:
        cells.setdefault(cell_name(tags(item), design.cross), []).append(item)
    sampled: dict[str, Sampled[T]] = {}
    for cell, inside in cells.items():
        n = design.each if design.each is not None else design.size or 0
        if sizes is None:
            taken = _random(inside, n, design, name, tags, cell)
        else:
            chances = probabilities({name(item): design.least + sizes[name(item)] for item in inside}, n)
            by_name = {name(item): item for item in inside}
            names = systematic(chances, f"{design.seed}\n{cell}")
            taken = [Sampled(by_name[each], cell, chances[each]) for each in names]
        sampled |= {name(each.item): each for each in taken}
    return [sampled[name(item)] for item in items if name(item) in sampled]


def cell_name(tags: Mapping[str, str], cross: Sequence[str]) -> str:
    """Return the name of the cell of an item with these tags.

    >>> cell_name({"level": "PhD", "discipline": "Music"}, ["level", "discipline"])
    'PhD / Music'
    """
    return " / ".join(tags.get(tag, "") for tag in cross) or ALL


def _random(
    items: Sequence[T],
    n: int,
    design: SampleDesign,
    name: Callable[[T], str],
    tags: Callable[[T], Mapping[str, str]],
    cell: str,
) -> list[Sampled[T]]:
    strata = [_value_of(tags, tag) for tag in design.strata]
    taken = sample_stratified(items, n, design.seed, strata, name)

    def stratum(item: T) -> str:
        return cell_name(tags(item), design.strata) if design.strata else cell

    whole, got = _counts(items, stratum), _counts(taken, stratum)
    return [Sampled(item, stratum(item), got[stratum(item)] / whole[stratum(item)]) for item in taken]


def _value_of(tags: Callable[[T], Mapping[str, str]], tag: str) -> Callable[[T], str]:
    return lambda item: tags(item).get(tag, "")


def _counts(items: Sequence[T], group: Callable[[T], str]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for item in items:
        counts[group(item)] = counts.get(group(item), 0) + 1
    return counts


def probabilities(sizes: Mapping[str, float], n: int) -> dict[str, float]:
    """Return the inclusion probabilities for a sample of n, in proportion to size, each at most 1.

    >>> probabilities({"a": 1.0, "b": 1.0, "c": 6.0}, 2)
    {'a': 0.5, 'b': 0.5, 'c': 1.0}
    """
    certain: set[str] = set()
    while True:
        rest = {name: size for name, size in sizes.items() if name not in certain}
        left, whole = n - len(certain), sum(rest.values())
        if left >= len(rest):
            return dict.fromkeys(sizes, 1.0)
        chances = {name: left * size / whole for name, size in rest.items()}
        over = {name for name, chance in chances.items() if chance >= 1}
        if not over:
            return {name: 1.0 if name in certain else chances[name] for name in sizes}
        certain |= over


def systematic(chances: Mapping[str, float], seed: str) -> list[str]:
    """Return a systematic sample in which each name has exactly its probability.

    The names, in an order shuffled by the seed, are laid end to end, and one is taken at every whole step.
    """
    order = sorted(chances, key=lambda name: hashlib.sha256(f"{seed}\n{name}".encode()).digest())
    step = random.Random(f"{seed}\nstart").random()
    taken, end = list[str](), 0.0
    for name in order:
        end += chances[name]
        # Rounding errors of the sum must not decide.
        if end > step + 1e-9 or chances[name] >= 1:
            taken.append(name)
            step += 1
    return taken
