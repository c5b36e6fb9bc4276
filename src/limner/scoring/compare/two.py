"""Two markings of the same questions held against each other: two seeds of a painter, or two evaluators of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ...core.protocol import Protocol
from ..parts import MET, MetTable, RowParts, deriving, gathered, met_of, tops, values_of
from ..stats import Interval, Parts, difference_interval


@dataclass(frozen=True)
class MarkedSide:
    """One of the two.

    Attributes:
        rows: What every marking adds to the numbers.
        met: The share of every criterion that each marking gave.
        abstained: Whether some mark is left open: a score that is settled for some rows only is then no score.
    """

    rows: tuple[RowParts, ...]
    met: MetTable
    abstained: bool = False

    def on(self, places: frozenset[tuple[str, str]]) -> MarkedSide:
        """The same on these questions (and clusters) alone."""
        rows = tuple(row for row in self.rows if (row.question, row.cluster) in places)
        met = {key: shares for key, shares in self.met.items() if (key[1], key[0]) in places}
        return MarkedSide(rows, met, self.abstained)

    @property
    def places(self) -> frozenset[tuple[str, str]]:
        """Its questions, with the clusters they are in."""
        return frozenset((row.question, row.cluster) for row in self.rows)

    @property
    def parts(self) -> Parts:
        """What its numbers are made of."""
        parts, settled = gathered(self.rows)
        if self.abstained:
            return {name: part for name, part in parts.items() if settled[name] == len(self.rows)}
        return parts


@dataclass(frozen=True)
class Gap:
    """A number of both on the questions both have, and the first one's less the second's with its interval."""

    one: float
    other: float
    difference: Interval


def differences(one: MarkedSide, other: MarkedSide, protocol: Protocol[Any], names: Iterable[str]) -> dict[str, Gap]:
    """The numbers that both know, and how far apart the two are in them, on the questions both have.

    The interval is that of painters who are compared; see `limner.scoring.stats.paired`. `MET` is over the criteria
    that both decided.
    """
    common = one.places & other.places
    first, second = one.on(common), other.on(common)
    met = met_of([first.met, second.met], {cluster for _, cluster in common})
    sides = [{**side.parts, **more} for side, more in zip((first, second), met, strict=True)]
    known = [values_of(parts, protocol) for parts in sides]
    best, derive = tops(protocol), deriving(protocol)
    return {
        name: Gap(
            known[0][name],
            known[1][name],
            difference_interval(sides[0], sides[1], name, derive, top=best.get(name)),
        )
        for name in (*names, MET.name)
        if name in known[0] and name in known[1]
    }
