"""The data behind the comparison page: pairs of painters, of a painter's seeds, and of a painter's judges."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations
from math import isnan, nan
from sys import intern
from typing import Any

from ...core.protocol import Score
from ...scoring import MET, Comparable, Entry, Group
from ...scoring.compare.pairs import MarkedSide, differences, side_pairs
from ...scoring.compare.results import Comparison, Pair
from ...scoring.numbers import RowParts, make_derive, shares
from ...scoring.stats import Interval, difference_interval
from .chunks import Chunks
from .inventory import Inventory

MAX_TESTS = 200_000
"""The most pairs times questions for which pairs are tested; each takes about 50 µs."""
MAX_INTERVAL_ROWS = 45
"""The most rows for which every pair has an interval; a pair takes a few ms and 60 bytes per score."""
OWN = "own"
"""The score that is the percentage of criteria met, of those that one marking decided."""
MAX_SEEDS = 6
"""The most seeds of a painter that are compared with each other."""


def pair_tests(side: Comparable) -> int:
    """Return the number of pairs of painters times their questions: the cost of testing all pairs."""
    return len(side.groups) * (len(side.groups) - 1) // 2 * len(side.questions)


@dataclass
class _Kept:
    """The data kept of one painter under one judge.

    Attributes:
        values: Score -> seed (None for all seeds) -> the score of every question, or NaN.
        rows: Number of a drawing -> its markings' contributions to the scores, and the share of each criterion; kept
            only if there are seeds or judges to compare.
    """

    values: dict[str, dict[int | None, array[float]]] = field(default_factory=dict)
    rows: dict[int, list[tuple[RowParts, dict[str, float]]]] = field(default_factory=dict)
    abstained: bool = False


class PairData:
    """A collector of everything that can be compared, to which judges are added one by one.

    Attributes:
        several: Whether there is more than one judge.
    """

    def __init__(self, inventory: Inventory, chunks: Chunks) -> None:
        self.inventory, self.chunks = inventory, chunks
        self.several = False
        self._kept: dict[tuple[int, int], _Kept] = {}
        self._tested: dict[int, tuple[Pair, ...]] = {}

    def add(self, way: int, side: Comparable, groups: Sequence[Group], comparison: Comparison | None = None) -> None:
        """Add one judge's painters on their common questions (`side`), and their comparison if it exists."""
        inventory = self.inventory
        scores = _scores(side)
        lead = side.score(None) if side.groups else None
        tested = bool(lead) and 0 < pair_tests(side) <= MAX_TESTS
        if lead is not None and tested:
            self._tested[way] = (
                comparison.pairs if comparison is not None and comparison.score == lead else side_pairs(side, lead)
            )
        for group in groups:
            self._keep(way, group, scores)
        if lead == MET:
            self._met(way, side)
        body: dict[str, Any] = {"score": lead.name if lead else None, "tested": tested}
        body["common"] = sorted(n for id, n in inventory.numbers.items() if id in side.questions)
        body["pairs"] = {score.name: self._pairs(way, side, score) for score in scores}
        body["values"] = {score.name: self._values(side, score) for score in scores}
        body["seeds"] = self._seeds(way, groups, scores)
        self.chunks.add(f"pairs/{way}", body)

    def write(self, ways: int) -> None:
        """Write the data that needs all judges: each pair of judges on each painter's drawings, and all scores."""
        pairs: dict[str, list[list[Any]]] = {}
        names = [score.name for score in self.inventory.protocol.scored if score.main]
        for place in range(len(self.inventory.painters)):
            for first_way, second_way in combinations(range(ways), 2):
                first, second = self._kept.get((first_way, place)), self._kept.get((second_way, place))
                if first is None or second is None:
                    continue
                both = first.rows.keys() & second.rows.keys()
                sides = _side(first, both), _side(second, both)
                for name, gap in differences(*sides, self.inventory.protocol, names).items():
                    pairs.setdefault(name, []).append(
                        [place, first_way, second_way, *_cut(gap.difference), _round(gap.one), _round(gap.other)]
                    )
        self.chunks.add("judges", {"pairs": pairs})
        for place, painter in enumerate(self.inventory.painters):
            for way in range(ways):
                if (kept := self._kept.get((way, place))) is not None:
                    self.chunks.add(f"rows/{painter.key}", {"way": way, "scores": _listed(kept.values)})

    def _keep(self, way: int, group: Group, scores: Sequence[Score]) -> None:
        inventory = self.inventory
        place = inventory.places[group.painter, group.strategy]
        kept = self._kept[way, place] = _Kept()
        many = len(inventory.painters[place].seeds) > 1
        sums: dict[tuple[str, int | None, int], list[float]] = {}
        for entry in group.scored:
            slot = inventory.slots.get(entry.drawing.id)
            if slot is None:
                continue
            values_by_score = {score.name: entry.scores.get(score.name) for score in scores}
            if many or self.several:
                met = self._remember(kept, slot.number, entry)
                values_by_score[OWN] = 100 * sum(met.values()) / len(met) if met else None
            for name, value in values_by_score.items():
                for seed in (None, slot.seed) if many else (None,):
                    if value is not None:
                        sums.setdefault((name, seed, slot.question), []).append(value)
        self._fill(kept, sums)

    def _fill(self, kept: _Kept, sums: Mapping[tuple[str, int | None, int], Sequence[float]]) -> None:
        for (name, seed, question), values in sums.items():
            columns = kept.values.setdefault(name, {})
            if seed not in columns:
                columns[seed] = array("d", [nan]) * len(self.inventory.questions)
            columns[seed][question] = sum(values) / len(values)

    def _remember(self, kept: _Kept, number: int, entry: Entry) -> dict[str, float]:
        protocol = self.inventory.protocol
        row = RowParts(entry.question.id, protocol.cluster(entry.question), protocol.parts(entry.row))
        met = {intern(criterion): share for criterion, share in shares(entry, protocol).items()}
        kept.rows.setdefault(number, []).append((row, met))
        kept.abstained = kept.abstained or any(mark.verdict == "abstain" for mark in entry.marks)
        return met

    def _met(self, way: int, side: Comparable) -> None:
        """Compute for each question the percentage of criteria met, of those decided for all painters, like `MET`."""
        inventory = self.inventory
        decided: list[dict[int, list[dict[str, float]]]] = []
        for entries in side.inside:
            shares_by_question: dict[int, list[dict[str, float]]] = {}
            for entry in entries:
                shares_by_question.setdefault(inventory.numbers[entry.question.id], []).append(
                    shares(entry, side.protocol)
                )
            decided.append(shares_by_question)
        for group, mine in zip(side.groups, decided, strict=True):
            sums: dict[tuple[str, int | None, int], list[float]] = {}
            for question, markings in mine.items():
                sets = [{name for met in other.get(question, ()) for name in met} for other in decided]
                for name in set.intersection(*sets):
                    given = [met[name] for met in markings if name in met]
                    sums.setdefault((MET.name, None, question), []).append(100 * sum(given) / len(given))
            self._fill(self._kept[way, inventory.places[group.painter, group.strategy]], sums)

    def _values(self, side: Comparable, score: Score) -> dict[int, float | None]:
        places = [self.inventory.places[group.painter, group.strategy] for group in side.groups]
        return {
            place: _round(values[score.name])
            for place, values in zip(places, side.values, strict=True)
            if score.name in values
        }

    def _pairs(self, way: int, side: Comparable, score: Score) -> list[list[Any]]:
        """Return every pair of painters with their difference and its interval.

        Tested pairs also have the decisive p, the number of differing questions, the verdict, and whether p is
        corrected.
        """
        places = [self.inventory.places[group.painter, group.strategy] for group in side.groups]
        if self._tested.get(way) and score == side.score(None):
            at = dict(zip(side.names, places, strict=True))
            return [
                [
                    at[pair.first],
                    at[pair.second],
                    *_cut(pair.difference),
                    _round(pair.deciding_p),
                    pair.differing,
                    pair.verdict,
                    pair.corrected,
                ]
                for pair in self._tested[way]
            ]
        scored = [n for n, values in enumerate(side.values) if score.name in values]
        if len(scored) > MAX_INTERVAL_ROWS:
            return []
        derive, name = make_derive(side.protocol), score.name
        return [
            [
                places[a],
                places[b],
                *_cut(
                    difference_interval(
                        side.parts[a],
                        side.parts[b],
                        name,
                        derive,
                        (side.drawn[a][name], side.drawn[b][name]),
                        score.top,
                    )
                ),
            ]
            for a, b in combinations(scored, 2)
        ]

    def _seeds(self, way: int, groups: Sequence[Group], scores: Sequence[Score]) -> dict[str, list[list[Any]]]:
        """Return by score: painter, two of its seeds, and their difference with its interval."""
        inventory = self.inventory
        pairs: dict[str, list[list[Any]]] = {}
        for group in groups:
            place = inventory.places[group.painter, group.strategy]
            if len(inventory.painters[place].seeds) < 2:
                continue
            kept = self._kept[way, place]
            drawn: dict[int, set[int]] = {}
            for slot in inventory.slots.values():
                if slot.number in kept.rows:
                    drawn.setdefault(slot.seed, set()).add(slot.number)
            for first_seed, second_seed in combinations(sorted(drawn)[:MAX_SEEDS], 2):
                sides = _side(kept, drawn[first_seed]), _side(kept, drawn[second_seed])
                for name, gap in differences(*sides, inventory.protocol, [score.name for score in scores]).items():
                    pairs.setdefault(name, []).append(
                        [place, first_seed, second_seed, *_cut(gap.difference), _round(gap.one), _round(gap.other)]
                    )
        return pairs


