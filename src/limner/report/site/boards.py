"""The numbers behind a leaderboard: with all painters, and without those that cut the common questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...scoring import ON, Comparable, Group, Numbers, Standing, columns, comparable, standings
from ...scoring.comparable import lead
from ...scoring.compare import Comparison
from ...scoring.compare.pairs import painters_of
from ...scoring.standings import fewer_standings
from ...scoring.stats import MIN_CLUSTERS, rank_intervals
from .inventory import Inventory
from .pair_data import MAX_TESTS, pair_tests

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


def compute_board(board: BoardRows) -> BoardRows:
    """Return the board with all lazy numbers computed, so that it no longer keeps the drawings in memory."""
    comparison = board.comparison
    rows = [_compute_row(row) for row in board.rows]
    compared = comparison and replace(comparison, compared=_without_painters(comparison.compared))
    return replace(board, rows=rows, comparison=compared)


def _compute_row(row: Standing) -> Standing:
    return replace(
        row,
        all=_compute(row.all),
        common=row.common and _compute(row.common),
        pessimistic=_compute(row.pessimistic),
        by={tag: {value: _compute(body) for value, body in each.items()} for tag, each in row.by.items()},
        analyses=dict(row.analyses),
        compared=_without_painters(row.compared),
    )


def _compute(body: Numbers) -> Numbers:
    return Numbers(body.n, dict(body.scores), dict(body.bounds), dict(body.decided))


def _without_painters(side: Comparable) -> Comparable:
    return replace(side, groups=(), inside=(), beside=(), left_out=())


def _board(inventory: Inventory, groups: Sequence[Group], rows: list[Standing], left_out: tuple[str, ...]) -> BoardRows:
    own = rows[0].compared
    sides = {on: own if on == own.on else comparable(groups, inventory.protocol, on) for on in ON}
    notes: dict[str, list[str]] = {on: side.notes for on, side in sides.items()}
    return BoardRows(rows, notes, _ranks(sides["common"]), _compare(rows, inventory), left_out)


def _compare(rows: Sequence[Standing], inventory: Inventory) -> Comparison | None:
    score = lead(rows, columns(inventory.protocol))
    rivals = sum(not group.control for group in rows[0].compared.groups)
    names = {each.name for each in inventory.protocol.scored}
    if score is None or rivals < 2 or score.name not in names or pair_tests(rows[0].compared) > MAX_TESTS:
        return None
    return painters_of(rows, score)


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
