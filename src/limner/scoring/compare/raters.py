"""Judges as raters: every judge in every way it was asked, with what its marks cost and how steady they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...core.evaluator import Evaluator, by_evaluator
from ...core.protocol import Protocol
from .. import Entry, Group
from ..parts import shares
from ..stats import Flips, Measure, flips

Unit = tuple[str, int]
"""A drawing and the number of the repeat: what two raters must share to be compared on it."""


@dataclass(frozen=True)
class Rater:
    """One evaluator and everything it marked.

    Attributes:
        groups: One per painter.
        took: Call -> the seconds it took.
    """

    evaluator: Evaluator
    groups: tuple[Group, ...]
    protocol: Protocol[Any]
    took: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The evaluator's label: tells it from all others that marked this exam."""
        return self.evaluator.name

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every drawing whose marks count, in an order of their own."""
        by_name = sorted(self.groups, key=lambda group: (group.painter, group.strategy))
        return tuple(entry for group in by_name for entry in group.scored)

    @cached_property
    def marks(self) -> dict[Unit, dict[str, float]]:
        """What was decided of each drawing in each repeat: criterion -> share of its best value."""
        return {unit(entry): shares(entry, self.protocol) for entry in self.entries}

    @cached_property
    def clusters(self) -> dict[str, str]:
        """Drawing -> the cluster its question belongs to."""
        return {entry.drawing.id: self.protocol.cluster(entry.question) for entry in self.entries}

    @cached_property
    def flips(self) -> Flips:
        """How often repeats of the same marking differ."""
        given: dict[tuple[str, str], list[float]] = {}
        for (drawing, _), marks in self.marks.items():
            for criterion, value in marks.items():
                given.setdefault((drawing, criterion), []).append(value)
        return flips((self.clusters[drawing], values) for (drawing, _), values in given.items())

    @property
    def cost(self) -> Measure:
        """Dollars for one image marked once, failed tries included."""
        costs = [entry.marking.cost for group in self.groups for entry in group.entries if entry.marking]
        if None in costs:
            return Measure(None, len(costs), f"the cost of {costs.count(None)} of {len(costs)} markings is not known")
        return _mean([cost for cost in costs if cost is not None])

    @property
    def seconds(self) -> Measure:
        """Seconds that the calls for one image took; marks that were brought in have none."""
        own = [entry.marking for entry in self.entries if entry.marking and entry.marking.origin == "run"]
        return _mean([sum(self.took.get(key, 0.0) for _, key in marking.replies) for marking in own if marking.replies])

    def to_json(self) -> dict[str, Any]:
        """What is known of this rater alone."""
        body: dict[str, Any] = {
            "name": self.name,
            "judge": self.evaluator.judge,
            "setup": dict(self.evaluator.setup),
        }
        body |= {"drawings": len(self.clusters), "markings": len(self.entries), "flips": self.flips.to_json()}
        return body | {"cost_per_image": self.cost.to_json(), "seconds_per_image": self.seconds.to_json()}


def _mean(numbers: Sequence[float]) -> Measure:
    if not numbers:
        return Measure(None, 0, "nothing was measured")
    return Measure(sum(sorted(numbers)) / len(numbers), len(numbers))


def unit(entry: Entry) -> Unit:
    """The drawing and the repeat that an entry is about."""
    return entry.drawing.id, entry.marking.repeat if entry.marking else 0


def raters(groups: Sequence[Group], protocol: Protocol[Any], took: Mapping[str, float] | None = None) -> list[Rater]:
    """Every evaluator, in their order."""
    sides = by_evaluator(groups)
    found = [Rater(members[0].evaluator, tuple(members), protocol, took or {}) for members in sides]
    return sorted(found, key=lambda rater: rater.evaluator.order)
