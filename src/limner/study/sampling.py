"""Seeded samples of known probabilities, and places: which rater sees which items, in a balanced order."""

from __future__ import annotations

import hashlib
import random
import secrets
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

from ..core.exam import sample_stratified
from .design import CHECK_VALUES, QualityDesign, SampleDesign
from .records import StudyItem

ALL = "all"
"""The stratum of a sample without strata."""


@dataclass(frozen=True)
class Sampled:
    """The name of a sampled item, with its stratum and probability."""

    name: str
    stratum: str
    probability: float


def sample(
    tags: Mapping[str, Mapping[str, str]], design: SampleDesign, sizes: Mapping[str, float] | None = None
) -> list[Sampled]:
    """Return a sample of items, in their order.

    Args:
        tags: The population: the name of each item -> its tags. Names and seed determine the sample; the order of the
            items does not matter.
        design: The size of the sample, its tags and its seed.
        sizes: For a sample by disagreement: name -> how much judges disagree, from 0 to 1.
    """
    cells: dict[str, list[str]] = {}
    for name, own in tags.items():
        cells.setdefault(cell_name(own, design.cross), []).append(name)
    sampled: dict[str, Sampled] = {}
    for cell, names in cells.items():
        n = design.each if design.each is not None else design.size or 0
        if sizes is None:
            taken = _random(names, n, design, tags, cell)
        else:
            chances = probabilities({name: design.least + sizes[name] for name in names}, n)
            taken = [Sampled(name, cell, chances[name]) for name in systematic(chances, f"{design.seed}\n{cell}")]
        sampled |= {each.name: each for each in taken}
    return [sampled[name] for name in tags if name in sampled]


def cell_name(tags: Mapping[str, str], cross: Sequence[str]) -> str:
    """Return the name of the cell of an item with these tags.

    >>> cell_name({"level": "PhD", "discipline": "Music"}, ["level", "discipline"])
    'PhD / Music'
    """
    return " / ".join(tags.get(tag, "") for tag in cross) or ALL


def _random(
    names: Sequence[str], n: int, design: SampleDesign, tags: Mapping[str, Mapping[str, str]], cell: str
) -> list[Sampled]:
    taken = sample_stratified(names, n, design.seed, [_value_of(tags, tag) for tag in design.strata], str)
    stratum = {name: cell_name(tags[name], design.strata) if design.strata else cell for name in names}
    whole, got = Counter(stratum.values()), Counter(stratum[name] for name in taken)
    return [Sampled(name, stratum[name], got[stratum[name]] / whole[stratum[name]]) for name in taken]


def _value_of(tags: Mapping[str, Mapping[str, str]], tag: str) -> Callable[[str], str]:
    return lambda name: tags[name].get(tag, "")


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


MAX_ORDERS = 24
"""The most orders of an item's drawings that are tried."""


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
