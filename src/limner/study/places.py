"""Who rates what, in which order: overlap, positions and order are balanced; names tell nothing."""

from __future__ import annotations

import random
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

from .design import QualityDesign
from .records import StudyItem

MOST_ORDERS = 24
"""So many orders of the drawings of one item are tried."""
CHECK_VALUES = 5
"""An attention check asks for a number from 1 to this."""


@dataclass(frozen=True)
class StudyPlace:
    """One thing that a rater answers: an item, or an attention check.

    Attributes:
        item: The item's number; below 0, a check.
        repeat: Which time the item is shown, from 0.
        order: Where each drawing stands: the first number is the place among the item's drawings of the one shown
            first.
        names: What the pictures are called, in the order shown, for this rater alone.
        check: The number to be answered, where it is a check.
    """

    item: int
    repeat: int = 0
    order: tuple[int, ...] = (0,)
    names: tuple[str, ...] = field(default=(), compare=False)
    check: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return a plain mapping that `from_json` reads back."""
        return {**self.__dict__, "order": list(self.order), "names": list(self.names)}

    @classmethod
    def from_json(cls, body: Mapping[str, Any]) -> StudyPlace:
        """Return the place behind a mapping made by `to_json`."""
        return cls(**{**body, "order": tuple(body["order"]), "names": tuple(body["names"])})


def assign(items: Sequence[int], raters: Sequence[str], each: int, seed: int) -> dict[str, list[int]]:
    """Which items each rater gets: every item goes to `each` raters, loads and overlaps are as even as can be.

    >>> {rater: len(given) for rater, given in assign(range(1, 7), ["a", "b", "c"], 2, 0).items()}
    {'a': 4, 'b': 4, 'c': 4}
    """
    chance = random.Random(f"{seed}\nassign")
    loads, together = Counter(dict.fromkeys(raters, 0)), Counter[frozenset[str]]()
    found: dict[str, list[int]] = {rater: [] for rater in raters}
    for item in chance.sample(list(items), len(items)):
        chosen: list[str] = []
        while len(chosen) < min(each, len(raters)):
            free = [rater for rater in raters if rater not in chosen]
            met = {rater: sum(together[frozenset((rater, other))] for other in chosen) for rater in free}
            chosen.append(min(free, key=lambda rater: (loads[rater], met[rater], chance.random())))
        for rater in chosen:
            loads[rater] += 1
            found[rater].append(item)
        together.update(frozenset(pair) for pair in combinations(chosen, 2))
    return found


def plan_places(
    items: Sequence[StudyItem],
    painters: Mapping[str, str],
    raters: Sequence[str],
    each: int,
    quality: QualityDesign,
    seed: int,
) -> dict[str, list[StudyPlace]]:
    """Every rater's places in their order.

    Args:
        items: What the study shows.
        painters: Drawing -> its painter's row; within an item and over a rater's time they are balanced.
        raters: Who rates.
        each: How many rate each item.
        quality: Repeats and attention checks.
        seed: Another one gives other orders. Names of pictures are never the same.
    """
    by_number = {item.n: item for item in items}
    given = assign(list(by_number), raters, each, seed)
    positions = _Positions(painters, random.Random(f"{seed}\npositions"))
    found = {}
    for rater in raters:
        chance = random.Random(f"{seed}\nrater\n{rater}")
        mine = _spread([by_number[n] for n in given[rater]], painters, chance)
        places = [StudyPlace(item.n, 0, positions.order(item, rater)) for item in mine]
        for place in _repeated(places, quality.repeats, chance):
            order = positions.order(by_number[place.item], rater)
            again = StudyPlace(place.item, 1, order)
            places.insert(chance.randint(max(places.index(place) + 1, len(places) * 2 // 3), len(places)), again)
        found[rater] = [_named(place) for place in _checked(places, quality.attention, chance)]
    return found


class _Positions:
    """Chooses the order of an item's drawings: the one that evens out best who stood where."""

    def __init__(self, painters: Mapping[str, str], chance: random.Random) -> None:
        self._painters, self._chance = painters, chance
        self._seen = Counter[tuple[Any, ...]]()

    def order(self, item: StudyItem, rater: str) -> tuple[int, ...]:
        size = len(item.drawings)
        orders = list(permutations(range(size))) if size <= 4 else _some_orders(size, self._chance)
        best = min(orders, key=lambda order: (self._cost(item, rater, order), self._chance.random()))
        for key in self._keys(item, rater, best):
            self._seen[key] += 1
        return tuple(best)

    def _keys(self, item: StudyItem, rater: str, order: Sequence[int]) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for position, index in enumerate(order):
            painter = self._painters[item.drawings[index]]
            found += [("item", item.n, index, position), ("rater", rater, painter, position), (painter, position)]
        return found

    def _cost(self, item: StudyItem, rater: str, order: Sequence[int]) -> int:
        # What one item's raters see comes first, then what one rater sees, then all together.
        weights = {"item": 100, "rater": 10}
        return sum(self._seen[key] * weights.get(str(key[0]), 1) for key in self._keys(item, rater, order))


def _some_orders(size: int, chance: random.Random) -> list[tuple[int, ...]]:
    return [tuple(chance.sample(range(size), size)) for _ in range(MOST_ORDERS)]


def _spread(items: Sequence[StudyItem], painters: Mapping[str, str], chance: random.Random) -> list[StudyItem]:
    """Shuffled, with each painter's drawings spread evenly over the whole time."""
    rows: dict[tuple[str, ...], list[StudyItem]] = {}
    for item in items:
        rows.setdefault(tuple(sorted(painters[one] for one in item.drawings)), []).append(item)
    keyed = []
    for row in rows.values():
        shuffled = chance.sample(row, len(row))
        keyed += [((place + chance.random()) / len(row), item) for place, item in enumerate(shuffled)]
    return [item for _, item in sorted(keyed, key=lambda pair: (pair[0], pair[1].n))]


def _repeated(places: Sequence[StudyPlace], share: float, chance: random.Random) -> list[StudyPlace]:
    """Which places come a second time: some of the first two thirds, so that time passes in between."""
    early = places[: max(1, len(places) * 2 // 3)]
    wanted = round(share * len(places)) or int(share > 0 and len(places) > 1)
    return chance.sample(list(early), min(wanted, len(early))) if wanted else []


def _checked(places: Sequence[StudyPlace], every: int, chance: random.Random) -> list[StudyPlace]:
    """With an attention check somewhere in every so many places."""
    if not every:
        return list(places)
    found, number = list[StudyPlace](), 0
    for start in range(0, len(places), every):
        block = list(places[start : start + every])
        if len(block) == every or start == 0:
            number += 1
            block.insert(
                chance.randint(1, len(block)), StudyPlace(-number, check=chance.randint(1, CHECK_VALUES), order=())
            )
        found += block
    return found


def _named(place: StudyPlace) -> StudyPlace:
    """With names for its pictures that nobody can guess or link to anything."""
    return StudyPlace(
        place.item, place.repeat, place.order, tuple(secrets.token_hex(12) for _ in place.order), place.check
    )
