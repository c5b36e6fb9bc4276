"""Standings as the leaderboard takes them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...protocol import Score
from ...scoring import Standing
from .marked import Way
from .survey import Survey


def way_json(way: Way, survey: Survey) -> dict[str, Any]:
    """A judge's table."""
    places = {(painter.label, painter.strategy): place for place, painter in enumerate(survey.painters)}
    rows = []
    for standing in way.rows:
        row = (standing.painter, standing.strategy)
        if row in places:
            ranks = {score: list(found[row]) for score, found in way.ranks.items() if row in found}
            rows.append({"p": places[row], **row_json(standing), "ranks": ranks})
    scores = lead(way.rows, survey.protocol.scored)
    head = {"number": way.number, "judge": way.judge, "id": way.id[:12], "setup": dict(way.setup)}
    return head | {"lead": scores, "markings": way.markings, "rows": rows}


def row_json(standing: Standing) -> dict[str, Any]:
    """A row: its numbers on all questions it has, on those common to all, and with what is missing taken as nothing."""
    plain = standing.to_json()
    head = {name: plain[name] for name in ("n", "expected", "coverage", "failures", "cost", "remarks")}
    pessimistic = {name: [value, None, None] for name, value in standing.pessimistic.items()}
    worst = {"n": standing.expected, "scores": pessimistic, "bounds": {}, "decided": {}}
    views = {"all": view(plain), "common": view(standing.common) if standing.common else None, "pessimistic": worst}
    return head | {"views": views}


def view(body: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers in short: ``[value, low, high]`` by score, ``[least, most]`` where marks are undecided."""
    return {
        "n": body["n"],
        "scores": {
            name: _short(interval) for name, interval in body["scores"].items() if interval["value"] is not None
        },
        "bounds": {name: [_cut(ends["low"]), _cut(ends["high"])] for name, ends in body.get("bounds", {}).items()},
        "decided": dict(body.get("decided") or {}),
    }


def _short(interval: Mapping[str, Any]) -> list[float | None]:
    return [_cut(interval[name]) for name in ("value", "low", "high")]


def _cut(number: float | None) -> float | None:
    return None if number is None else round(number, 6)


def lead(rows: Sequence[Standing], scores: Sequence[Score]) -> str | None:
    """The score a table is ordered by: the first of which a value is known, else the first whose bounds tell much."""
    main = [score for score in scores if score.main]
    views = [row.common if row.common and row.common["n"] else row.to_json() for row in rows]
    for score in main:
        if any((found["scores"].get(score.name) or {}).get("value") is not None for found in views):
            return score.name
    for score in main:
        ends = [found["bounds"][score.name] for found in views if score.name in found["bounds"]]
        if any(end["low"] > 0 or end["high"] < score.top for end in ends):
            return score.name
    return None


def by_json(ways: Sequence[Way], survey: Survey) -> dict[str, dict[str, list[Any]]]:
    """Breakdowns: tag -> value -> ``[way, painter, numbers]``."""
    places = {(painter.label, painter.strategy): place for place, painter in enumerate(survey.painters)}
    found: dict[str, dict[str, list[Any]]] = {}
    for way in ways:
        for standing in way.rows:
            place = places.get((standing.painter, standing.strategy))
            for tag, values in standing.by.items() if place is not None else ():
                for value, body in values.items():
                    found.setdefault(tag, {}).setdefault(value, []).append([way.number, place, view(body)])
    return found
