"""Places: which rater sees which items, in a balanced order and under names that reveal nothing."""

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

MAX_ORDERS = 24
"""The most orders of an item's drawings that are tried."""
CHECK_VALUES = 5
"""The highest number that an attention check asks for."""


@dataclass(frozen=True)
class StudyPlace:
    """One thing for a rater to answer: an item, or an attention check.

    Attributes:
        item: The item's number; negative for a check.
        repeat: How often the item was shown before.
        order: The order of the drawings: the first number is the index of the drawing shown first.
        names: The names of the pictures, in the order shown, unique to this rater.
        check: The expected answer of a check.
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
        """Return the place from a mapping made by `to_json`."""
        return cls(**{**body, "order": tuple(body["order"]), "names": tuple(body["names"])})


def assign(items: Sequence[int], raters: Sequence[str], each: int, seed: int) -> dict[str, list[int]]:
    """Assign items to raters: every item to `each` raters, with loads and overlaps as even as possible.

    >>> {rater: len(given) for rater, given in assign(range(1, 7), ["a", "b", "c"], 2, 0).items()}
    {'a': 4, 'b': 4, 'c': 4}
    """
    chance = random.Random(f"{seed}\nassign")
    loads, together = Counter(dict.fromkeys(raters, 0)), Counter[frozenset[str]]()
    assigned: dict[str, list[int]] = {rater: [] for rater in raters}
    for item in chance.sample(list(items), len(items)):
        chosen: list[str] = []
        while len(chosen) < min(each, len(raters)):
            free = [rater for rater in raters if rater not in chosen]
            met = {rater: sum(together[frozenset((rater, other))] for other in chosen) for rater in free}
            chosen.append(min(free, key=lambda rater: (loads[rater], met[rater], chance.random())))
        for rater in chosen:
            loads[rater] += 1
            assigned[rater].append(item)
        together.update(frozenset(pair) for pair in combinations(chosen, 2))
    return assigned


def plan_places(
    items: Sequence[StudyItem],
    painters: Mapping[str, str],
    raters: Sequence[str],
    each: int,
    quality: QualityDesign,
    seed: int,
) -> dict[str, list[StudyPlace]]:
    """Return every rater's places in order.

    Args:
        items: The items of the study.
        painters: Drawing -> its painter's row; rows are balanced within an item and over a rater's session.
        raters: The raters' names.
        each: The number of raters of each item.
        quality: Repeats and attention checks.
        seed: The seed of the orders; names of pictures are always new.
    """
    by_number = {item.n: item for item in items}
    given = assign(list(by_number), raters, each, seed)
    positions = _Positions(painters, random.Random(f"{seed}\npositions"))
    plans = {}
    for rater in raters:
        chance = random.Random(f"{seed}\nrater\n{rater}")
        mine = _spread([by_number[n] for n in given[rater]], painters, chance)
        places = [StudyPlace(item.n, 0, positions.order(item, rater)) for item in mine]
        for place in _repeated(places, quality.repeats, chance):
            order = positions.order(by_number[place.item], rater)
            again = StudyPlace(place.item, 1, order)
            places.insert(chance.randint(max(places.index(place) + 1, len(places) * 2 // 3), len(places)), again)
        plans[rater] = [named_place(place) for place in _checked(places, quality.attention, chance)]
    return plans


class _Positions:
    """A chooser of orders of drawings that balances the positions in which painters are shown."""

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
        keys: list[tuple[Any, ...]] = []
        for position, index in enumerate(order):
            painter = self._painters[item.drawings[index]]
            keys += [("item", item.n, index, position), ("rater", rater, painter, position), (painter, position)]
        return keys

    def _cost(self, item: StudyItem, rater: str, order: Sequence[int]) -> int:
        # Balance first over one item's raters, then over one rater's items, then over everything.
        weights = {"item": 100, "rater": 10}
        return sum(self._seen[key] * weights.get(str(key[0]), 1) for key in self._keys(item, rater, order))


def _some_orders(size: int, chance: random.Random) -> list[tuple[int, ...]]:
    return [tuple(chance.sample(range(size), size)) for _ in range(MAX_ORDERS)]


def _spread(items: Sequence[StudyItem], painters: Mapping[str, str], chance: random.Random) -> list[StudyItem]:
    """Shuffle items so that each painter's drawings are spread evenly over the session."""
    rows: dict[tuple[str, ...], list[StudyItem]] = {}
    for item in items:
        rows.setdefault(tuple(sorted(painters[drawing] for drawing in item.drawings)), []).append(item)
    keyed = []
    for row in rows.values():
        shuffled = chance.sample(row, len(row))
        keyed += [((place + chance.random()) / len(row), item) for place, item in enumerate(shuffled)]
    return [item for _, item in sorted(keyed, key=lambda pair: (pair[0], pair[1].n))]


def _repeated(places: Sequence[StudyPlace], share: float, chance: random.Random) -> list[StudyPlace]:
    """Choose the places that are repeated: from the first two thirds, so that time passes in between."""
    early = places[: max(1, len(places) * 2 // 3)]
    wanted = round(share * len(places)) or int(share > 0 and len(places) > 1)
    return chance.sample(list(early), min(wanted, len(early))) if wanted else []


def _checked(places: Sequence[StudyPlace], every: int, chance: random.Random) -> list[StudyPlace]:
    """Insert an attention check into every block of places."""
    if not every:
        return list(places)
    checked, number = list[StudyPlace](), 0
    for start in range(0, len(places), every):
        block = list(places[start : start + every])
        if len(block) == every or start == 0:
            number += 1
            block.insert(
                chance.randint(1, len(block)), StudyPlace(-number, check=chance.randint(1, CHECK_VALUES), order=())
            )
        checked += block
    return checked


def named_place(place: StudyPlace) -> StudyPlace:
    """Return the place with unguessable names for its pictures."""
    return StudyPlace(
        place.item, place.repeat, place.order, tuple(secrets.token_hex(12) for _ in place.order), place.check
    )
