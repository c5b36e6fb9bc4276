"""Plots of counts: the funnel of a build, and the share of each failure mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...build.recipe import BuildRecipe
from ...core.plot_data import Grid, Quantity
from ...core.protocol import UNREAD, FailureModes
from ..tables.analyses import FAILED, ModeCounts
from .rows import kinds
from .style import GREY, PALE, PALETTE, SMALL, Sketch, compose, look, save_figure

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW = 0.2


def funnel_sketch(name: str, recipe: BuildRecipe, rows: Sequence[Mapping[str, Any]]) -> Sketch:
    """Sketch a build's funnel: a bar for every step, next to the paper's counts to scale."""
    sort = recipe.places[-1].step.takes
    first = next((n for n, row in enumerate(rows) if row["place"] == recipe.paper[0].after), 0) if recipe.paper else 0
    mine = [row for n, row in enumerate(rows) if row["sort"] == sort and n >= first]

    def paint(figure: FigureBase) -> None:
        panels = figure.subplots(1, 2, sharey=True, width_ratios=(1.4, 1))
        most = [max((row["arrived"] for row in mine), default=1) or 1]
        most.append(max((row["paper"] or 0 for row in mine), default=1) or 1)
        for n, row in enumerate(mine):
            left = row["kept"] + row["made"]
            _bar(panels[0], n, row["arrived"] / most[0], PALE)
            _bar(panels[0], n, left / most[0], PALETTE[0])
            waiting = row["waiting"] + row["pending"] + sum(row["failed"].values())
            label = f"{left:,}" + (f" (+{waiting:,})" if waiting else "")
            panels[0].text(0.0, n, label, ha="center", va="center", fontsize=SMALL, color="white" if left else GREY)
            if row["paper"] is not None:
                _bar(panels[1], n, row["paper"] / most[1], PALETTE[1])
                share = row["paper"] / most[1]
                inside = share > 0.2
                place, side, colour = (0.0, "center", "white") if inside else (0.04 + share / 2, "left", GREY)
                panels[1].text(place, n, f"{row['paper']:,}", va="center", ha=side, fontsize=SMALL, color=colour)
        for panel, title in zip(panels, (f"build {name}", "the paper"), strict=True):
            panel.set_title(title)
            panel.set_xlim(-0.52, 0.52)
            panel.set_xticks([])
            panel.grid(visible=False)
            panel.spines[["left", "bottom"]].set_visible(False)
            panel.tick_params(left=False)
        panels[0].set_yticks(range(len(mine)), [row["place"] for row in mine])
        panels[0].set_ylim(len(mine) - 0.4, -0.6)

    text = "items that each step kept; grey: items that reached it; +: items that wait, failed or are not done yet"
    return Sketch(0.45 + ROW * len(mine), paint, f"recipe {recipe.name} · {text}")


def _bar(panel: Any, n: int, share: float, colour: str) -> None:
    panel.barh(n, share, left=-share / 2, height=0.8, color=colour, linewidth=0)


def plot_funnel(name: str, recipe: BuildRecipe, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a build's funnel into a file.

    Raises:
        UsageError: matplotlib is missing, or the file's name does not end in a known format.
    """
    with look():
        sketch = funnel_sketch(name, recipe, rows)
    save_figure(compose([sketch], "double"), path)


def mode_grid(modes: FailureModes[Any], counts: Sequence[ModeCounts], caption: str) -> Grid:
    """Return the share of each failure mode by painter; failed requests are left out, unread replies count."""
    words = [*modes.names, *([UNREAD] if any(painter.modes[UNREAD] for painter in counts) else [])]
    cells = []
    for painter in counts:
        whole = painter.wrong - painter.modes[FAILED]
        cells.append(tuple(Quantity(painter.modes[word] / whole if whole else None, n=whole) for word in words))
    columns = tuple(modes.names.get(word, word) for word in words)
    notes = tuple(f"{painter.wrong} of {painter.asked}" for painter in counts)
    text = f"{caption} · {modes.about} · right: number of wrong answers"
    rows = tuple(painter.row for painter in counts)
    return Grid(rows, columns, tuple(cells), "share of the wrong answers", 1.0, text,
                notes=notes)  # fmt: skip


def plot_modes(
    modes: FailureModes[Any], counts: Sequence[ModeCounts], caption: str, path: Path, width: str = "double"
) -> None:
    """Draw the failure modes into a file.

    Raises:
        UsageError: matplotlib is missing, or the file's name does not end in a known format.
    """
    with look():
        sketch = kinds(mode_grid(modes, counts, caption), width)
    save_figure(compose([sketch], width), path)
