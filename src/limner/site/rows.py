"""Standings as the leaderboard takes them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.protocol import Score
from ..scoring import Numbers, Standing
from ..scoring.stats import LEAST, Interval
from .inventory import Survey
from .judge_data import Way


def way_json(way: Way, survey: Survey) -> dict[str, Any]:
    """A judge's table."""
    places = {(painter.label, painter.strategy): place for place, painter in enumerate(survey.painters)}
    rows = []
    for standing in way.rows:
        row = (standing.painter, standing.strategy)
        ranks = {score: list(found[row]) for score, found in way.ranks.items() if row in found}
        rows.append({"p": places[row], **row_json(standing), "differs": way.differs[row], "ranks": ranks})
    scores = lead(way.rows, survey.protocol.scored)
    head = {"number": way.number, "judge": way.evaluator.judge, "name": way.evaluator.name, "id": way.id[:12]}
    head |= {"setup": dict(way.evaluator.setup), "notes": way.notes}
    return head | {"lead": scores, "markings": way.markings, "rows": rows}


def row_json(standing: Standing) -> dict[str, Any]:
    """A row: its numbers on all questions it has, on those common to all, and with what is missing taken as nothing."""
    names = ("n", "expected", "coverage", "failures", "cost", "remarks", "place")
    head = {name: getattr(standing, name) for name in names}
    views = {"all": view(standing.all), "common": None, "pessimistic": view(standing.pessimistic)}
    if standing.common is not None:
        views["common"] = view(standing.common)
    return head | {"views": views}


def view(body: Numbers) -> dict[str, Any]:
    """Numbers in short: ``[value, low, high]`` by score, ``[least, most]`` where marks are undecided.

    Where questions are too few for an interval, their number comes fourth.
    """
    return {
        "n": body.n,
        "scores": {name: _interval(found) for name, found in body.scores.items() if found.value is not None},
        "bounds": {name: [_cut(low), _cut(high)] for name, (low, high) in body.bounds.items()},
        "decided": dict(body.decided),
    }


def _interval(found: Interval) -> list[float | None]:
    ends = [_cut(found.value), _cut(found.low), _cut(found.high)]
    return [*ends, found.n] if found.low is None and found.n < LEAST else ends


def _cut(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def lead(rows: Sequence[Standing], scores: Sequence[Score]) -> str | None:
    """The score a table is ordered by: the first of which a value is known, else the first whose bounds tell much."""
    main = [score for score in scores if score.main]
    for score in main:
        if any(row.numbers.value(score.name) is not None for row in rows):
            return score.name
    for score in main:
        ends = [row.bounds[score.name] for row in rows if score.name in row.bounds]
        if any(low > 0 or high < score.top for low, high in ends):
            return score.name
    return None


def by_json(ways: Sequence[Way], survey: Survey) -> dict[str, dict[str, list[Any]]]:
    """Breakdowns: tag -> value -> ``[way, painter, numbers]``."""
    places = {(painter.label, painter.strategy): place for place, painter in enumerate(survey.painters)}
    found: dict[str, dict[str, list[Any]]] = {}
    for way in ways:
        for place, standing in sorted(
            ((places[row.painter, row.strategy], row) for row in way.rows), key=lambda pair: pair[0]
        ):
            for tag, values in standing.by.items():
                for value, body in values.items():
                    found.setdefault(tag, {}).setdefault(value, []).append([way.number, place, view(body)])
    return found
