"""Item statistics: how an item goes with the rest of the exam, and whether it tells strong painters from weak ones.

An item is a criterion or a question, an examinee is a painter. Values are shares of the best, 0 to 1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import floor, fsum, sqrt

from .types import NEAR, Measure

Values = Mapping[str, float]
"""Painter -> what it has of the item."""
GROUP = 0.27
"""Upper and lower group each have this share of the painters, at least one."""
LEAST_PAINTERS = 3
"""Under so many painters an item goes with the rest, or against it, by chance alone."""


@dataclass(frozen=True)
class ItemTable:
    """All items of one evaluator: item -> painter -> value. What was not decided is not there."""

    values: Mapping[str, Values]

    @cached_property
    def painters(self) -> frozenset[str]:
        """Everyone who has some item."""
        return frozenset(painter for given in self.values.values() for painter in given)

    @cached_property
    def complete(self) -> frozenset[str]:
        """Items that are decided for all painters; the rest of the exam is made of these alone."""
        return frozenset(item for item, given in self.values.items() if given.keys() == self.painters)

    @cached_property
    def _totals(self) -> dict[str, float]:
        return {one: fsum(self.values[item][one] for item in self.complete) for one in sorted(self.painters)}

    def rest(self, left_out: Collection[str]) -> dict[str, float]:
        """Painter -> its mean over the complete items without these; empty where none is left."""
        out = self.complete.intersection(left_out)
        count = len(self.complete) - len(out)
        if not count:
            return {}
        return {one: (whole - fsum(self.values[i][one] for i in out)) / count for one, whole in self._totals.items()}


def item_total(item: Values, rest: Values) -> Measure:
    """The correlation of an item with the rest of the exam: the point-biserial one where the item is yes or no.

    >>> found = item_total({"a": 1, "b": 1, "c": 0, "d": 0}, {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.1})
    >>> round(found.value, 4), found.n
    (0.8452, 4)
    >>> item_total({"a": 1, "b": 1, "c": 1}, {"a": 0.9, "b": 0.7, "c": 0.5}).reason
    'all painters have the same of it'
    """
    both = sorted((item[one], rest[one]) for one in item.keys() & rest.keys())
    if (why := _undefined(both)) is not None:
        return Measure(None, len(both), why)
    n = len(both)
    x, y = [a for a, _ in both], [b for _, b in both]
    mean_x, mean_y = fsum(x) / n, fsum(y) / n
    with_x = fsum((a - mean_x) ** 2 for a in x)
    with_y = fsum((b - mean_y) ** 2 for b in y)
    value = fsum((a - mean_x) * (b - mean_y) for a, b in both) / sqrt(with_x * with_y)
    return Measure(max(-1.0, min(1.0, value)), n)


def discrimination(item: Values, rest: Values) -> Measure:
    """The mean of the upper group less that of the lower, grouped by the rest of the exam; see `GROUP`.

    Painters that are tied where a group ends share its last places.

    >>> discrimination({"a": 1, "b": 1, "c": 0, "d": 0}, {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.1}).value
    1.0
    """
    both = sorted((item[one], rest[one]) for one in item.keys() & rest.keys())
    if (why := _undefined(both, of_item=False)) is not None:
        return Measure(None, len(both), why)
    size = group_size(len(both))
    upper = _group(both, size, 1.0)
    return Measure(max(-1.0, min(1.0, upper - _group(both, size, -1.0))), len(both))


def group_size(painters: int) -> int:
    """How many painters the upper and the lower group have.

    >>> [group_size(n) for n in (3, 4, 9, 20)]
    [1, 1, 2, 5]
    """
    return max(1, floor(GROUP * painters + 0.5))


def _group(both: list[tuple[float, float]], size: int, sign: float) -> float:
    """The mean of the item in the group with the highest rest, or with a sign of -1 the lowest."""
    ends = sorted((sign * rest for _, rest in both), reverse=True)
    edge = ends[size - 1]
    inside = [value for value, rest in both if sign * rest > edge + NEAR]
    tied = [value for value, rest in both if abs(sign * rest - edge) <= NEAR]
    return (fsum(inside) + (size - len(inside)) * fsum(tied) / len(tied)) / size


def _undefined(both: list[tuple[float, float]], of_item: bool = True) -> str | None:
    """Why there is no number; with `of_item`, where the item is the same for all there is none either."""
    if len(both) < LEAST_PAINTERS:
        return f"fewer than {LEAST_PAINTERS} painters"
    if of_item and _same([value for value, _ in both]):
        return "all painters have the same of it"
    return "all painters have the same of the rest" if _same([rest for _, rest in both]) else None


def _same(values: list[float]) -> bool:
    return max(values) - min(values) <= NEAR
