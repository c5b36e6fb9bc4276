"""The numbers of a leaderboard: its boards, their rows as JSON, and the papers' figures to show with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ...calls import digest
from ...core.evaluator import Evaluator
from ...core.protocol import Score
from ...exams.paper import BOARD, printed_scores, rules
from ...scoring import ON, Comparable, Group, Numbers, Standing, columns, comparable, standings
from ...scoring.comparable import Contender, NumbersOf, ordered, places, settled
from ...scoring.comparable import lead as leading
from ...scoring.compare import Comparison
from ...scoring.compare.pairs import painters_of
from ...scoring.deviations import deviations
from ...scoring.standings import fewer_standings, marking_cost
from ...scoring.stats import MIN_CLUSTERS, Interval, rank_intervals
from ..paper import known as layouts
from .chunks import no_folders, without_folders
from .inventory import Inventory

MAX_TESTS = 200_000
"""The most pairs times questions for which pairs are tested; each takes about 50 µs."""
RowKey = tuple[str, str]
"""Painter and strategy."""


@dataclass
class BoardRows:
    """The rows of a leaderboard: painters under one evaluator.

    Attributes:
        rows: The painters' standings, the best first and controls last.
        notes: Notes on the comparison, for each choice of questions.
        ranks: Score -> row -> best and worst rank in resamples of the common questions.
        comparison: The comparison by the leading score; None if there are too few or too many painters.
        left_out: The names of the rows left out.
    """

    rows: list[Standing] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    ranks: dict[str, dict[RowKey, tuple[int, int]]] = field(default_factory=dict)
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = ()

    @property
    def ties(self) -> list[tuple[str, ...]]:
        """Runs of consecutive rows without a significant difference between any two."""
        rivals = [row.name for row in self.rows if not row.control]
        return [] if self.comparison is None else self.comparison.ties(rivals)


def boards(inventory: Inventory, groups: Sequence[Group]) -> list[BoardRows]:
    """Return the board of all painters; then, if some painters cut the common questions, the board without those.

    The second board has no categories: only what depends on the common questions is computed again.
    """
    terms, protocol = inventory.terms, inventory.protocol
    whole = standings(inventory.name, groups, protocol, terms.reading, list(inventory.tags), terms.on)
    first = _board(inventory, groups, whole, ())
    cut = whole[0].compared.cut
    kept = [group for group in groups if cut is not None and group.name not in cut.painters]
    if cut is None or not any(group.scored and not group.control for group in kept):
        return [first]
    rows = fewer_standings(whole, comparable(kept, protocol, terms.on))
    return [first, _board(inventory, kept, rows, tuple(cut.painters))]


def _board(inventory: Inventory, groups: Sequence[Group], rows: list[Standing], left_out: tuple[str, ...]) -> BoardRows:
    own = rows[0].compared
    sides = {on: own if on == own.on else comparable(groups, inventory.protocol, on) for on in ON}
    notes: dict[str, list[str]] = {on: side.notes for on, side in sides.items()}
    return BoardRows(rows, notes, _ranks(sides["common"]), _compare(rows, inventory), left_out)


def _compare(rows: Sequence[Standing], inventory: Inventory) -> Comparison | None:
    score = leading(rows, columns(inventory.protocol))
    rivals = sum(not group.control for group in rows[0].compared.groups)
    names = {each.name for each in inventory.protocol.scored}
    if score is None or rivals < 2 or score.name not in names or not testable(rows[0].compared):
        return None
    return painters_of(rows, score)


def testable(side: Comparable) -> bool:
    """Return whether there are few enough pairs of painters, times their questions, to test all of them."""
    return len(side.groups) * (len(side.groups) - 1) // 2 * len(side.questions) <= MAX_TESTS


def _ranks(compared: Comparable) -> dict[str, dict[RowKey, tuple[int, int]]]:
    """Return score -> row -> best and worst rank on the common questions; controls are not ranked."""
    rivals = {group.name: (n, group) for n, group in enumerate(compared.groups) if not group.control}
    if len(rivals) < 2 or len(compared.questions) < MIN_CLUSTERS:
        return {}
    ranks = {}
    for score in compared.protocol.scored:
        drawn = {name: compared.drawn[n].get(score.name) for name, (n, _) in rivals.items()}
        scored = {name: values for name, values in drawn.items() if values is not None and not np.isnan(values).all()}
        if len(scored) == len(rivals):
            intervals = [(rivals[name][1], rank) for name, rank in rank_intervals(scored).items()]
            ranks[score.name] = {(group.painter, group.strategy): (rank.low, rank.high) for group, rank in intervals}
    return ranks


@dataclass
class JudgeTable:
    """An evaluator's table.

    Attributes:
        groups: The painters' marked drawings, without the reasons for marks.
        boards: The board of all painters, then one without painters that reduce the common questions too much.
        times: The times of its markings.
    """

    number: int
    evaluator: Evaluator
    groups: Sequence[Group] = ()
    boards: Sequence[BoardRows] = ()
    times: list[float] = field(default_factory=list)

    @cached_property
    def id(self) -> str:
        """The digest of the setup."""
        return digest(self.evaluator.setup)

    @property
    def name(self) -> str:
        """The evaluator's label for public pages."""
        return no_folders(self.evaluator.name)

    @property
    def certificate(self) -> str | None:
        """The file with its certificate, next to the exam's pages; None if it was not examined."""
        return f"certificate-{self.id[:12]}.html" if self.evaluator.examined else None

    @property
    def rows(self) -> list[Standing]:
        """The rows of all painters, the best first."""
        return self.boards[0].rows

    @cached_property
    def side(self) -> Comparable:
        """The painters on their common questions."""
        own = self.rows[0].compared
        return own if own.on == "common" else comparable(self.groups, own.protocol)


