"""Small multiples: one panel per painter, readable even for twenty-five painters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import exams
from ...core.plot_data import Bands, Grid
from ...exams.paper import rows
from ...scoring.alignment import Alignment, alignments
from ...scoring.groups import stored_exam
from ...scoring.stats import Correlation
from ...store.store import using_store
from . import style as st
from .source import PlotChoice
from .style import Sketch, fit, lines_of, whole, wide, words_height, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

ACROSS = {"single": 3, "double": 6}
MANY = 18
"""The number of panels above which they are closer together."""
NAMES = {"single": 1.0, "double": 2.3}
"""The most inches of a column's name."""
PAD = 3.0
"""Points between a panel and its title; half of that if there are many panels."""
DENSITY_BINS, DENSITY_TALL = 24, 0.3
"""The most bars of a density, and the height of the highest in a panel of height 1."""


def rectangle(count: int, most: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of panels, preferring a full rectangle.

    >>> rectangle(7, 6), rectangle(2, 6)
    ((2, 4), (1, 2))
    """
    down = -(-count // most)
    return down, -(-count // down)


def panels(
    figure: FigureBase, titles: Sequence[str], down: int, across: int, share: bool = True
) -> Iterator[tuple[int, Any]]:
    """Yield a panel for each title, with its number; without `share`, panels share only the horizontal axis."""
    axes = figure.subplots(down, across, sharex=True, sharey=share, squeeze=False).ravel()
    for unused in axes[len(titles) :]:
        unused.set_visible(False)
    for n, (panel, title) in enumerate(zip(axes, titles, strict=False)):
        panel.set_title(title, fontsize=st.SMALL, linespacing=st.SPACING, pad=PAD / (1 + (len(titles) > MANY)))
        panel.tick_params(labelbottom=n + across >= len(titles))
        yield n, panel


def profiles(grid: Grid, width: str) -> Sketch:
    """Sketch one panel per painter: its line over the columns with intervals, and the other painters' lines in grey."""
    columns = [fit(column, NAMES[width], st.SMALL) for column in grid.columns]
    # If columns differ in their number of questions, each shows its number; otherwise each panel does.
    counts_shown = [grid.counted(place) for place in range(len(columns))]
    apart = len(set(counts_shown)) > 1
    if apart:
        columns = [f"{column} ({count.replace(' ', '')})" for column, count in zip(columns, counts_shown, strict=True)]
    counts = [0 if apart else cells[0].n for cells in grid.cells]
    left = max(wide(column, st.SMALL) for column in columns) + 0.06
    # Many panels are less high, so that they fit on a page.
    tall = max(0.5, (0.115 if len(grid.rows) <= MANY else 0.1) * len(columns))
    least = max(0.5, st.LINE * len(columns))

    def draw_panel(panel: Any, n: int) -> None:
        _line(panel, grid, [m for m in range(len(grid.rows)) if m != n], st.PALE, 0.5)
        colour = st.GREY if grid.rows[n] in grid.controls else st.PALETTE[0]
        for place, cell in enumerate(grid.cells[n]):
            if cell.ends is not None:
                shade = colour if cell.value is not None else st.GREY
                panel.plot(cell.ends, [place, place], color=shade, lw=2.0, alpha=0.4, solid_capstyle="butt")
        _line(panel, grid, [n], colour, 1.1, "o")
        panel.set_yticks(range(len(columns)), columns)
        panel.set_ylim(len(columns) - 0.6, -0.4)
        panel.set_xlim(-0.03, 1.03)
        panel.set_xticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.tick_params(axis="y", length=0)

    return _multiples(grid.rows, width, left, (least, tall), draw_panel, grid.label, grid.caption, counts)


def _line(panel: Any, grid: Grid, rows: Sequence[int], colour: str, thick: float, marker: str | None = None) -> None:
    """Draw a line for each of these rows, as a single artist, since many artists are slow."""
    xs: list[float] = []
    ys: list[float] = []
    for row in rows:
        points = [(cell.value, place) for place, cell in enumerate(grid.cells[row]) if cell.value is not None]
        xs += [*(value for value, _ in points), nan]
        ys += [*(float(place) for _, place in points), nan]
    panel.plot(xs, ys, color=colour, lw=thick, marker=marker, ms=2.4, zorder=3 if marker else 1)


def _multiples(
    rows: Sequence[str],
    width: str,
    left: float,
    tall: tuple[float, float],
    draw_panel: Callable[[Any, int], None],
    label: str,
    caption: str,
    counts: Sequence[int],
    legend: Callable[[FigureBase], None] | None = None,
    side: str = "",
) -> Sketch:
    """Sketch panels with the larger of the two heights `tall`; if a page is too short, down to the smaller."""
    down, across = rectangle(len(rows), ACROSS[width])
    room = (st.WIDTHS[width] - left) / across - 0.07
    titles = whole(rows, room)
    if len(set(counts)) > 1:
        titles = [_with_count(title, count, room) for title, count in zip(titles, counts, strict=True)]
    elif counts[0]:
        label = f"{label}; n = {counts[0]} in each panel"
    more = sum(lines_of(titles[row * across : (row + 1) * across]) - 1 for row in range(down))
    around = down * (0.2 if len(rows) <= MANY else 0.2 - PAD / 144) + st.LINE * more + 0.38 + (0.2 if legend else 0.0)

    def paint(figure: FigureBase) -> None:
        for n, panel in panels(figure, titles, down, across):
            draw_panel(panel, n)
        if legend:
            legend(figure)
        if side:
            figure.supylabel(side, fontsize=st.NORMAL)

    sketch = Sketch(around, paint, caption, label)
    free = (st.PAGE - around - words_height(sketch, width)) / down - 0.001
    return replace(sketch, height=around + down * min(tall[1], max(tall[0], free)))


def _with_count(title: str, count: int, room: float) -> str:
    """Return a title with its number of drawings, after the name if there is room, else below it."""
    last = f"{title.split(chr(10))[-1]}, n = {count}"
    return f"{title}, n = {count}" if wide(last, st.SMALL) <= room else f"{title}\nn = {count}"


def bands(frame: Bands, width: str) -> Sketch:
    """Sketch one panel per painter: scores by the questions' size with quartiles, and the density of the sizes."""
    every = [size for sizes in frame.sizes for size in sizes]
    edges = np.linspace(min(every) - 0.5, max(every) + 0.5, min(DENSITY_BINS, max(every) - min(every) + 1) + 1)

    def draw_panel(panel: Any, n: int) -> None:
        shares, _ = np.histogram(frame.sizes[n], edges)
        panel.stairs(DENSITY_TALL * shares / shares.max(), edges, fill=True, color=st.PALE, lw=0, zorder=0)
        for place, bins in enumerate(frame.bins[n]):
            colour, marker = st.PALETTE[place], st.MARKERS[place]
            xs = [sum(each.size) / 2 for each in bins]
            panel.fill_between(
                xs, [each.q1 for each in bins], [each.q3 for each in bins], color=colour, alpha=0.18, lw=0
            )
            panel.plot(xs, [each.mean for each in bins], color=colour, marker=marker, ms=2.6)
        panel.set_ylim(-0.03, 1.03)
        panel.set_yticks([0, 0.5, 1], ["0", ".5", "1"])
        panel.locator_params(axis="x", nbins=3, integer=True)

    def legend(figure: FigureBase) -> None:
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], color=st.PALETTE[n], marker=st.MARKERS[n], ms=2.6, label=name.upper())
            for n, name in enumerate(frame.scores)
        ]
        figure.legend(handles=marks, loc="outside upper left", ncols=3)

    label = f"{frame.label}; line: mean, band: middle half, grey: how many drawings"
    # Many panels are less high, so that they fit on a page with a long caption.
    tall = 0.75 if len(frame.rows) <= MANY else 0.65
    counts = [len(sizes) for sizes in frame.sizes]
    return _multiples(
        frame.rows, width, 0.36, (0.45, tall), draw_panel, label, frame.caption, counts, legend, "score (of 1)"
    )


