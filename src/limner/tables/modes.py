"""How often painters failed in which way, counted from sorted drawings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..core.protocol import UNREAD, FailureModes
from ..running.modes import SortedDrawing
from .model import Table, simple_table

FAILED = "failed"


@dataclass(frozen=True)
class ModeCounts:
    """A painter's wrong answers by mode.

    Attributes:
        asked: Questions that were asked about its drawings.
        wrong: Those answered wrongly.
        modes: Mode, unread or failed -> how many of these.
    """

    row: str
    asked: int
    wrong: int
    modes: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"painter": self.row, "asked": self.asked, "wrong": self.wrong, "modes": self.modes}


def count_modes(
    modes: FailureModes[Any], asked: Sequence[tuple[str, int]], found: Sequence[SortedDrawing]
) -> list[ModeCounts]:
    """For each painter how many of its wrong answers fell into which mode; `asked` has the painters in their order."""
    counted: dict[str, Counter[str]] = {row: Counter() for row, _ in asked}
    for one in found:
        if one.fault is not None:
            counted[one.drawing.row][FAILED] += len(one.drawing.wrong)
        counted[one.drawing.row].update(one.modes.values())
    words = (*modes.names, UNREAD, FAILED)
    return [
        ModeCounts(row, count, counted[row].total(), {word: counted[row][word] for word in words})
        for row, count in asked
    ]


def modes_table(title: str, modes: FailureModes[Any], counts: Sequence[ModeCounts], more: Sequence[str] = ()) -> Table:
    """A row for each painter."""
    heads = ["painter", "asked", "wrong", *modes.names.values(), UNREAD, FAILED]
    rows = [[one.row, str(one.asked), str(one.wrong), *map(str, one.modes.values())] for one in counts]
    notes = [*more, modes.about]
    if any(one.modes[UNREAD] for one in counts):
        notes.append("unread: the model named no mode for them in three tries")
    if any(one.modes[FAILED] for one in counts):
        notes.append("failed: the call failed; run the command again, refusals with --retry-failed")
    return simple_table(title, heads, rows, notes)
