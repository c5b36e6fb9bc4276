"""The data behind the comparison page: pairs of painters, of a painter's seeds, and of a painter's judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from ...core.protocol import Score
from ...scoring import MET, Comparable, Entry, Group, comparable
from ...scoring.compare.pairs import side_pairs
from ...scoring.compare.results import Pair
from ...scoring.numbers import make_derive, met_shares, shares
from ...scoring.stats import Interval, difference_interval
from .chunks import Chunks
from .inventory import Inventory
from .leaderboard import JudgeTable, rounded, testable

MAX_INTERVAL_ROWS = 45
"""The most rows for which every pair has an interval; a pair takes a few ms and 60 bytes per score."""
OWN = "own"
"""The score that is the percentage of criteria met, of those that one marking decided."""
MAX_SEEDS = 6
"""The most seeds of a painter that are compared with each other."""


def write_pairs(inventory: Inventory, tables: Sequence[JudgeTable], chunks: Chunks) -> None:
    """Write every pair of painters, of a painter's seeds and of judges, and the scores of every question."""
    for table in tables:
        chunks.add(f"pairs/{table.number}", _painters(inventory, table))
    chunks.add("judges", {"pairs": _judges(inventory, tables)})
    for table in tables:
        met = _met(table.side) if table.side.groups and table.side.score(None) == MET else {}
        for group in table.groups:
            painter = inventory.painters[inventory.places[group.painter, group.strategy]]
            values = _by_question(inventory, table, group, len(painter.seeds) > 1, len(tables) > 1)
            if group.name in met:
                values[MET.name] = {"all": met[group.name]}
            listed = {
                name: {seed: _listed(column, inventory) for seed, column in each.items()}
                for name, each in values.items()
            }
            chunks.add(f"rows/{painter.key}", {"way": table.number, "scores": listed})


def _painters(inventory: Inventory, table: JudgeTable) -> dict[str, Any]:
    """Return every pair of painters under one judge, and of the seeds of every painter."""
    side = table.side
    scores = _scores(side)
    places = [inventory.places[group.painter, group.strategy] for group in side.groups]
    values = {
        score.name: {
            place: rounded(numbers[score.name])
            for place, numbers in zip(places, side.values, strict=True)
            if score.name in numbers
        }
        for score in scores
    }
    lead = side.score(None) if side.groups else None
    tested = lead if len(side.groups) > 1 and side.questions and testable(side) else None
    return {
        "score": lead.name if lead else None,
        "tested": tested is not None,
        "common": sorted(n for id, n in inventory.numbers.items() if id in side.questions),
        "pairs": {score.name: _pairs(table, places, score, score == tested) for score in scores},
        "values": values,
        "seeds": _seeds(inventory, table, scores),
    }


def _pairs(table: JudgeTable, places: Sequence[int], score: Score, tested: bool) -> list[list[Any]]:
    """Return every pair of painters with their difference and its interval.

    Pairs are tested by the leading score; these also have the decisive p, the number of differing questions, the
    verdict, and whether p is corrected.
    """
    side = table.side
    if tested:
        known = table.boards[0].comparison
        same = known is not None and known.compared is side and known.score == score
        tests = known.pairs if known is not None and same else side_pairs(side, score)
        at = dict(zip(side.names, places, strict=True))
        return [[at[pair.first], at[pair.second], *_cut(pair.difference), *_verdict(pair)] for pair in tests]
    scored = [n for n, values in enumerate(side.values) if score.name in values]
    if len(scored) > MAX_INTERVAL_ROWS:
        return []
    return [[places[a], places[b], *_cut(_gap(side, a, b, score))] for a, b in combinations(scored, 2)]


def _verdict(pair: Pair) -> list[Any]:
    return [rounded(pair.deciding_p), pair.differing, pair.verdict, pair.corrected]


def _gap(side: Comparable, a: int, b: int, score: Score) -> Interval:
    drawn = side.drawn[a][score.name], side.drawn[b][score.name]
    derive = make_derive(side.protocol)
    return difference_interval(side.parts[a], side.parts[b], score.name, derive, drawn, score.top)


