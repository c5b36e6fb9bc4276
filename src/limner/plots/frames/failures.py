"""What went wrong, by kind. Pure."""

from __future__ import annotations

from collections import Counter

from ...core.errors import UsageError
from ...core.plot_data import Cell, Grid, plain
from ...scoring import Group
from ..source import Source


def failures(source: Source) -> Grid:
    """Drawings without a score, by why they have none.

    Raises:
        UsageError: Nothing has failed.
    """
    groups = _everyone(source)
    counts = [_kinds(group) for group in groups]
    kinds = [kind for kind, _ in sum((count for count, _ in counts), Counter[str]()).most_common()]
    if not kinds:
        raise UsageError(f"{source.exam}: every drawing has a score; there is no failure to show")
    cells = tuple(tuple(Cell(count[kind] / whole, n=whole) for kind in sorted(kinds)) for count, whole in counts)
    notes = tuple(f"{count.total()} of {whole}" for count, whole in counts)
    label = "share of the drawings drawn or tried"
    columns = tuple(plain(kind) for kind in sorted(kinds))
    caption = source.caption + " · at the right how many have no score"
    names, controls = tuple(g.name for g in groups), frozenset(g.name for g in groups if g.control)
    return Grid(names, columns, cells, label, 1.0, caption, controls, notes)


def _everyone(source: Source) -> list[Group]:
    """Painters without any score too: before the controls, which come last."""
    there = [*source.field.groups, *source.field.left_out]
    return sorted(there, key=lambda group: group.control)


def _kinds(group: Group) -> tuple[Counter[str], int]:
    """How many drawings (each repeat of a marking for itself) have no score, by kind; and how many there are."""
    tried = [entry for entry in group.entries if entry.status != "not_applicable"]
    return Counter(entry.status for entry in tried if not entry.scored), len(tried)
