"""Standings as the leaderboard takes them, and the papers' figures that can stand beside them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from ...core.protocol import Score
from ...exams.paper import BOARD, printed_scores, rules
from ...scoring import Numbers, Standing, columns
from ...scoring.places import Contender, NumbersOf, ordered, places, settled
from ...scoring.places import lead as leading
from ...scoring.stats import LEAST, Interval
from .boards import BoardRows
from .chunks import no_folders, without_folders
from .inventory import Inventory
from .judge_data import JudgeTable


def table_json(table: JudgeTable, inventory: Inventory) -> dict[str, Any]:
    """Return a judge's table; under ``without`` the same without whoever cuts the common questions."""
    evaluator = table.evaluator
    board, *fewer = (board_json(board, table, inventory) for board in table.boards)
    return {
        "number": table.number,
        "judge": no_folders(evaluator.judge),
        "name": table.name,
        "id": table.id[:12],
        "setup": without_folders(evaluator.setup),
        "examined": evaluator.examined,
        "certificate": table.certificate,
        **evaluator.warnings_json,
        "markings": table.markings,
        "cost": table.cost,
        "times": [table.first, table.last],
        **board,
        "without": fewer,
    }


def board_json(board: BoardRows, table: JudgeTable, inventory: Inventory) -> dict[str, Any]:
    """Painters side by side: rows, what is said of them, and who cannot be told from whom, by their numbers."""
    numbers = {row.name: inventory.places[row.painter, row.strategy] for row in board.rows}
    scores = columns(inventory.protocol)
    orders = {view: order_json(numbers_of(board.rows, view), scores) for view in VIEWS}
    listed = []
    for at, standing in enumerate(board.rows):
        row = (standing.painter, standing.strategy)
        ranks = {score: list(found[row]) for score, found in board.ranks.items() if row in found}
        body = {"p": inventory.places[row], **row_json(standing)}
        for view in VIEWS:
            if body["views"][view] is not None:
                body["views"][view]["order"] = orders[view][at]
        listed.append(body | {"differs": without_folders(table.differs[row]), "ranks": ranks})
    cut = board.rows[0].compared.cut
    gone = {each.name: n for n, each in enumerate(inventory.painters)}
    return {
        "notes": without_folders(board.notes),
        "lead": lead(board.rows, inventory.protocol.scored),
        "by": None if (by := leading(board.rows, scores)) is None else by.name,
        "rows": listed,
        "untold": [[numbers[name] for name in run] for run in board.untold],
        "cut": None if cut is None else cut.to_json() | {"painters": [numbers[name] for name in cut.painters]},
        "left_out": [gone[name] for name in board.left_out],
    }


VIEWS = ("all", "common", "pessimistic")
"""The questions that a row's numbers can be shown on."""


def numbers_of(rows: Sequence[Standing], view: str) -> list[NumbersOf]:
    """Return the rows on some of their questions; a row without common ones stands on its own."""
    return [NumbersOf(row.name, getattr(row, view) or row.all, row.control) for row in rows]


def order_json(rows: Sequence[Contender], scores: Sequence[Score]) -> list[dict[str, list[int | None]]]:
    """For each row: score -> where it is listed when sorted by it, and its place; none by unsettled ones."""
    found: list[dict[str, list[int | None]]] = [{} for _ in rows]
    for score in scores:
        if settled(rows, score):
            placed = places(rows, score)
            for at, n in enumerate(ordered(rows, scores, score)):
                found[n][score.name] = [at + 1, placed[n]]
    return found


def row_json(standing: Standing) -> dict[str, Any]:
    """A row: its numbers on all questions it has, on those common to all, and with what is missing taken as nothing."""
    names = ("n", "expected", "coverage", "cost", "place")
    head = {name: getattr(standing, name) for name in names} | {"remarks": without_folders(standing.remarks)}
    head |= {"unmarked": standing.unmarked, "failures": dict(standing.failed), "costs": standing.costs.to_json()}
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
    """Return the score a table is ordered by; where no value is known, the first whose bounds tell much."""
    if (found := leading(rows, scores)) is not None:
        return found.name
    for score in (score for score in scores if score.main):
        ends = [row.bounds[score.name] for row in rows if score.name in row.bounds]
        if any(low > 0 or high < score.top for low, high in ends):
            return score.name
    return None


def by_json(tables: Sequence[JudgeTable], inventory: Inventory) -> dict[str, dict[str, list[Any]]]:
    """Breakdowns: tag -> value -> ``[way, painter, numbers]``."""
    found: dict[str, dict[str, list[Any]]] = {}
    scores = columns(inventory.protocol)
    for table in tables:
        placed = sorted(table.rows, key=lambda row: inventory.places[row.painter, row.strategy])
        for tag in inventory.tags:
            for value in dict.fromkeys(value for row in placed for value in row.by.get(tag, {})):
                there = [row for row in placed if value in row.by.get(tag, {})]
                numbers = [NumbersOf(row.name, row.by[tag][value], row.control) for row in there]
                orders = order_json(numbers, scores)
                listed = found.setdefault(tag, {}).setdefault(value, [])
                for row, each, order in zip(there, numbers, orders, strict=True):
                    place = inventory.places[row.painter, row.strategy]
                    listed.append([table.number, place, numbers_json(each.numbers) | {"order": order}])
    return found


def published(kind: str, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the paper's rows for an exam of this kind; none where no paper is known.

    Args:
        kind: The exam's kind; its ``rules.toml`` says which figures are our scores.
        values: The values that the exam's tags have; a category that is none of them is left out.

    Returns:
        ``{"model", "group", "judge", "table", "tag", "value", "scores"}``, one for each model, table and category;
        with ``board``, its day, where it stands on the release's leaderboard and not in the paper.
    """
    spelt = {tag: {_plain(value): value for value in found} for tag, found in values.items()}
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    said = rules(kind)
    for row, rule, score, figure in printed_scores(kind):
        value = rule.fixed
        if rule.tag and not value:
            word = _plain(row["category"])
            value = spelt.get(rule.tag, {}).get(rule.names.get(word, word))
            if value is None:
                continue
        place = (row["model"], row["model_group"], row["judge"], row["table"], rule.tag or "", value or "")
        names = ("model", "group", "judge", "table", "tag", "value")
        body = found.setdefault(place, dict(zip(names, place, strict=True)) | {"scores": {}})
        if rule.file == BOARD:
            body["board"] = str(said.board(row["table"]).day)
        body["scores"][score] = figure
    return _joined(found.values())


def board_notes(kind: str) -> dict[str, str]:
    """Return what a reader must know of each of the release's leaderboards, by its day."""
    return {str(board.day): board.about for board in rules(kind).boards}


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