def _seeds(inventory: Inventory, table: JudgeTable, scores: Sequence[Score]) -> dict[str, list[list[Any]]]:
    """Return by score: painter, two of its seeds, and their difference with its interval."""
    pairs: dict[str, list[list[Any]]] = {}
    for group in table.groups:
        drawn: dict[int, list[Entry]] = {}
        for entry in group.scored:
            drawn.setdefault(entry.drawing.seed, []).append(entry)
        for one, other in combinations(sorted(drawn)[:MAX_SEEDS], 2):
            two = replace(group, entries=tuple(drawn[one])), replace(group, entries=tuple(drawn[other]))
            for name, gap in _differences(two, inventory, scores):
                place = inventory.places[group.painter, group.strategy]
                pairs.setdefault(name, []).append([place, one, other, *gap])
    return pairs


def _judges(inventory: Inventory, tables: Sequence[JudgeTable]) -> dict[str, list[list[Any]]]:
    """Return by score: painter, two judges, and their difference on the drawings that both marked."""
    pairs: dict[str, list[list[Any]]] = {}
    scores = [score for score in inventory.protocol.scored if score.main]
    marked = [{inventory.places[group.painter, group.strategy]: group for group in table.groups} for table in tables]
    for place in range(len(inventory.painters)):
        for one, other in combinations([n for n, groups in enumerate(marked) if place in groups], 2):
            groups = marked[one][place], marked[other][place]
            both = {e.drawing.id for e in groups[0].scored} & {e.drawing.id for e in groups[1].scored}
            two = [replace(g, entries=tuple(e for e in g.scored if e.drawing.id in both)) for g in groups]
            for name, gap in _differences(two, inventory, scores):
                pairs.setdefault(name, []).append([place, one, other, *gap])
    return pairs


def _differences(
    two: Sequence[Group], inventory: Inventory, scores: Sequence[Score]
) -> Iterator[tuple[str, list[Any]]]:
    """Yield each score that both sides have: their difference with its interval, and both numbers."""
    side = comparable(two, inventory.protocol)
    if len(side.groups) < 2 or not side.questions:
        return
    for score in dict.fromkeys((*scores, MET)):
        if all(score.name in values for values in side.values):
            values = [rounded(values[score.name]) for values in side.values]
            yield score.name, [*_cut(_gap(side, 0, 1, score)), *values]


def _scores(side: Comparable) -> list[Score]:
    """Return the scores to compare by: the main ones that some painter has, and `MET` if `limner compare` uses it."""
    if not side.groups:
        return []
    names = {name for values in side.values for name in values}
    scores = [score for score in side.protocol.scored if score.main and score.name in names]
    lead = side.score(None)
    return scores if lead in scores else [lead, *scores]


Columns = dict[str, dict[str, dict[str, list[float]]]]
"""Score -> seed (``all`` for all seeds) -> question -> the values of its markings."""


def _by_question(inventory: Inventory, table: JudgeTable, group: Group, seeded: bool, several: bool) -> Columns:
    """Return a painter's scores of every question; `OWN` only if there are seeds or judges to compare."""
    columns: Columns = {}
    scores = _scores(table.side)
    for entry in group.scored:
        values = {score.name: entry.scores.get(score.name) for score in scores}
        if (seeded or several) and (met := shares(entry, inventory.protocol)):
            values[OWN] = 100 * sum(met.values()) / len(met)
        for name, value in values.items():
            for seed in ("all", str(entry.drawing.seed)) if seeded else ("all",):
                if value is not None:
                    columns.setdefault(name, {}).setdefault(seed, {}).setdefault(entry.question.id, []).append(value)
    return columns


def _met(side: Comparable) -> dict[str, dict[str, list[float]]]:
    """Return for each painter and question the percentage of criteria met, of those decided for all, like `MET`."""
    given = [met_shares(entries, side.protocol) for entries in side.inside]
    columns: dict[str, dict[str, list[float]]] = {}
    for name, mine in zip(side.names, given, strict=True):
        for key in set.intersection(*map(set, given)):
            columns.setdefault(name, {}).setdefault(key[1], []).append(100 * sum(mine[key]) / len(mine[key]))
    return columns


def _listed(column: dict[str, list[float]], inventory: Inventory) -> list[float | None]:
    values = [column.get(question.id) for question in inventory.questions]
    return [round(sum(some) / len(some), 4) if some else None for some in values]


def _cut(gap: Interval) -> list[float | int | None]:
    return [rounded(gap.value), rounded(gap.low), rounded(gap.high), gap.n]