FILE = "alignment"
"""The file with the correlations that an exam's paper prints: evaluator, name, measure, value, unit, source."""
OWN = "judge"
"""The word in that file for a judge that marks by the exam's own protocol."""
MEASURE = "spearman"
"""The default measure, if the paper shows none."""
SIGNS = {"spearman": "ρ", "pearson": "r"}


@dataclass(frozen=True)
class AlignmentPanel:
    """The panel of one evaluator: its points, its correlation with people, and the published one with its name."""

    aligned: Alignment
    correlation: Correlation
    published: tuple[str, float] | None


@dataclass(frozen=True)
class AlignmentPanels:
    """The panels of all evaluators that are compared with people, and the names of the paper's that lack numbers."""

    panels: tuple[AlignmentPanel, ...]
    measure: str
    asked: str
    caption: str
    lacking: tuple[str, ...] = ()


def people(exam: str, choice: PlotChoice) -> AlignmentPanels:
    """Return the panels of the plot ``people``, one per evaluator; `choice.by` makes a point per value of a tag.

    Raises:
        UsageError: There are no numbers from people, or from other evaluators.
    """
    which = {name: value for name, value in choice.which.items() if name != "judges"}
    how: dict[str, Any] = {"judges": choice.judges, "scale": choice.score, "tag": choice.by, "reading": choice.reading}
    how["study"] = choice.study
    aligned = alignments(exam, store=choice.store, **how, **which)
    with using_store(choice.store) as store:
        kind = stored_exam(exam, store).kind
    printed = rows(kind, FILE)
    measure = printed[0]["measure"] if printed else MEASURE
    made = tuple(_panel(each, measure, printed) for each in aligned)
    by = f" x {choice.by}" if choice.by else ""
    parts = [
        exams.stored_name(exam),
        f"people{f' of {choice.study}' if choice.study else ''}: {aligned[0].asked}",
        f"each point a painter{by}",
        f"reading {choice.reading}",
    ]
    if any(panel.correlation.low is not None for panel in made):
        parts.append("[low, high]: 95% interval over painters")
    if printed:
        parts.append(f"paper: {printed[0]['source']}")
    known = {panel.published[0] for panel in made if panel.published}
    lacking = tuple(row["name"] for row in printed if row["name"] not in known)
    return AlignmentPanels(made, measure, f"people: {aligned[0].asked}", " · ".join(parts), lacking)


