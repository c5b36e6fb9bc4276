"""How the scores of single drawings spread: one shape per painter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import UsageError
from ..core.plot_data import Spread, abstained, left_out, shown
from ..core.protocol import Score
from ..scoring import MET, Entry
from ..scoring.numbers import shares
from .rows import NAMES, named_rows
from .source import StoreSource
from .style import GREY, INK, PALETTE, SMALL, Sketch

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

MOST_SCORES = 3
FEW = 5
"""A score that takes no more values than this has no distribution worth a look."""


def distribution(source: StoreSource) -> Spread:
    """Numbers of single drawings: of the score asked for, or of up to three leading ones that take many values."""
    inside = source.field.inside
    wanted = [source.score]
    if not source.choice.score and source.score is not MET:
        wanted = [score for score in source.protocol.scored if score.main]
    found = {score: tuple(_values(source, entries, score) for entries in inside) for score in wanted}
    many = [score for score in wanted if len({value for row in found[score] for value in row}) > FEW]
    chosen = (many or [source.score])[:MOST_SCORES]
    values = tuple(found[score] for score in chosen)
    if not any(row for score in values for row in score):
        raise UsageError(f"{source.exam}: no drawing has the score {chosen[0].name}; pick another with --score")
    scores, tops = tuple(map(shown, chosen)), tuple(score.top for score in chosen)
    return Spread(source.names, scores, tops, values, source.caption + _abstained(source, chosen), source.controls)


def _values(source: StoreSource, entries: tuple[Entry, ...], score: Score) -> tuple[float, ...]:
    if score is MET:
        met = [list(shares(entry, source.protocol).values()) for entry in entries]
        return tuple(100 * sum(each) / len(each) for each in met if each)
    if abstained([entry.row for entry in entries], score.name):
        return ()
    return tuple(value for entry in entries if (value := entry.scores.get(score.name)) is not None)


def _abstained(source: StoreSource, chosen: Sequence[Score]) -> str:
    if MET in chosen:
        return ""
    count = sum(any(abstained(rows, score.name) for score in chosen) for rows in source.rows)
    return left_out(count, "the judge abstained")


def violins(frame: Spread, width: str) -> Sketch:
    """One panel per score: each painter's drawings as a shape, with quartiles, median and mean."""
    down, across = (len(frame.scores), 1) if width == "single" else (1, len(frame.scores))
    rows = named_rows(frame.rows, NAMES[width], 0.19 if len(frame.rows) <= 12 else 0.155)
    height = down * (0.54 + rows.height) + 0.2

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        for panel, name, top, score in zip(axes, frame.scores, frame.tops, frame.values, strict=True):
            for n, values in enumerate(score):
                _violin(panel, rows.at[n], values, GREY if frame.rows[n] in frame.controls else PALETTE[5])
            rows.set(panel)
            panel.set_xlim(-0.02 * top, 1.02 * top)
            panel.set_xticks([0, top / 4, top / 2, 3 * top / 4, top])
            panel.set_xlabel(name)
            panel.set_title(_counted(score), fontsize=SMALL)
        from matplotlib.lines import Line2D

        legend = [
            Line2D([], [], color=INK, lw=2.2, label="middle half"),
            Line2D([], [], color=INK, marker="|", ms=6, mew=1.2, lw=0, label="median"),
            Line2D([], [], color=PALETTE[1], marker="o", ms=3.2, lw=0, mec="white", mew=0.3, label="mean"),
        ]
        figure.legend(handles=legend, loc="outside upper left", ncols=3)

    return Sketch(height, paint, frame.caption)


def _counted(values: Sequence[Sequence[float]]) -> str:
    counts = sorted({len(each) for each in values if each})
    said = " to ".join(dict.fromkeys(str(count) for count in (*counts[:1], *counts[-1:])))
    return f"n = {said} drawings a painter"


def _violin(panel: Any, row: float, values: Sequence[float], colour: str) -> None:
    import numpy as np

    if not values:
        return
    if len(set(values)) > 2:
        shape = panel.violinplot([values], [row], orientation="horizontal", widths=0.95, showextrema=False, points=80)
        for body in shape["bodies"]:
            body.set(facecolor=colour, edgecolor="none", alpha=0.55)
            # A smooth shape runs past the data; what was never measured is not shown.
            paths = body.get_paths()[0].vertices
            paths[:, 0] = np.clip(paths[:, 0], min(values), max(values))
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    panel.plot([low, high], [row, row], color=INK, lw=2.2, solid_capstyle="butt", zorder=3)
    panel.plot([middle], [row], "|", color=INK, ms=6, mew=1.2, zorder=4)
    panel.plot([float(np.mean(values))], [row], "o", color=PALETTE[1], ms=3.2, mec="white", mew=0.3, zorder=5)
