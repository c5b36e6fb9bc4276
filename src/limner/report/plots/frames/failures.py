"""What went wrong, by kind. Pure."""

from __future__ import annotations

from collections import Counter

from ....errors import UsageError
from ....exams.mmmg.errors import LIMITS, LOW
from ....scoring import Group
from ..source import Source
from .cells import Cell, Grid, plain

LOW_SCORES = ("mmmg_release", "mmmg_exact")
"""The scores that the exam's own analysis of failures is made for."""


def failures(source: Source) -> Grid:
    """MMMG: of the drawings that score low, the share with each kind of failure. Elsewhere: drawings without a score.

    Raises:
        UsageError: Nothing has failed.
    """
    return _low(source) if source.kind == "mmmg" else _without(source)


def _low(source: Source) -> Grid:
    name = source.score.name if source.score.name in LOW_SCORES else LOW_SCORES[0]
    found = [
        source.field.protocol.analyses([entry.row for entry in entries])["low_scores"][name]
        for entries in source.field.inside
    ]
    if not any(each["drawings"] for each in found):
        raise UsageError(
            f"{source.exam}: no drawing has {name}; it takes a judge that decides all items, and region counts"
        )
    cells = tuple(tuple(Cell(each[kind], n=each["low"]) for kind in LIMITS) for each in found)
    notes = tuple(f"{each['low']} of {each['drawings']}" for each in found)
    caption = source.caption + f" · low: {name} up to {LOW:g}; at the right how many are"
    label = "share of the drawings that score low"
    return Grid(source.names, tuple(LIMITS), cells, label, 1.0, caption, source.controls, notes)


def _without(source: Source) -> Grid:
    counts = [_kinds(group) for group in source.field.groups]
    kinds = [kind for kind, _ in sum((count for count, _ in counts), Counter[str]()).most_common()]
    if not kinds:
        raise UsageError(f"{source.exam}: every drawing has a score; there is no failure to show")
    cells = tuple(tuple(Cell(count[kind] / whole, n=whole) for kind in sorted(kinds)) for count, whole in counts)
    notes = tuple(f"{count.total()} of {whole}" for count, whole in counts)
    label = "share of the drawings drawn or tried"
    columns = tuple(plain(kind) for kind in sorted(kinds))
    caption = source.caption + " · at the right how many have no score"
    return Grid(source.names, columns, cells, label, 1.0, caption, source.controls, notes)


def _kinds(group: Group) -> tuple[Counter[str], int]:
    """How many drawings (each repeat of a marking for itself) have no score, by kind; and how many there are."""
    tried = [entry for entry in group.entries if entry.status != "not_applicable"]
    return Counter(entry.status for entry in tried if not entry.scored), len(tried)