def _panel(aligned: Alignment, measure: str, printed: Sequence[dict[str, str]]) -> AlignmentPanel:
    sort = aligned.judge if aligned.judge.startswith("metric/") else OWN
    fitting = [row for row in printed if fnmatchcase(sort, row["evaluator"])]
    paper = (fitting[0]["name"], float(fitting[0]["value"])) if fitting else None
    return AlignmentPanel(aligned, aligned.measure(measure), paper)


def alignment(frame: AlignmentPanels, width: str) -> Sketch:
    """Sketch points in a plane for every evaluator, with a common legend of painters."""
    down, across = rectangle(len(frame.panels), {"single": 2, "double": 4}[width])
    names = sorted({point.painter for panel in frame.panels for point in panel.aligned.points})
    legend = whole(names, 1.35)
    room = st.WIDTHS[width] / across - 0.3
    titles = [_title(panel, frame.measure, room) for panel in frame.panels]
    lines = max(title.count("\n") + 1 for title in titles)
    columns = 2 if width == "single" else 4
    height = down * (1.35 + 0.12 * lines) + 0.14 * lines_of(legend) * -(-len(names) // columns) + 0.3

    def paint(figure: FigureBase) -> None:
        drawn: dict[str, Any] = {}
        for place, panel in panels(figure, titles, down, across, share=False):
            for at, name in enumerate(names):
                mine = [point for point in frame.panels[place].aligned.points if point.painter == name]
                if mine:
                    style = {"color": st.PALETTE[at % len(st.PALETTE)], "marker": st.MARKERS[at % len(st.MARKERS)]}
                    dots = panel.scatter([p.people for p in mine], [p.evaluator for p in mine], s=14, linewidths=0.3,
                                         edgecolors="white", zorder=3, **style)  # fmt: skip
                    drawn.setdefault(name, dots)
            panel.set_ylabel(frame.panels[place].aligned.scale, color=st.INK)
            panel.grid(color=st.GREY, alpha=0.2, lw=0.4)
            panel.margins(0.12)
            # Limit the number of ticks: numbers that become longer after the layout would overlap the label.
            panel.locator_params(nbins=5)
        shown = [(drawn[name], short) for name, short in zip(names, legend, strict=True) if name in drawn]
        figure.legend([dot for dot, _ in shown], [short for _, short in shown], loc="outside upper left", ncols=columns)

    return Sketch(height, paint, frame.caption, frame.asked)


def _title(panel: AlignmentPanel, measure: str, room: float) -> str:
    number = panel.correlation
    ends = "" if number.low is None else f" [{_signed(number.low, 2)}, {_signed(number.high, 2)}]"
    lines = [panel.aligned.evaluator, f"{SIGNS[measure]} = {_signed(number.value)}{ends}", f"n = {number.n}"]
    if panel.published is not None:
        name, value = panel.published
        lines.append(f"paper: {_signed(value)} ({name})")
    return "\n".join(wrapped(line, room, st.SMALL) for line in lines)


def _signed(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
