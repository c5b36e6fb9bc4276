"""Plots in rows: dots with intervals, kinds of failure, histograms, violins, and the funnel of a build."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from ...core.errors import UsageError
from ...core.plot_data import (
    Grid,
    Histograms,
    Quantity,
    Spread,
    describe_left_out,
    has_abstentions,
    least_to_most,
    plain_tag,
    score_with_scale,
)
from ...core.protocol import UNREAD, FailureModes, Score
from ...scoring import MET, Entry, Group
from ...scoring.compare.pairs import side_pairs
from ...scoring.numbers import shares
from ..tables.analyses import FAILED, ModeCounts
from . import style as st
from .multiples import panels, rectangle
from .source import StoreSource
from .style import Sketch, broken, lines_of, save_sketch, whole, wide, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

    from ...build.recipe import BuildRecipe

ROW = 0.125
"""The height of a painter's row, in inches."""
NAMES = {"single": 1.3, "double": 2.3}
"""Inches for a line of a name."""


@dataclass(frozen=True)
class NamedRows:
    """Rows with their full names; a name of several lines makes its row taller.

    Attributes:
        at: The middle of each row, from the top, in units of `inches`.
        tall: The height of each row, in the same units.
    """

    names: tuple[str, ...]
    at: tuple[float, ...]
    tall: tuple[float, ...]
    inches: float

    @property
    def height(self) -> float:
        """The total height of the rows, in inches."""
        return sum(self.tall) * self.inches

    def set(self, panel: Any) -> None:
        """Write the names to the left of a panel, the first at the top."""
        panel.set_yticks(self.at, self.names, linespacing=st.SPACING)
        panel.set_ylim(sum(self.tall) - 0.4, -0.6)
        panel.tick_params(axis="y", length=0)

    @property
    def edges(self) -> list[float]:
        """The positions at which rows begin, and the end of the last row."""
        return [at - tall / 2 for at, tall in zip(self.at, self.tall, strict=True)] + [sum(self.tall) - 0.5]

    @property
    def between(self) -> list[float]:
        """The positions between rows."""
        return self.edges[1:-1]


def named_rows(names: Sequence[str], room: float, inches: float) -> NamedRows:
    """Return rows at least `inches` high, with names in lines of at most `room` inches."""
    labels = whole(names, room)
    tall = [max(1.0, (lines_of([label]) * st.LINE + 0.025) / inches) for label in labels]
    ends = list(accumulate(tall))
    at = [end - high / 2 - 0.5 for end, high in zip(ends, tall, strict=True)]
    return NamedRows(tuple(labels), tuple(at), tuple(tall), inches)


def _set_notes(panel: Any, rows: NamedRows, notes: Sequence[str]) -> None:
    """Write notes at the right ends of the rows."""
    right = panel.secondary_yaxis("right")
    right.set_yticks(rows.at, notes, fontsize=st.SMALL)
    right.tick_params(length=0)
    right.spines["right"].set_visible(False)


def _legend(figure: FigureBase, panel: Any, width: str) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=4 if width == "single" else 8)


def dots(grid: Grid, width: str) -> Sketch:
    """Sketch one panel per column and one row per painter: a dot with its interval."""
    down, across = rectangle(len(grid.columns), {"single": 3, "double": 6}[width])
    rows = named_rows(grid.rows, NAMES[width], ROW)
    left = max(wide(line, st.SMALL) for name in rows.names for line in name.split("\n"))
    room = (st.WIDTHS[width] - left - 0.1) / across - 0.08
    titles = [f"{wrapped(column, room, st.SMALL)}\n{grid.counted(place)}" for place, column in enumerate(grid.columns)]
    height = down * (0.12 + 0.11 * lines_of(titles) + rows.height) + 0.4

    def paint(figure: FigureBase) -> None:
        for place, panel in panels(figure, titles, down, across):
            for row, cells in enumerate(grid.cells):
                _dot(panel, rows.at[row], cells[place], st.GREY if grid.rows[row] in grid.controls else st.PALETTE[0])
            rows.set(panel)
            panel.set_xlim(-0.03 * grid.top, 1.03 * grid.top)
            panel.set_xticks([0, grid.top / 2, grid.top])
            # The numbers at an axis' ends stay inside their panel, so that neighbours do not touch.
            labels = panel.get_xticklabels()
            for label, side in zip((*labels[:1], *labels[-1:]), ("left", "right"), strict=False):
                label.set_ha(side)

    return Sketch(height, paint, grid.caption, grid.label)


def _dot(panel: Any, row: float, cell: Quantity, colour: str) -> None:
    """Draw a number with its interval, or only a line for its possible range."""
    _interval(panel, row, cell, colour)
    if cell.value is not None:
        panel.plot([cell.value], [row], "o", color=colour, ms=3.2, zorder=3, mec="white", mew=0.3)


