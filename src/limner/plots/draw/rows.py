"""Plots whose rows are painters: dots with intervals, kinds of failure, distributions, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.plot_data import Cell, Grid, Histograms, Spread
from ..style import GREY, INK, MARKERS, PALE, PALETTE, SMALL, WIDTHS, Sketch, fitted, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ROW = 0.125
"""Inches for one painter's row."""
NAMES = {"single": 1.1, "double": 1.75}
"""Inches that names may take."""


def dots(grid: Grid, width: str) -> Sketch:
    """One panel per column, one row per painter: a dot with its interval."""
    most = min({"single": 3, "double": 6}[width], len(grid.columns))
    down = -(-len(grid.columns) // most)
    across = -(-len(grid.columns) // down)
    names = fitted(grid.rows, NAMES[width], SMALL)
    room = (WIDTHS[width] - NAMES[width]) / across - 0.08
    titles = [wrapped(column, room, SMALL) for column in grid.columns]
    lines = max(title.count("\n") + 1 for title in titles)
    height = down * (0.12 + 0.11 * lines + ROW * len(names)) + 0.4

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
        for place, panel in enumerate(axes):
            if place >= len(grid.columns):
                panel.set_visible(False)
                continue
            panel.set_title(titles[place], fontsize=SMALL)
            for row, cells in enumerate(grid.cells):
                dot(panel, row, cells[place], GREY if grid.rows[row] in grid.controls else PALETTE[0])
            _rows(panel, names)
            panel.set_xlim(-0.03 * grid.top, 1.03 * grid.top)
            panel.set_xticks([0, grid.top / 2, grid.top])
            panel.tick_params(labelbottom=place + across >= len(grid.columns))
            _edge(panel)

    return Sketch(height, paint, grid.caption, grid.label)


def dot(panel: Any, row: float, cell: Cell, colour: str, marker: str = "o") -> None:
    """A number with its interval; where there is only what it could be, an open line."""
    if cell.ends is not None:
        known = cell.value is not None
        panel.plot(cell.ends, [row, row], color=colour if known else PALE, lw=0.9 if known else 2.2, zorder=2,
                   solid_capstyle="butt")  # fmt: skip
    if cell.value is not None:
        panel.plot([cell.value], [row], marker, color=colour, ms=3.2, zorder=3, mec="white", mew=0.3)


def _rows(panel: Any, names: Sequence[str]) -> None:
    panel.set_yticks(range(len(names)), names)
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def _edge(panel: Any) -> None:
    """The numbers at an axis' ends stay inside their panel, so that neighbours do not touch."""
    labels = panel.get_xticklabels()
    if labels:
        labels[0].set_ha("left")
        labels[-1].set_ha("right")


def kinds(grid: Grid, width: str) -> Sketch:
    """One row per painter, one mark per kind of failure, the count at the right."""
    names = fitted(grid.rows, NAMES[width], SMALL)
    height = 0.75 + ROW * len(names)

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        most = max((cell.value or 0.0 for row in grid.cells for cell in row), default=0.0)
        for place, column in enumerate(grid.columns):
            found = [(value, n) for n, row in enumerate(grid.cells) if (value := row[place].value) is not None]
            # Kinds with the same share stand a little apart, so that none hides another.
            shift = (place - (len(grid.columns) - 1) / 2) * 0.16
            xs, ys = [value for value, _ in found], [n + shift for _, n in found]
            marker, colour = MARKERS[place % len(MARKERS)], PALETTE[place % len(PALETTE)]
            panel.plot(xs, ys, marker, color=colour, ms=3.4, mec="white", mew=0.3, label=column, clip_on=False)
        _rows(panel, names)
        end = (1.0 if most > 0.5 else most * 1.1) or 1.0
        panel.set_xlim(-0.02 * end, end)
        panel.set_xlabel(grid.label)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if most > 0.1 else f"{value:.1%}")
        panel.locator_params(axis="x", nbins=5)
        if grid.notes:
            right = panel.secondary_yaxis("right")
            right.set_yticks(range(len(names)), grid.notes, fontsize=SMALL)
            right.tick_params(length=0)
            right.spines["right"].set_visible(False)
        _legend(figure, panel, width)

    return Sketch(height, paint, grid.caption)


def _legend(figure: FigureBase, panel: Any, width: str) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4 if width == "single" else 8)


def violins(frame: Spread, width: str) -> Sketch:
    """One panel per score: each painter's drawings as a shape, with quartiles, median and mean."""
    names = fitted(frame.rows, NAMES[width], SMALL)
    down = len(frame.scores) if width == "single" else 1
    across = 1 if width == "single" else len(frame.scores)
    row = 0.19 if len(names) <= 12 else 0.155
    height = down * (0.42 + row * len(names)) + 0.2

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        for place, (panel, score) in enumerate(zip(axes, frame.values, strict=True)):
            for n, values in enumerate(score):
                _violin(panel, n, values, GREY if frame.rows[n] in frame.controls else PALETTE[5])
            _rows(panel, names)
            top = frame.tops[place]
            panel.set_xlim(-0.02 * top, 1.02 * top)
            panel.set_xticks([0, top / 4, top / 2, 3 * top / 4, top])
            panel.set_xlabel(frame.scores[place])
        from matplotlib.lines import Line2D

        legend = [
            Line2D([], [], color=INK, lw=2.2, label="middle half"),
            Line2D([], [], color=INK, marker="|", ms=6, mew=1.2, lw=0, label="median"),
            Line2D([], [], color=PALETTE[1], marker="o", ms=3.2, lw=0, mec="white", mew=0.3, label="mean"),
        ]
        figure.legend(handles=legend, loc="outside upper left", ncols=3)

    return Sketch(height, paint, frame.caption)


def _violin(panel: Any, row: int, values: Sequence[float], colour: str) -> None:
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


def histograms(frame: Histograms, width: str) -> Sketch:
    """One small histogram per painter, one below the other, with the two marks and the share beyond the first."""
    names = fitted(frame.rows, NAMES[width], SMALL)
    row = 0.34 if len(names) <= 12 else 0.24
    height = 0.75 + row * len(names)

    def paint(figure: FigureBase) -> None:
        import numpy as np

        panel = figure.subplots()
        most = max(max(counts, default=0.0) for counts in frame.counts)
        end = max(frame.marks[1] * 1.15, most)
        edges = np.linspace(0, end, 41)
        for n, counts in enumerate(frame.counts):
            heights, _ = np.histogram(counts, edges)
            tall = 0.88 * heights / heights.max() if heights.any() else heights * 0.0
            panel.stairs(n + 0.45 - tall, edges, baseline=n + 0.45, fill=True, color=PALETTE[5], alpha=0.8)
            panel.axhline(n + 0.45, color=PALE, lw=0.5)
        for mark, line, colour in zip(frame.marks, ("--", ":"), (PALETTE[1], PALETTE[6]), strict=True):
            panel.axvline(mark, ls=line, color=colour, lw=0.9, label=f"{mark:g} {frame.unit}")
        _rows(panel, names)
        panel.grid(axis="y", visible=False)
        panel.set_xlim(0, end)
        panel.set_xlabel(f"{frame.unit} in a drawing")
        right = panel.secondary_yaxis("right")
        right.set_yticks(range(len(names)), [f"{first:.0%}" for first, _ in frame.above], fontsize=SMALL)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)
        panel.set_title(f"above {frame.marks[0]:g}", loc="right", fontsize=SMALL)
        _legend(figure, panel, width)

    return Sketch(height, paint, frame.caption)
