"""Item statistics: which criteria separate painters, which no painter meets, and on which judges differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import floor, fsum
from statistics import fmean
from typing import Any

import numpy as np

from ..core.evaluator import Evaluator, group_by_evaluator
from ..core.protocol import Protocol
from .comparable import Comparable, On, comparable
from .entries import Entry, Group
from .numbers import shares
from .stats import MIN_CLUSTERS, Interval, Measure, pearson, wilson
from .stats.resample import NEAR, Plain

FLAGS = {
    "never": "no painter meets it",
    "always": "no painter misses it",
    "negative": "painters that are weak elsewhere meet it more often",
    "disputed": "judges differ on it",
}
"""The flags of items that deserve a look, with their meaning."""
DISPUTED = 0.25
"""The share of differing pairs of judges above which a criterion is disputed."""
_SLASH = "\x1f"


@dataclass(frozen=True)
class ItemRow(Plain):
    """A question (without a criterion) or one of its criteria, under one evaluator.

    Attributes:
        right: The mean share of the best value over painters, with an interval if there are at least five painters.
        item_total: The correlation with the rest of the exam, without the item itself.
        discrimination: The mean of the upper group minus the mean of the lower group.
        differ: The share of pairs of judges that differ, over drawings that several decided; without a value for
            questions.
    """

    question: str
    criterion: str | None
    text: str
    right: Interval
    item_total: Measure
    discrimination: Measure
    differ: Measure
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class ItemStatistics:
    """All items of an exam under one evaluator.

    Attributes:
        painters: The painters that the numbers are based on, best first by their mean over the complete items.
        undecided: The number of criteria that the judge decided for no painter.
    """

    evaluator: Evaluator
    painters: tuple[str, ...]
    questions: tuple[ItemRow, ...]
    criteria: tuple[ItemRow, ...]
    undecided: int
    notes: tuple[str, ...] = ()
    groups: tuple[Group, ...] = field(default=(), repr=False)

    @property
    def flagged(self) -> list[ItemRow]:
        """The flagged items, sorted by flag."""
        rows = [row for row in (*self.questions, *self.criteria) if row.flags]
        return sorted(rows, key=lambda row: [list(FLAGS).index(flag) for flag in row.flags])

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        size = group_size(len(self.painters)) if self.painters else 0
        return {
            "judge": self.evaluator.name,
            "painters": list(self.painters),
            "groups": {"share": GROUP, "painters": size},
            "undecided": self.undecided,
            "notes": list(self.notes),
            "questions": [row.to_json() for row in self.questions],
            "criteria": [row.to_json() for row in self.criteria],
        }


def item_statistics(groups: Sequence[Group], protocol: Protocol[Any], on: On = "common") -> list[ItemStatistics]:
    """Return the statistics under each evaluator, in order; controls count only if there are no other painters."""
    disputes = criterion_disagreements(groups, protocol)
    sides = sorted(group_by_evaluator(groups), key=lambda members: members[0].evaluator.order)
    return [_of_one(comparable(_rivals(members), protocol, on), protocol, disputes) for members in sides]


def _rivals(members: Sequence[Group]) -> Sequence[Group]:
    return [group for group in members if not group.control and group.scored] or members


def _of_one(side: Comparable, protocol: Protocol[Any], disputes: dict[tuple[str, str], Measure]) -> ItemStatistics:
    table, texts, home = _table(side, protocol)
    best = table.rest(())
    painters = tuple(sorted(table.painters, key=lambda name: (-best.get(name, 0.0), name)))
    criteria, questions = [], []
    for item in texts:
        question, criterion = item.split(_SLASH)
        if given := table.values.get(item):
            differ = disputes.get((question, criterion), _alone())
            criteria.append(_row(question, criterion, texts[item], given, table.rest([item]), differ))
    for question, (text, items) in home.items():
        own = [item for item in items if item in table.complete]
        if own:
            given = {one: fmean(table.values[item][one] for item in own) for one in table.painters}
            questions.append(_row(question, None, text, given, table.rest(own), _alone()))
    decided = sum(item in table.values for item in texts)
    return ItemStatistics(
        side.evaluator, painters, tuple(questions), tuple(criteria), len(texts) - decided, tuple(side.notes),
        side.groups,
    )  # fmt: skip


def _alone() -> Measure:
    return Measure(None, 0, "no drawing that two judges decided")


def _table(
    side: Comparable, protocol: Protocol[Any]
) -> tuple[ItemTable, dict[str, str], dict[str, tuple[str, list[str]]]]:
    """Return painters' values averaged over repeats, the criteria's texts, and the questions' prompts and criteria."""
    given: dict[str, dict[str, list[float]]] = {}
    texts: dict[str, str] = {}
    home: dict[str, tuple[str, list[str]]] = {}
    for group in side.groups:
        for entry in side.basis(group):
            question = entry.question
            if question.id not in home:
                criteria = {f"{question.id}{_SLASH}{one.id}": one.text for one in protocol.criteria(question)}
                texts |= criteria
                home[question.id] = (question.prompt, list(criteria))
            for criterion, share in shares(entry, protocol).items():
                item = f"{question.id}{_SLASH}{criterion}"
                given.setdefault(item, {}).setdefault(group.name, []).append(share)
    values = {item: {name: fmean(some) for name, some in by.items()} for item, by in given.items()}
    return ItemTable(values), dict(sorted(texts.items())), dict(sorted(home.items()))