def _interval(panel: Any, row: float, cell: Quantity, colour: str) -> None:
    if cell.ends is not None:
        tone, thick = (colour, 0.9) if cell.value is not None else (st.PALE, 2.2)
        panel.plot(cell.ends, [row, row], color=tone, lw=thick, zorder=2, solid_capstyle="butt")


def mark_columns(panel: Any, grid: Grid, columns: Sequence[str], rows: NamedRows, step: float) -> None:
    """Draw a marker with its interval for each column into every row, `step` apart, so that none is hidden."""
    for place, column in enumerate(columns):
        colour, marker = st.PALETTE[place % len(st.PALETTE)], st.MARKERS[place % len(st.MARKERS)]
        shifted = [at + (place - (len(columns) - 1) / 2) * step for at in rows.at]
        cells = [row[place] for row in grid.cells]
        for at, cell in zip(shifted, cells, strict=True):
            _interval(panel, at, cell, colour)
        points = [(cell.value, at) for at, cell in zip(shifted, cells, strict=True) if cell.value is not None]
        panel.plot([x for x, _ in points], [y for _, y in points], marker, color=colour, ms=3.4, mec="white", mew=0.3,
                   label=column, zorder=3, clip_on=False)  # fmt: skip


def failures(source: StoreSource) -> Grid:
    """Return the share of drawings without a score, by reason.

    Raises:
        UsageError: Nothing has failed.
    """
    # Includes painters without any score; controls come last.
    groups = sorted([*source.field.groups, *source.field.left_out], key=lambda group: group.control)
    counts = [_kinds(group) for group in groups]
    kinds = sorted({kind for count, _ in counts for kind in count})
    if not kinds:
        raise UsageError(f"{source.exam}: every drawing has a score; there is no failure to show")
    cells = tuple(tuple(Quantity(count[kind] / whole, n=whole) for kind in kinds) for count, whole in counts)
    notes = tuple(f"{count.total()} of {whole}" for count, whole in counts)
    names, controls = tuple(g.name for g in groups), frozenset(g.name for g in groups if g.control)
    label, caption = "share of attempted drawings", source.caption + " · right: number without a score"
    return Grid(names, tuple(map(plain_tag, kinds)), cells, label, 1.0, caption, controls, notes)


def _kinds(group: Group) -> tuple[Counter[str], int]:
    """Count a painter's drawings without a score by kind (each repeat separately), and all its drawings."""
    tried = [entry for entry in group.entries if entry.status != "not_applicable"]
    return Counter(entry.status for entry in tried if not entry.scored), len(tried)


def kinds(grid: Grid, width: str) -> Sketch:
    """Sketch one row per painter, with a marker for each kind of failure and the count at the right."""
    rows = named_rows(grid.rows, NAMES[width], ROW)
    height = 0.75 + rows.height

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        most = max((cell.value or 0.0 for row in grid.cells for cell in row), default=0.0)
        mark_columns(panel, grid, grid.columns, rows, 0.16)
        rows.set(panel)
        end = (1.0 if most > 0.5 else most * 1.1) or 1.0
        panel.set_xlim(-0.02 * end, 1.03 * end)
        panel.set_xlabel(grid.label)
        panel.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}" if most > 0.1 else f"{value:.1%}")
        panel.locator_params(axis="x", nbins=5)
        if grid.notes:
            _set_notes(panel, rows, grid.notes)
        _legend(figure, panel, width)

    return Sketch(height, paint, grid.caption)


def histograms(frame: Histograms, width: str) -> Sketch:
    """Sketch one small histogram per painter, with the two limits and the share above the first."""
    rows = named_rows(frame.rows, NAMES[width], 0.34 if len(frame.rows) <= 12 else 0.24)
    height = 0.75 + rows.height

    def paint(figure: FigureBase) -> None:
        import numpy as np

        panel = figure.subplots()
        most = max(max(counts, default=0.0) for counts in frame.counts)
        end = max(frame.marks[1] * 1.15, most)
        edges = np.linspace(0, end, 41)
        for n, counts in enumerate(frame.counts):
            heights, _ = np.histogram(counts, edges)
            tall = 0.88 * heights / heights.max() if heights.any() else heights * 0.0
            foot = rows.at[n] + 0.45
            panel.stairs(foot - tall, edges, baseline=foot, fill=True, color=st.PALETTE[5], alpha=0.8)
            panel.axhline(foot, color=st.PALE, lw=0.5)
        for mark, line, colour in zip(frame.marks, ("--", ":"), (st.PALETTE[1], st.PALETTE[6]), strict=True):
            panel.axvline(mark, ls=line, color=colour, lw=0.9, label=f"{mark:g} {frame.unit}")
        rows.set(panel)
        panel.grid(axis="y", visible=False)
        panel.set_xlim(0, end)
        panel.set_xlabel(f"{frame.unit} in a drawing;\nheight: share of the painter's drawings")
        pairs = zip(frame.above, frame.counts, strict=True)
        _set_notes(panel, rows, [f"{first:.0%} (n={len(counts)})" for (first, _), counts in pairs])
        panel.set_title(f"above {frame.marks[0]:g}", loc="right", fontsize=st.SMALL)
        _legend(figure, panel, width)

    return Sketch(height, paint, frame.caption)


