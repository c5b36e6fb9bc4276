"""Modes of failure as a plot: the share of each painter's wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..core.plot_data import Grid, Quantity
from ..core.protocol import UNREAD, FailureModes
from ..report.tables.analyses import FAILED, ModeCounts
from .rows import kinds
from .style import look, save


def mode_grid(modes: FailureModes[Any], counts: Sequence[ModeCounts], caption: str) -> Grid:
    """Painters by modes; what failed is no part of the whole, what is unread is."""
    words = [*modes.names, *([UNREAD] if any(one.modes[UNREAD] for one in counts) else [])]
    cells = []
    for one in counts:
        whole = one.wrong - one.modes[FAILED]
        cells.append(tuple(Quantity(one.modes[word] / whole if whole else None, n=whole) for word in words))
    columns = tuple(modes.names.get(word, word) for word in words)
    notes = tuple(f"{one.wrong} of {one.asked}" for one in counts)
    said = f"{caption} · {modes.about} · at the right how many answers are wrong"
    return Grid(tuple(one.row for one in counts), columns, tuple(cells), "share of the wrong answers", 1.0, said,
                notes=notes)  # fmt: skip


def plot_modes(
    modes: FailureModes[Any], counts: Sequence[ModeCounts], caption: str, path: Path, width: str = "double"
) -> None:
    """Draw them into a file.

    Raises:
        UsageError: matplotlib is missing, or the file's name ends in something else than the known formats.
    """
    with look():
        sketch = kinds(mode_grid(modes, counts, caption), width)
    save([sketch], path, width)