def _row(question: str, criterion: str | None, text: str, given: Values, rest: Values, differ: Measure) -> ItemRow:
    n, mean = len(given), fmean(given.values())
    whole = wilson(min(n * mean, n), n)
    right = Interval(mean, *((whole.low, whole.high) if n >= MIN_CLUSTERS else (None, None)), n)
    going, telling = item_total(given, rest), discrimination(given, rest)
    flags = []
    if n >= MIN_PAINTERS and mean <= NEAR:
        flags.append("never")
    if n >= MIN_PAINTERS and mean >= 1 - NEAR:
        flags.append("always")
    if going.value is not None and going.value < 0 and n >= MIN_CLUSTERS:
        flags.append("negative")
    if differ.value is not None and differ.value > DISPUTED and differ.n >= MIN_PAINTERS:
        flags.append("disputed")
    return ItemRow(question, criterion, text, right, going, telling, differ, tuple(flags))


def criterion_disagreements(groups: Iterable[Group], protocol: Protocol[Any]) -> dict[tuple[str, str], Measure]:
    """Return question and criterion -> the mean share of pairs of judges that differ, over drawings several decided."""
    given: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = {}
    for group in groups:
        for entry in group.scored:
            for criterion, share in shares(entry, protocol).items():
                drawings = given.setdefault((entry.question.id, criterion), {})
                drawings.setdefault(entry.drawing.id, {}).setdefault(group.evaluator.id, []).append(share)
    by_item = {}
    for key, drawings in given.items():
        each = []
        for judges in drawings.values():
            means = [fmean(some) for some in judges.values()]
            if len(means) > 1:
                pairs = list(combinations(means, 2))
                each.append(sum(abs(one - other) > NEAR for one, other in pairs) / len(pairs))
        if each:
            by_item[key] = Measure(fmean(each), len(each))
    return by_item


def entry_of(group: Group, question: str) -> Entry | None:
    """Return a painter's first scored drawing of a question."""
    return next((entry for entry in group.scored if entry.question.id == question), None)


Values = Mapping[str, float]
"""Painter -> its value of the item."""
GROUP = 0.27
"""The share of painters in the upper and in the lower group, each of at least one painter."""
MIN_PAINTERS = 3
"""The minimum number of painters; with fewer, the correlation of an item with the rest is mere chance."""


@dataclass(frozen=True)
class ItemTable:
    """The items of one evaluator: item -> painter -> value, without undecided ones."""

    values: Mapping[str, Values]

    @cached_property
    def painters(self) -> frozenset[str]:
        """The painters that have a value for any item."""
        return frozenset(painter for given in self.values.values() for painter in given)

    @cached_property
    def complete(self) -> frozenset[str]:
        """The items that are decided for all painters; only these make up the rest of the exam."""
        return frozenset(item for item, given in self.values.items() if given.keys() == self.painters)

    @cached_property
    def _totals(self) -> dict[str, float]:
        return {one: fsum(self.values[item][one] for item in self.complete) for one in sorted(self.painters)}

    def rest(self, left_out: Collection[str]) -> dict[str, float]:
        """Return painter -> its mean over the complete items except these; empty if no item is left."""
        out = self.complete.intersection(left_out)
        count = len(self.complete) - len(out)
        if not count:
            return {}
        return {one: (whole - fsum(self.values[i][one] for i in out)) / count for one, whole in self._totals.items()}


def item_total(item: Values, rest: Values) -> Measure:
    """Return the correlation of an item with the rest of the exam; for a yes-or-no item, it is point-biserial.

    >>> found = item_total({"a": 1, "b": 1, "c": 0, "d": 0}, {"a": 0.9, "b": 0.7, "c": 0.5, "d": 0.1})
    >>> round(found.value, 4), found.n
    (0.8452, 4)
    >>> item_total({"a": 1, "b": 1, "c": 1}, {"a": 0.9, "b": 0.7, "c": 0.5}).reason
    'all painters have the same of it'
    """
    both = sorted((item[one], rest[one]) for one in item.keys() & rest.keys())
    if (why := _undefined(both)) is not None:
        return Measure(None, len(both), why)
    x, y = np.array(both).T
    return Measure(float(pearson(x, y)[0]), len(both))


def discrimination(item: Values, rest: Values) -> Measure:
    """Return the mean of the upper group minus that of the lower, grouped by the rest of the exam; see `GROUP`.

    Painters that are tied at the end of a group share its last places.

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
    """Return the number of painters in the upper and in the lower group.

    >>> [group_size(n) for n in (3, 4, 9, 20)]
    [1, 1, 2, 5]
    """
    return max(1, floor(GROUP * painters + 0.5))


def _group(both: list[tuple[float, float]], size: int, sign: float) -> float:
    """Return the mean of the item in the group with the highest rest; with a sign of -1, in that with the lowest."""
    ends = sorted((sign * rest for _, rest in both), reverse=True)
    edge = ends[size - 1]
    inside = [value for value, rest in both if sign * rest > edge + NEAR]
    tied = [value for value, rest in both if abs(sign * rest - edge) <= NEAR]
    return (fsum(inside) + (size - len(inside)) * fsum(tied) / len(tied)) / size


def _undefined(both: list[tuple[float, float]], of_item: bool = True) -> str | None:
    """Return why there is no number; with `of_item`, also if the item is the same for all painters."""
    if len(both) < MIN_PAINTERS:
        return f"fewer than {MIN_PAINTERS} painters"
    if of_item and _same([value for value, _ in both]):
        return "all painters have the same of it"
    return "all painters have the same of the rest" if _same([rest for _, rest in both]) else None


def _same(values: list[float]) -> bool:
    return max(values) - min(values) <= NEAR