MOST_SCORES = 3
FEW = 5
"""The number of distinct values up to which a score has no distribution worth showing."""


def distribution(source: StoreSource) -> Spread:
    """Return the values of single drawings, for the requested score or for up to three leading ones."""
    inside = source.field.inside
    wanted = [source.score]
    if not source.choice.score and source.score is not MET:
        wanted = [score for score in source.protocol.scored if score.main]
    values_by_score = {score: tuple(drawing_values(source, entries, score) for entries in inside) for score in wanted}
    many = [score for score in wanted if len({value for row in values_by_score[score] for value in row}) > FEW]
    chosen = (many or [source.score])[:MOST_SCORES]
    values = tuple(values_by_score[score] for score in chosen)
    if not any(row for score in values for row in score):
        raise UsageError(f"{source.exam}: no drawing has the score {chosen[0].name}; pick another with --score")
    scores, tops = tuple(map(score_with_scale, chosen)), tuple(score.top for score in chosen)
    return Spread(source.names, scores, tops, values, source.caption + _abstained(source, chosen), source.controls)


def drawing_values(source: StoreSource, entries: tuple[Entry, ...], score: Score) -> tuple[float, ...]:
    """Return the score of each drawing; nothing if the judge abstained on any."""
    if score is MET:
        met = [list(shares(entry, source.protocol).values()) for entry in entries]
        return tuple(100 * sum(each) / len(each) for each in met if each)
    if has_abstentions([entry.row for entry in entries], score.name):
        return ()
    return tuple(value for entry in entries if (value := entry.scores.get(score.name)) is not None)


def _abstained(source: StoreSource, chosen: Sequence[Score]) -> str:
    if MET in chosen:
        return ""
    count = sum(any(has_abstentions(rows, score.name) for score in chosen) for rows in source.rows)
    return describe_left_out(count, "the judge abstained")


def violins(frame: Spread, width: str) -> Sketch:
    """Sketch one panel per score: each painter's drawings as a violin, with quartiles, median and mean."""
    down, across = (len(frame.scores), 1) if width == "single" else (1, len(frame.scores))
    rows = named_rows(frame.rows, NAMES[width], 0.19 if len(frame.rows) <= 12 else 0.155)
    height = down * (0.54 + rows.height) + 0.2

    def paint(figure: FigureBase) -> None:
        axes = figure.subplots(down, across, sharey=True, squeeze=False).ravel()
        for panel, name, top, score in zip(axes, frame.scores, frame.tops, frame.values, strict=True):
            for n, values in enumerate(score):
                _violin(panel, rows.at[n], values, st.GREY if frame.rows[n] in frame.controls else st.PALETTE[5])
            rows.set(panel)
            panel.set_xlim(-0.02 * top, 1.02 * top)
            panel.set_xticks([0, top / 4, top / 2, 3 * top / 4, top])
            panel.set_xlabel(name)
            panel.set_title(_counted(score), fontsize=st.SMALL)
        from matplotlib.lines import Line2D

        legend = [
            Line2D([], [], color=st.INK, lw=2.2, label="middle half"),
            Line2D([], [], color=st.INK, marker="|", ms=6, mew=1.2, lw=0, label="median"),
            Line2D([], [], color=st.PALETTE[1], marker="o", ms=3.2, lw=0, mec="white", mew=0.3, label="mean"),
        ]
        figure.legend(handles=legend, loc="outside upper left", ncols=3)

    return Sketch(height, paint, frame.caption)


def _counted(values: Sequence[Sequence[float]]) -> str:
    return f"n = {least_to_most(len(each) for each in values if each)} drawings a painter"


def _violin(panel: Any, row: float, values: Sequence[float], colour: str) -> None:
    import numpy as np

    if not values:
        return
    if len(set(values)) > 2:
        shape = panel.violinplot([values], [row], orientation="horizontal", widths=0.95, showextrema=False, points=80)
        for body in shape["bodies"]:
            body.set(facecolor=colour, edgecolor="none", alpha=0.55)
            # A smooth shape extends beyond the data; cut it at the measured range.
            paths = body.get_paths()[0].vertices
            paths[:, 0] = np.clip(paths[:, 0], min(values), max(values))
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    panel.plot([low, high], [row, row], color=st.INK, lw=2.2, solid_capstyle="butt", zorder=3)
    panel.plot([middle], [row], "|", color=st.INK, ms=6, mew=1.2, zorder=4)
    panel.plot([float(np.mean(values))], [row], "o", color=st.PALETTE[1], ms=3.2, mec="white", mew=0.3, zorder=5)


