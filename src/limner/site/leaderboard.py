"""Standings as the leaderboard takes them, and the papers' figures that can stand beside them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..core.protocol import Score
from ..exams.paper import BOARD, PUBLISHED, PublishedScore, rows, rules
from ..scoring import Numbers, Standing
from ..scoring.stats import LEAST, Interval
from .inventory import Inventory
from .judge_data import JudgeTable


def table_json(table: JudgeTable, inventory: Inventory) -> dict[str, Any]:
    """A judge's table."""
    listed = []
    for standing in table.rows:
        row = (standing.painter, standing.strategy)
        ranks = {score: list(found[row]) for score, found in table.ranks.items() if row in found}
        body = {"p": inventory.places[row], **row_json(standing)}
        listed.append(body | {"differs": table.differs[row], "ranks": ranks})
    evaluator = table.evaluator
    return {
        "number": table.number,
        "judge": evaluator.judge,
        "name": evaluator.name,
        "id": table.id[:12],
        "setup": dict(evaluator.setup),
        "examined": evaluator.examined,
        "certificate": table.certificate,
        "notes": table.notes,
        "lead": lead(table.rows, inventory.protocol.scored),
        "markings": table.markings,
        "rows": listed,
    }


def row_json(standing: Standing) -> dict[str, Any]:
    """A row: its numbers on all questions it has, on those common to all, and with what is missing taken as nothing."""
    names = ("n", "expected", "coverage", "failures", "cost", "remarks", "place")
    head = {name: getattr(standing, name) for name in names}
    common = None if standing.common is None else numbers_json(standing.common)
    views = {"all": numbers_json(standing.all), "common": common, "pessimistic": numbers_json(standing.pessimistic)}
    return head | {"views": views}


def numbers_json(body: Numbers) -> dict[str, Any]:
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


def by_json(tables: Sequence[JudgeTable], inventory: Inventory) -> dict[str, dict[str, list[Any]]]:
    """Breakdowns: tag -> value -> ``[way, painter, numbers]``."""
    found: dict[str, dict[str, list[Any]]] = {}
    for table in tables:
        placed = {inventory.places[row.painter, row.strategy]: row for row in table.rows}
        for place, standing in sorted(placed.items()):
            for tag, values in standing.by.items():
                for value, body in values.items():
                    found.setdefault(tag, {}).setdefault(value, []).append([table.number, place, numbers_json(body)])
    return found


def published(kind: str, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The paper's rows for an exam of this kind; none where no paper is known.

    Args:
        kind: The exam's kind; its ``rules.toml`` says which figures are our scores.
        values: The values that the exam's tags have; a category that is none of them is left out.

    Returns:
        ``{"model", "group", "judge", "table", "tag", "value", "scores"}``, one for each model, table and category;
        with ``board`` where it stands on the release's leaderboard and not in the paper.
    """
    spelt = {tag: {_plain(value): value for value in found} for tag, found in values.items()}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    known = rules(kind).scores
    figures = [(file, row) for file in (PUBLISHED, BOARD) for row in rows(kind, file)]
    for file, row in figures:
        for rule in _fitting([rule for rule in known if rule.file == file], row):
            value = rule.fixed
            if rule.tag and not value:
                word = _plain(row["category"])
                value = spelt.get(rule.tag, {}).get(rule.names.get(word, word))
                if value is None:
                    continue
            place = (row["model"], row["model_group"], row["judge"], row["table"], rule.tag or "", value or "")
            names = ("model", "group", "judge", "table", "tag", "value")
            body = found.setdefault(place, dict(zip(names, place, strict=True)) | {"scores": {}})
            if file == BOARD:
                body["board"] = True
            body["scores"][rule.metrics[row["metric"]]] = round(float(row["value"]) * rule.scale, 6)
    return _joined(found.values())


def _fitting(known: Iterable[PublishedScore], row: Mapping[str, str]) -> list[PublishedScore]:
    return [
        rule
        for rule in known
        if (rule.table, rule.breakdown) == (row["table"], row["breakdown"])
        and row["metric"] in rule.metrics
        and rule.category in (None, row["category"])
    ]


def _joined(bodies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row where several judges or instruments gave a model's figures of one table."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for body in bodies:
        place = tuple(body[name] for name in ("model", "group", "table", "tag", "value"))
        kept = found.setdefault(place, body)
        if kept is not body and not kept["scores"].keys() & body["scores"].keys():
            kept["scores"] |= body["scores"]
            # The longest name of the judge tells most: "X + Y" stands beside plain "X" and "Y".
            kept["judge"] = max(kept["judge"], body["judge"], key=len)
    return list(found.values())


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", word.casefold())