def questions_of(kind: str) -> int | None:
    """Return the number of questions behind the paper's figures, if a table layout states it.

    >>> questions_of("genexam")
    1000
    """
    return next((layout.paper.questions for layout in layouts().values() if layout.exam == kind), None)


def table_json(table: JudgeTable, inventory: Inventory) -> dict[str, Any]:
    """Return a judge's table; its ``without`` is the board without painters that cut the common questions."""
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
        "markings": len(table.times),
        "cost": marking_cost(entry for group in table.groups for entry in group.entries),
        "times": [min(table.times, default=None), max(table.times, default=None)],
        **board,
        "without": fewer,
    }


def board_json(board: BoardRows, table: JudgeTable, inventory: Inventory) -> dict[str, Any]:
    """Return a board as JSON: rows, notes, and runs of rows without a significant difference."""
    numbers = {row.name: inventory.places[row.painter, row.strategy] for row in board.rows}
    scores = columns(inventory.protocol)
    orders = {view: order_json(numbers_of(board.rows, view), scores) for view in VIEWS}
    paper, reading = questions_of(inventory.kind.name), inventory.terms.reading
    differs = {(g.painter, g.strategy): deviations(inventory.kind, g, reading, paper) for g in table.groups}
    listed = []
    for at, standing in enumerate(board.rows):
        row = (standing.painter, standing.strategy)
        ranks = {score: list(by_row[row]) for score, by_row in board.ranks.items() if row in by_row}
        body = {"p": inventory.places[row], **row_json(standing)}
        for view in VIEWS:
            if body["views"][view] is not None:
                body["views"][view]["order"] = orders[view][at]
        listed.append(body | {"differs": without_folders(differs[row]), "ranks": ranks})
    cut = board.rows[0].compared.cut
    gone = {each.name: n for n, each in enumerate(inventory.painters)}
    return {
        "notes": without_folders(board.notes),
        "lead": lead(board.rows, inventory.protocol.scored),
        "by": None if (by := leading(board.rows, scores)) is None else by.name,
        "rows": listed,
        "untold": [[numbers[name] for name in run] for run in board.ties],
        "cut": None if cut is None else cut.to_json() | {"painters": [numbers[name] for name in cut.painters]},
        "left_out": [gone[name] for name in board.left_out],
    }


VIEWS = ("all", "common", "pessimistic")
"""The choices of questions for a row's numbers."""


def numbers_of(rows: Sequence[Standing], view: str) -> list[NumbersOf]:
    """Return the rows' numbers for one of `VIEWS`; rows that lack them have the numbers on all their questions."""
    return [NumbersOf(row.name, getattr(row, view) or row.all, row.control) for row in rows]


def order_json(rows: Sequence[Contender], scores: Sequence[Score]) -> list[dict[str, list[int | None]]]:
    """Return for each row: score -> its position when sorted by it, and its rank, for scores that can order rows."""
    orders: list[dict[str, list[int | None]]] = [{} for _ in rows]
    for score in scores:
        if settled(rows, score):
            placed = places(rows, score)
            for at, n in enumerate(ordered(rows, scores, score)):
                orders[n][score.name] = [at + 1, placed[n]]
    return orders


def row_json(standing: Standing) -> dict[str, Any]:
    """Return a row: its numbers on all its questions, on the common ones, and with missing ones counted as zero."""
    names = ("n", "expected", "coverage", "cost", "place")
    head = {name: getattr(standing, name) for name in names} | {"remarks": without_folders(standing.remarks)}
    head |= {"unmarked": standing.unmarked, "failures": dict(standing.failed), "costs": standing.costs.to_json()}
    common = None if standing.common is None else numbers_json(standing.common)
    views = {"all": numbers_json(standing.all), "common": common, "pessimistic": numbers_json(standing.pessimistic)}
    return head | {"views": views}


