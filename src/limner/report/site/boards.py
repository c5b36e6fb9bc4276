"""The numbers behind a leaderboard: everybody's, and those without whoever cuts the common questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...scoring import ON, Comparable, Group, Numbers, Standing, columns, comparable, standings
from ...scoring.compare import Comparison
from ...scoring.compare.pairs import painters_of
from ...scoring.places import lead
from ...scoring.standings import fewer_standings
from ...scoring.stats import LEAST, rank_intervals
from .inventory import Inventory
from .pair_data import TESTED, pair_tests

RowKey = tuple[str, str]
"""Painter and strategy."""


@dataclass
class BoardRows:
    """Painters under one evaluator, side by side.

    Attributes:
        rows: The best first, controls last.
        notes: What a reader must know of the comparison, for each choice of the questions it is made on.
        ranks: Score -> row -> best and worst place that the common questions leave open.
        comparison: Who can be told from whom by the leading score; None where nobody is to be compared, or too many.
        left_out: The rows that are left out, by name.
    """

    rows: list[Standing] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    ranks: dict[str, dict[RowKey, tuple[int, int]]] = field(default_factory=dict)
    comparison: Comparison | None = None
    left_out: tuple[str, ...] = ()

    @property
    def untold(self) -> list[tuple[str, ...]]:
        """Runs of rows, in their order, of whom none can be told from another."""
        rivals = [row.name for row in self.rows if not row.control]
        return [] if self.comparison is None else self.comparison.untold(rivals)


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


def settled(board: BoardRows) -> BoardRows:
    """Return the same with every number worked out, so that nothing of it holds on to the drawings it was made from."""
    told = board.comparison
    rows = [_settled(row) for row in board.rows]
    return replace(board, rows=rows, comparison=told and replace(told, compared=_alone(told.compared)))


def _settled(row: Standing) -> Standing:
    return replace(
        row,
        all=_worked_out(row.all),
        common=row.common and _worked_out(row.common),
        pessimistic=_worked_out(row.pessimistic),
        by={tag: {value: _worked_out(body) for value, body in each.items()} for tag, each in row.by.items()},
        analyses=dict(row.analyses),
        compared=_alone(row.compared),
    )


def _worked_out(body: Numbers) -> Numbers:
    return Numbers(body.n, dict(body.scores), dict(body.bounds), dict(body.decided))


def _alone(side: Comparable) -> Comparable:
    """Return what painters are compared on, without the painters."""
    return replace(side, groups=(), inside=(), beside=(), left_out=())


def _board(inventory: Inventory, groups: Sequence[Group], rows: list[Standing], left_out: tuple[str, ...]) -> BoardRows:
    own = rows[0].compared
    sides = {on: own if on == own.on else comparable(groups, inventory.protocol, on) for on in ON}
    notes: dict[str, list[str]] = {on: side.notes for on, side in sides.items()}
    return BoardRows(rows, notes, _ranks(sides["common"]), _told(rows, inventory), left_out)


def _told(rows: Sequence[Standing], inventory: Inventory) -> Comparison | None:
    score = lead(rows, columns(inventory.protocol))
    rivals = sum(not group.control for group in rows[0].compared.groups)
    known = {each.name for each in inventory.protocol.scored}
    if score is None or rivals < 2 or score.name not in known or pair_tests(rows[0].compared) > TESTED:
        return None
    return painters_of(rows, score)


def _ranks(compared: Comparable) -> dict[str, dict[RowKey, tuple[int, int]]]:
    """Score -> row -> best and worst place, on the questions all painters have; controls have none."""
    rivals = {group.name: (n, group) for n, group in enumerate(compared.groups) if not group.control}
    if len(rivals) < 2 or len(compared.questions) < LEAST:
        return {}
    found = {}
    for score in compared.protocol.scored:
        drawn = {name: compared.drawn[n].get(score.name) for name, (n, _) in rivals.items()}
        known = {name: values for name, values in drawn.items() if values is not None and not np.isnan(values).all()}
        if len(known) == len(rivals):
            places = [(rivals[name][1], place) for name, place in rank_intervals(known).items()]
            found[score.name] = {(group.painter, group.strategy): (place.low, place.high) for group, place in places}
    return found
