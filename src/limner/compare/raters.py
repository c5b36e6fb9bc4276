"""Judges as raters: every judge in every way it was asked, with what its marks cost and how steady they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..calls import canonical, digest
from ..protocol import Protocol
from ..scoring import Entry, Group
from ..stats import Flips, Measure, flips
from .fields import in_order, shares

Unit = tuple[str, int]
"""A drawing and the number of the repeat: what two raters must share to be compared on it."""


@dataclass(frozen=True)
class Rater:
    """One judge, asked in one way, and everything it marked.

    Attributes:
        name: The judge's name, with what sets this way of asking apart where it was asked in several.
        groups: One per painter.
        took: Call -> the seconds it took.
    """

    name: str
    judge: str
    setup: Mapping[str, Any]
    groups: tuple[Group, ...]
    protocol: Protocol[Any]
    took: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """Every drawing whose marks count, in an order of their own."""
        by_name = sorted(self.groups, key=lambda group: (group.painter, group.strategy))
        return tuple(entry for group in by_name for entry in in_order(e for e in group.entries if e.scored))

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
        body: dict[str, Any] = {"name": self.name, "judge": self.judge, "setup": dict(self.setup)}
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
    """Every judge in every way it was asked, in the order of their names."""
    ways: dict[str, list[Group]] = {}
    for group in groups:
        ways.setdefault(digest(group.setup), []).append(group)
    setups: dict[str, list[Mapping[str, Any]]] = {}
    for members in ways.values():
        setups.setdefault(members[0].judge, []).append(members[0].setup)
    found = []
    for members in ways.values():
        judge, setup = members[0].judge, members[0].setup
        apart = told_apart(setup, setups[judge])
        name = f"{judge} · {apart}" if apart else judge
        found.append(Rater(name, judge, setup, tuple(members), protocol, took or {}))
    return sorted(found, key=lambda rater: (rater.name, canonical(rater.setup)))


def told_apart(setup: Mapping[str, Any], among: Sequence[Mapping[str, Any]]) -> str:
    """What sets one way of asking apart from others of the same judge, in few words.

    >>> told_apart({"variant": "batched", "args": {}}, [{"variant": "single", "args": {}}, {"variant": "batched"}])
    'batched'
    >>> told_apart({"options": {"reference": "none"}}, [{"options": {"reference": "image"}}, {}])
    'reference=none'
    """
    keys = sorted({key for each in among for key in each})
    # The hash of the wording always goes with the variant; it tells nothing where the variant tells it already.
    keys = [key for key in keys if len({canonical(each.get(key) or None) for each in among}) > 1]
    if "variant" in keys and len({str(each.get("variant")) for each in among}) == len(among):
        keys = ["variant"]
    words = []
    for key in keys:
        value = setup.get(key)
        if isinstance(value, Mapping):
            words += [f"{name}={item}" for name, item in sorted(value.items())]
        elif value:
            words.append(str(value) if key == "variant" else f"{key} {value}")
    return " ".join(words)