def numbers_json(body: Numbers) -> dict[str, Any]:
    """Return compact numbers: ``[value, low, high]`` by score, ``[low, high]`` if marks are undecided.

    If there are too few questions for an interval, their number comes fourth.
    """
    return {
        "n": body.n,
        "scores": {name: _interval(interval) for name, interval in body.scores.items() if interval.value is not None},
        "bounds": {name: [rounded(low), rounded(high)] for name, (low, high) in body.bounds.items()},
        "decided": dict(body.decided),
    }


def _interval(interval: Interval) -> list[float | None]:
    ends = [rounded(interval.value), rounded(interval.low), rounded(interval.high)]
    return [*ends, interval.n] if interval.low is None and interval.n < MIN_CLUSTERS else ends


def rounded(number: float | None, digits: int = 6) -> float | None:
    """Return a number with the digits that pages need."""
    return None if number is None else round(number, digits)


def lead(rows: Sequence[Standing], scores: Sequence[Score]) -> str | None:
    """Return the score by which a table is ordered; without values, the first with informative bounds."""
    if (best := leading(rows, scores)) is not None:
        return best.name
    for score in (score for score in scores if score.main):
        ends = [row.bounds[score.name] for row in rows if score.name in row.bounds]
        if any(low > 0 or high < score.top for low, high in ends):
            return score.name
    return None


def by_json(tables: Sequence[JudgeTable], inventory: Inventory) -> dict[str, dict[str, list[Any]]]:
    """Return breakdowns: tag -> value -> ``[way, painter, numbers]``."""
    breakdowns: dict[str, dict[str, list[Any]]] = {}
    scores = columns(inventory.protocol)
    for table in tables:
        placed = sorted(table.rows, key=lambda row: inventory.places[row.painter, row.strategy])
        for tag in inventory.tags:
            for value in dict.fromkeys(value for row in placed for value in row.by.get(tag, {})):
                present = [row for row in placed if value in row.by.get(tag, {})]
                numbers = [NumbersOf(row.name, row.by[tag][value], row.control) for row in present]
                orders = order_json(numbers, scores)
                listed = breakdowns.setdefault(tag, {}).setdefault(value, [])
                for row, each, order in zip(present, numbers, orders, strict=True):
                    place = inventory.places[row.painter, row.strategy]
                    listed.append([table.number, place, numbers_json(each.numbers) | {"order": order}])
    return breakdowns


def published(kind: str, values: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the paper's rows for an exam of this kind; none if no paper is known.

    Args:
        kind: The exam's kind; its ``rules.toml`` maps the paper's figures to our scores.
        values: The values of the exam's tags; categories that are not among them are left out.

    Returns:
        ``{"model", "group", "judge", "table", "tag", "value", "scores"}``, one for each model, table and category;
        with ``board``, its date, if it is on the release's leaderboard instead of in the paper.
    """
    spelt = {tag: {_plain(value): value for value in rows} for tag, rows in values.items()}
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    paper_rules = rules(kind)
    for row, rule, score, figure in printed_scores(kind):
        value = rule.fixed
        if rule.tag and not value:
            word = _plain(row["category"])
            value = spelt.get(rule.tag, {}).get(rule.names.get(word, word))
            if value is None:
                continue
        place = (row["model"], row["model_group"], row["judge"], row["table"], rule.tag or "", value or "")
        names = ("model", "group", "judge", "table", "tag", "value")
        body = rows.setdefault(place, dict(zip(names, place, strict=True)) | {"scores": {}})
        if rule.file == BOARD:
            body["board"] = str(paper_rules.board(row["table"]).day)
        body["scores"][score] = figure
    return _joined(rows.values())


def board_notes(kind: str) -> dict[str, str]:
    """Return the notes on each of the release's leaderboards, by date."""
    return {str(board.day): board.about for board in rules(kind).boards}


def _joined(bodies: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join a model's rows of one table whose figures come from several judges or instruments."""
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for body in bodies:
        place = tuple(body[name] for name in ("model", "group", "table", "tag", "value"))
        kept = rows.setdefault(place, body)
        if kept is not body and not kept["scores"].keys() & body["scores"].keys():
            kept["scores"] |= body["scores"]
            # The longest judge name says most: "X + Y" rather than "X" or "Y".
            kept["judge"] = max(kept["judge"], body["judge"], key=len)
    return list(rows.values())


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", word.casefold())