GAPS_HEIGHT = 1.9


@dataclass(frozen=True)
class Gaps:
    """Two painters' difference on every question that both have, the largest first.

    Attributes:
        mean: The mean difference with its interval.
        label: The score, with its scale.
    """

    first: str
    second: str
    gaps: tuple[float, ...]
    mean: Quantity
    label: str
    caption: str


def question_gaps(source: StoreSource) -> Gaps:
    """Return the differences between the best two painters.

    Raises:
        UsageError: There are fewer than two painters with the score.
    """
    pairs = side_pairs(source.field, source.score)
    if not pairs:
        raise UsageError(f"{source.exam}: two painters with {source.score.name} are needed")
    pair = pairs[0]
    one, other = (_by_question(source, source.field.names.index(name)) for name in (pair.first, pair.second))
    gaps = sorted((one[id] - other[id] for id in one.keys() & other.keys()), reverse=True)
    mean = Quantity(pair.difference.value, pair.difference.low, pair.difference.high, len(gaps))
    caption = f"{source.caption} · bars: one per question · line and band: mean with 95% interval"
    return Gaps(pair.first, pair.second, tuple(gaps), mean, score_with_scale(source.score), caption)


def _by_question(source: StoreSource, place: int) -> dict[str, float]:
    """Return a painter's mean value on each question; questions without a value are left out."""
    entries: dict[str, list[Entry]] = {}
    for entry in source.field.inside[place]:
        entries.setdefault(entry.question.id, []).append(entry)
    values = {id: drawing_values(source, tuple(some), source.score) for id, some in entries.items()}
    return {id: fmean(some) for id, some in values.items() if some}


def gap_bars(frame: Gaps, width: str) -> Sketch:
    """Sketch one bar per question, with the mean difference as a line and its interval as a band."""

    def paint(figure: FigureBase) -> None:
        panel = figure.subplots()
        colours = [st.PALETTE[0] if gap > 0 else st.PALETTE[1] for gap in frame.gaps]
        panel.bar(range(1, len(frame.gaps) + 1), frame.gaps, width=0.9, color=colours)
        panel.axhline(0, color=st.GREY, lw=0.6)
        if frame.mean.ends is not None:
            panel.axhspan(*frame.mean.ends, color=st.INK, alpha=0.12, lw=0)
        if frame.mean.value is not None:
            panel.axhline(frame.mean.value, color=st.INK, lw=0.9)
        panel.set_xlim(0.4, len(frame.gaps) + 0.6)
        panel.set_ylabel(wrapped(frame.label, GAPS_HEIGHT - 0.5))
        panel.set_xlabel(_count_gaps(frame.gaps))
        panel.set_title(
            broken(f"{frame.first} minus {frame.second}", st.WIDTHS[width] - 0.8), fontsize=st.SMALL, loc="left"
        )

    return Sketch(GAPS_HEIGHT, paint, frame.caption)


def _count_gaps(gaps: Sequence[float]) -> str:
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    return f"questions: first better on {better}, second on {worse}, equal on {len(gaps) - better - worse}"


FUNNEL_ROW = 0.2


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
            _bar(panels[0], n, row["arrived"] / most[0], st.PALE)
            _bar(panels[0], n, left / most[0], st.PALETTE[0])
            waiting = row["waiting"] + row["pending"] + sum(row["failed"].values())
            label = f"{left:,}" + (f" (+{waiting:,})" if waiting else "")
            panels[0].text(
                0.0, n, label, ha="center", va="center", fontsize=st.SMALL, color="white" if left else st.GREY
            )
            if row["paper"] is not None:
                _bar(panels[1], n, row["paper"] / most[1], st.PALETTE[1])
                share = row["paper"] / most[1]
                inside = share > 0.2
                place, side, colour = (0.0, "center", "white") if inside else (0.04 + share / 2, "left", st.GREY)
                panels[1].text(place, n, f"{row['paper']:,}", va="center", ha=side, fontsize=st.SMALL, color=colour)
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
    return Sketch(0.45 + FUNNEL_ROW * len(mine), paint, f"recipe {recipe.name} · {text}")


def _bar(panel: Any, n: int, share: float, colour: str) -> None:
    panel.barh(n, share, left=-share / 2, height=0.8, color=colour, linewidth=0)


def plot_funnel(name: str, recipe: BuildRecipe, rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw a build's funnel into a file.

    Raises:
        UsageError: matplotlib is missing, or the file's name does not end in a known format.
    """
    save_sketch(partial(funnel_sketch, name, recipe, rows), "double", path)


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
    save_sketch(partial(kinds, mode_grid(modes, counts, caption), width), width, path)