def _scores(side: Comparable) -> list[Score]:
    """Return the scores to compare by: the main ones that some painter has, and `MET` if `limner compare` uses it."""
    if not side.groups:
        return []
    names = {name for values in side.values for name in values}
    scores = [score for score in side.protocol.scored if score.main and score.name in names]
    lead = side.score(None)
    return scores if lead in scores else [lead, *scores]


def _side(kept: _Kept, numbers: Set[int]) -> MarkedSide:
    """Return the rows and shares of these drawings."""
    rows = [each for number in sorted(numbers) for each in kept.rows.get(number, ())]
    met: dict[tuple[str, str, str], list[float]] = {}
    for row, given in rows:
        for criterion, share in given.items():
            met.setdefault((row.cluster, row.question, criterion), []).append(share)
    return MarkedSide(tuple(row for row, _ in rows), met, kept.abstained)


def _round(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def _cut(gap: Interval) -> list[float | int | None]:
    return [_round(gap.value), _round(gap.low), _round(gap.high), gap.n]


def _listed(values: Mapping[str, Mapping[int | None, array[float]]]) -> dict[str, dict[str, list[float | None]]]:
    """Return score -> seed (``all`` for all seeds) -> the score of every question."""
    return {
        name: {
            "all" if seed is None else str(seed): [None if isnan(value) else round(value, 4) for value in column]
            for seed, column in columns.items()
        }
        for name, columns in values.items()
    }
