"""Plots of all painters together: how far they differ score by score, and how two scores hang together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.plot_data import Dispersion, ScorePair, ScorePairs
from .style import GREY, INK, PALE, PALETTE, SMALL, Sketch, wide

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

DRAWING = PALETTE[0]


def dispersion(frame: Dispersion, width: str) -> Sketch:
    """A bar for each score's deviation, a line for closed less open; the paper's own in grey beside them."""
    turn = 0 if width == "double" else 90
    below = 0.0 if turn == 0 else max(wide(column, SMALL) for column in frame.columns)
    places = range(len(frame.columns))

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        bar = 0.36 if frame.paper else 0.6
        ours = -bar / 2 if frame.paper else 0.0
        panel.bar(
            [n + ours for n in places], [value or 0.0 for value in frame.deviations], bar,
            color=PALETTE[5], label="deviation over painters",
        )  # fmt: skip
        if frame.paper:
            theirs = [deviation or 0.0 for deviation, _ in frame.paper]
            panel.bar(
                [n + bar / 2 for n in places], theirs, bar, color="none", edgecolor=GREY, lw=0.6, hatch="////",
                label="the same in the paper",
            )  # fmt: skip
            _line(panel, [gap for _, gap in frame.paper], GREY, "s", ":", "closed less open in the paper")
        _line(panel, frame.gaps, PALETTE[1], "o", "-", "closed less open painters")
        panel.axhline(0, color=GREY, lw=0.6)
        panel.set_xticks(places, frame.columns, rotation=turn)
        panel.tick_params(axis="x", length=0)
        panel.grid(axis="x", visible=False)
        panel.set_ylabel(frame.label)
        handles, labels = panel.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda n: ("paper" in labels[n], labels[n].startswith("closed")))
        listed = [handles[n] for n in order], [labels[n] for n in order]
        figure.legend(*listed, loc="outside upper left", ncols=4 if width == "double" else 2)

    return Sketch(2.5 + below + (0.15 if width == "single" else 0.0), paint, frame.caption)


def _line(panel: Any, gaps: Any, colour: str, marker: str, line: str, label: str) -> None:
    known = [(n, gap) for n, gap in enumerate(gaps) if gap is not None]
    if known:
        xs, ys = [n for n, _ in known], [gap for _, gap in known]
        panel.plot(xs, ys, ls=line, color=colour, marker=marker, ms=3.4, mec="white", mew=0.3, label=label, zorder=3)


def pairs(frame: ScorePairs, width: str) -> Sketch:
    """A panel for every two scores: single drawings as dots, painters' means as rings, the coefficients above."""
    down, across = (len(frame.pairs), 1) if width == "single" else (1, len(frame.pairs))

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, squeeze=False).ravel()
        for panel, pair in zip(axes, frame.pairs, strict=True):
            _cloud(panel, pair, frame.top)
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], color=DRAWING, marker=".", lw=0, ms=4.5, mew=0, label="a drawing"),
            Line2D([], [], color="none", marker="o", mec=INK, mew=0.8, lw=0, ms=4, label="a painter's mean"),
        ]
        figure.legend(handles=marks, loc="outside upper left", ncols=2)

    return Sketch(down * 2.35 + 0.25, paint, frame.caption)


def _cloud(panel: Any, pair: ScorePair, top: float) -> None:
    xs, ys = [x for x, _ in pair.drawings], [y for _, y in pair.drawings]
    # Thousands of dots would make a file of many megabytes; they are drawn as a picture in it.
    few = len(xs) < 500
    panel.plot(
        xs, ys, ".", color=DRAWING, ms=4.5 if few else 3, mew=0, alpha=0.6 if few else 0.2, rasterized=len(xs) > 2000
    )
    panel.plot(
        [x for _, x, _ in pair.means], [y for _, _, y in pair.means], "o", mfc="none", mec=INK, mew=0.8, ms=4, zorder=3
    )
    panel.set_xlim(-0.03 * top, 1.03 * top)
    panel.set_ylim(-0.03 * top, 1.03 * top)
    panel.set_aspect("equal")
    panel.set_xlabel(pair.one)
    panel.set_ylabel(pair.other)
    panel.set_xticks([0, top / 2, top])
    panel.set_yticks([0, top / 2, top])
    for side in ("top", "right"):
        panel.spines[side].set(visible=True, color=PALE)
    told = [f"{name} {'–' if value is None else f'{value:.2f}'}" for name, value in
            (("Pearson", pair.pearson), ("Spearman", pair.spearman))]  # fmt: skip
    panel.set_title(f"{', '.join(told)} (n = {len(pair.drawings)})", fontsize=SMALL)
