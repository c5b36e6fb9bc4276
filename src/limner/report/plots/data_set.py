"""The plot ``data``: what an exam's data set contains, counted, then drawn as panels in rows on one page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import exams
from ...core.errors import StoreError, UsageError
from ...core.exam import Exam, Question
from ...core.plot_data import BarPanel, DataSheet, HistogramPanel, MapPanel, Panel, QuartilePanel, WordsPanel, plain_tag
from ...exams import Kind, paper
from ...exams.paper import DataPanel, PrintedNumbers, data_panels
from ...running.setup import load_exam_or_data
from ...store.store import using_store
from ..paper.holdings import training_in
from ..paper.rows import measure, question_statistics
from . import style as st
from .rows import named_rows
from .source import PlotChoice
from .style import Sketch, fit, inches_high, lines_of, whole, wrapped

if TYPE_CHECKING:
    from matplotlib.figure import FigureBase

Questions = Sequence[Question[Any]]
BINS = 30
SHORTEST = 4
"""The length of the shortest word that is counted."""
COMMAND = re.compile(r"\\[a-z]+|\$[^$]*\$")
"""LaTeX commands and formulas, which some prompts contain."""
WORD = re.compile(rf"[^\W\d_]{{{SHORTEST},}}")
COMMON = Path(__file__).parent / "common_words.txt"


def data_sheet(exam: str, choice: PlotChoice) -> DataSheet:
    """Return the numbers that the exam's paper shows about its data set, counted on the available data.

    Raises:
        UsageError: The exam's kind does not describe its data set, or there is neither a store nor a data folder.
    """
    named, whole = load_exam_or_data(exam, choice.data, choice.store)
    kind = exams.kind(named.kind)
    described = data_panels(kind.name)
    if described is None:
        raise UsageError(f"{kind.name} does not describe its data set; `limner exam check` counts its tags")
    trained = _training(choice, kind) if any(panel.training for panel in described.panels) else None
    panels = [panel for each in described.panels if (panel := _panel(each, whole, kind, trained)) is not None]
    if not panels:
        raise UsageError(f"{named.name}: none of its questions has what {kind.name} shows of its data set")
    clusters = len({kind.protocol.cluster(question) for question in whole.questions})
    parts = [named.name, f"n = {clusters}" if clusters == len(whole.questions) else f"n = {clusters} figures"]
    if any(value is not None for panel in panels for value in getattr(panel, "printed", ())):
        parts.append("orange: the paper's own shares and means")
    parts += [
        note for note in (*(described_panel.note for described_panel in described.panels), described.note) if note
    ]
    return DataSheet(tuple(panels), " · ".join(parts))


def _training(choice: PlotChoice, kind: Kind[Any]) -> Exam[Any] | None:
    with suppress(StoreError, UsageError), using_store(choice.store) as store:
        return training_in(store, kind.name, None)
    return None


def _panel(panel: DataPanel, exam: Exam[Any], kind: Kind[Any], training: Exam[Any] | None) -> Panel | None:
    """Return the panel with its numbers; None if no question has them."""
    if panel.training and training is None:
        return _printed_alone(panel, exam.questions, kind)
    if panel.training and training is not None:
        exam, panel = training, panel.model_copy(update={"title": f"{panel.title} in build {training.name}"})
    inside = [
        question
        for question in exam.questions
        if panel.subset is None or question.id in exam.subsets.get(panel.subset, ())
    ]
    inside = [question for question in inside if panel.tag is None or panel.tag in question.tags]
    return FILLED[panel.show](panel, inside, kind) if inside else None


def _printed_alone(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel | None:
    """Return the paper's numbers as bars, in the order of the exam's categories."""
    printed = _printed(panel, kind, panel.published.whole if panel.published else None)
    rows: list[Bar] = [("", label, numbers, None) for label in _values(questions, panel.tag or "", kind)
            if (numbers := printed(label))]  # fmt: skip
    if panel.show == "counts":  # A number of samples that the paper prints as a share is a whole number.
        rows = [("", label, tuple(map(round, numbers)), None) for _, label, numbers, _ in rows]
    panel = panel.model_copy(update={"title": f"{_title(panel)}: the paper's numbers", "figure": ""})
    return _bars(panel, rows, [part.title for part in panel.parts]) if rows else None


Bar = tuple[str, str, tuple[float, ...], tuple[float, ...] | None]
"""A row's group and label, the length of each part, and the paper's number of each part or the one that it prints."""


def _total(numbers: tuple[float, ...] | None) -> float | None:
    return None if numbers is None else sum(numbers)


def _bars(panel: DataPanel, rows: Sequence[Bar], parts: Sequence[str] = ()) -> BarPanel:
    groups, labels, values, printed = zip(*rows, strict=True)
    names = tuple(map(plain_tag, labels)), tuple(map(plain_tag, groups)), tuple(map(plain_tag, parts)) or ("",)
    return BarPanel(_title(panel), *names, values, tuple(map(_total, printed)), panel.unit, panel.wide)


def _title(panel: DataPanel) -> str:
    return f"{panel.title}, as {panel.figure}" if panel.figure else panel.title


def _count(questions: Questions, kind: Kind[Any]) -> float:
    return measure("count", questions, {}, kind) or 0.0


def _with(questions: Questions, tag: str, value: str) -> list[Question[Any]]:
    return [question for question in questions if question.tags.get(tag) == value]


def _values(questions: Questions, tag: str, kind: Kind[Any]) -> list[str]:
    """Return the tag's values in the exam's order, or the most frequent first."""
    values = {question.tags[tag] for question in questions if tag in question.tags}
    if tag in kind.protocol.orders:
        return kind.protocol.in_order(tag, values)
    return sorted(values, key=lambda value: (-_count(_with(questions, tag, value), kind), value))


def _counts(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    parts = _values(questions, panel.by, kind) if panel.by else []
    printed = _printed(panel, kind, _count(questions, kind))
    rows: list[Bar] = []
    for group, value, inside in _rows(panel, questions, kind):
        split = [_with(inside, panel.by or "", part) for part in parts] if parts else [inside]
        rows.append((group, value, tuple(_count(part, kind) for part in split), printed(f"{group}{value}")))
    return _bars(panel, rows, parts)


def _rows(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> list[tuple[str, str, list[Question[Any]]]]:
    """Return the group, value and questions of each row."""
    tag, rows = panel.tag or "", []
    groups = _values(questions, panel.within, kind) if panel.within else [""]
    for group in groups:
        inside = _with(questions, panel.within, group) if panel.within else list(questions)
        rows += [(group, value, _with(inside, tag, value)) for value in _values(inside, tag, kind)]
    return rows[: panel.top]


def _printed(panel: DataPanel, kind: Kind[Any], whole: float | None) -> Callable[[str], tuple[float, ...] | None]:
    """Return a function from a tag's value to the paper's number of each part, or to the one that it prints."""
    if (where := panel.published) is None:
        return lambda value: None
    metrics: list[str | None] = [part.metric for part in panel.parts if part.metric]
    columns = [_column(where, metric, kind, whole) for metric in metrics or [where.metric]]

    def numbers(value: str) -> tuple[float, ...] | None:
        known = tuple(column[_bare(value)] for column in columns if _bare(value) in column)
        return known if len(known) == len(columns) else None

    return numbers


def _column(where: PrintedNumbers, metric: str | None, kind: Kind[Any], whole: float | None) -> dict[str, float]:
    """Return the paper's numbers by category, scaled to `whole` if given."""
    numbers: dict[str, float] = {}
    wanted = {"table": where.table, "breakdown": where.breakdown, "metric": metric}
    for row in paper.rows(kind.name, where.file):
        if all(row[key] == value for key, value in wanted.items() if value is not None):
            name = where.names.get(row["category"], row["category"])
            numbers[_bare(name)] = float(row[where.column])
    by = 1.0 if whole is None or not numbers else whole / (100.0 if where.share else sum(numbers.values()))
    return {name: number * by for name, number in numbers.items()}


def _bare(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", word.casefold().replace("&", "and"))


def _map(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> MapPanel:
    tag, by = panel.tag or "", panel.by or ""
    rows, columns = (_values(questions, each, kind) for each in (tag, by))
    counts = [[int(_count(_with(_with(questions, tag, row), by, column), kind)) for column in columns] for row in rows]
    names = tuple(map(plain_tag, rows)), tuple(map(plain_tag, columns))
    return MapPanel(_title(panel), *names, tuple(map(tuple, counts)), panel.wide)


def _means(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    printed, rows = _printed(panel, kind, None), list[Bar]()
    for group, value, inside in _rows(panel, questions, kind):
        means = [float(np.mean(question_statistics(part.statistic, inside, kind))) for part in panel.parts]
        rows.append((group, value, tuple(means), printed(f"{group}{value}")))
    return _bars(panel, rows, [part.title for part in panel.parts])


def _totals(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    sums = {part.title: sum(question_statistics(part.statistic, questions, kind)) for part in panel.parts}
    printed = _printed(panel, kind, sum(sums.values()))
    return _bars(panel, [("", title, (total,), printed(title)) for title, total in sums.items()])


def _histogram(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> HistogramPanel:
    numbers = np.array(question_statistics(panel.statistic or "", questions, kind), dtype=float)
    low, high = float(numbers.min()), float(numbers.max())
    step = max(1.0, np.ceil((high - low + 1) / BINS))
    edges = np.arange(low - 0.5, high + 0.5 + step, step)
    counts, _ = np.histogram(numbers, edges)
    label = (panel.statistic or "").replace("_", " ")
    return HistogramPanel(
        _title(panel), tuple(map(float, edges)), tuple(map(int, counts)), label, panel.unit, panel.wide
    )


def _quartiles(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> QuartilePanel:
    rows = _rows(panel, questions, kind)
    numbers = [np.array(question_statistics(panel.statistic or "", inside, kind), dtype=float) for _, _, inside in rows]
    cuts = [np.quantile(each, [0.25, 0.5, 0.75]) for each in numbers]
    printed = _printed(panel, kind, None)
    labels = tuple(plain_tag(value) for _, value, _ in rows)
    quartiles = tuple((float(low), float(middle), float(high)) for low, middle, high in cuts)
    means, published = (
        tuple(float(each.mean()) for each in numbers),
        tuple(_total(printed(value)) for _, value, _ in rows),
    )
    return QuartilePanel(_title(panel), labels, quartiles, means, published, panel.unit, panel.wide)


@cache
def _common() -> frozenset[str]:
    return frozenset(COMMON.read_text(encoding="utf-8").split())


def _in(prompt: str) -> set[str]:
    return {*WORD.findall(COMMAND.sub(" ", prompt.casefold()))}


def _words(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> WordsPanel:
    groups = [(value, _with(questions, panel.by, value)) for value in _values(questions, panel.by, kind)] \
        if panel.by else [("", list(questions))]  # fmt: skip
    clouds = []
    for name, inside in groups:
        # Each question counts once, however often it contains the word.
        counted = Counter(word for question in inside for word in _in(question.prompt) - _common())
        ranked = sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))
        clouds.append((plain_tag(name), tuple(ranked[: panel.top])))
    return WordsPanel(_title(panel), tuple(clouds))


def _mentions(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    rows: list[Bar] = []
    for name, words in panel.terms.items():
        pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in words))
        inside = [each for each in questions if pattern.search(COMMAND.sub(" ", each.prompt.casefold()))]
        rows.append(("", name, (_count(inside, kind),), None))
    ranked = sorted((row for row in rows if row[2][0]), key=lambda row: (-row[2][0], row[1]))
    return _bars(panel, ranked[: panel.top] or rows[:1])


FILLED: dict[str, Callable[[DataPanel, Questions, Kind[Any]], Panel]] = {
    "counts": _counts, "map": _map, "means": _means, "totals": _totals, "histogram": _histogram,
    "quartiles": _quartiles, "words": _words, "mentions": _mentions,
}  # fmt: skip


ROW, HEAD = 0.12, 0.24
LONGEST = 14
"""The most bars in one column; a wide panel with more bars gets up to three columns."""
NAMES = 1.35
"""The most inches of row names."""
PAPER = st.PALETTE[1]


def data(frame: DataSheet, width: str) -> Sketch:
    """Sketch the panels: narrow ones in pairs, wide ones alone."""
    lines = _lines(frame.panels, width)
    heights = [max(_height(panel, st.WIDTHS[width] / len(line), width) for panel in line) for line in lines]

    def paint(figure: FigureBase) -> None:
        for part, line in zip(figure.subfigures(len(lines), 1, squeeze=False, height_ratios=heights)[:, 0], lines,
                              strict=True):  # fmt: skip
            for inner, panel in zip(part.subfigures(1, len(line), squeeze=False)[0], line, strict=True):
                room = st.WIDTHS[width] / len(line)
                inner.suptitle(wrapped(panel.title, room - 0.2, st.NORMAL), fontsize=st.NORMAL, x=0.02, ha="left")
                PAINTED[type(panel)](inner, panel, room, width)

    return Sketch(sum(heights), paint, frame.caption)


def _lines(panels: Sequence[Panel], width: str) -> list[list[Panel]]:
    lines: list[list[Panel]] = []
    for panel in panels:
        beside = lines and width == "double" and len(lines[-1]) == 1 and not lines[-1][0].wide and not panel.wide
        if beside:
            lines[-1].append(panel)
        else:
            lines.append([panel])
    return lines


def _columns(panel: BarPanel, width: str) -> list[range]:
    """Return the indices of the rows, column by column."""
    count = len(panel.rows)
    across = 1 if not panel.wide or width == "single" else min(3, -(-count // LONGEST))
    most = -(-count // across)
    return [range(start, min(start + most, count)) for start in range(0, count, most)]


def _slots(panel: BarPanel, places: Sequence[int]) -> float:
    """Return the number of rows that a column takes, with group titles; names of several lines take more."""
    named = named_rows([panel.rows[n] for n in places], NAMES, ROW)
    return sum(named.tall) + 0.9 * len({panel.groups[n] for n in places if panel.groups[n]})


def _height(panel: Panel, room: float, width: str) -> float:
    title = 0.1 * wrapped(panel.title, room - 0.2, st.NORMAL).count("\n")
    if isinstance(panel, BarPanel):
        legend = 0.15 if len(panel.parts) > 1 else 0.0
        return HEAD + 0.3 + title + legend + ROW * max(_slots(panel, each) for each in _columns(panel, width))
    if isinstance(panel, QuartilePanel):
        return HEAD + 0.3 + title + named_rows(panel.rows, NAMES, ROW).height
    if isinstance(panel, MapPanel):
        return HEAD + 0.3 + title + max(0.14, lines_of(whole(panel.rows, NAMES)) * st.LINE + 0.03) * len(panel.rows)
    if isinstance(panel, HistogramPanel):
        return HEAD + 1.0 + title
    return HEAD + title + sum((lines_of([words]) + 1.3) * st.LINE for _, words in _listed(panel, room))


def _draw_bars(figure: FigureBase, panel: BarPanel, room: float, width: str) -> None:
    columns = _columns(panel, width)
    axes = figure.subplots(1, len(columns), squeeze=False)[0]
    most = max(
        [*(sum(parts) for parts in panel.values), *(printed for printed in panel.printed if printed is not None)]
    )
    # Bars have the same height in panels of one row.
    rows_free = (inches_high(figure) - HEAD - 0.3) / ROW
    tallest = max([rows_free, *(_slots(panel, each) for each in columns)])
    for panel_, places in zip(axes, columns, strict=True):
        y, ticks = 0.0, []
        rows = named_rows([panel.rows[n] for n in places], NAMES, ROW)
        for at, n in enumerate(places):
            group = panel.groups[n]
            if group and (at == 0 or panel.groups[places[at - 1]] != group):
                panel_.text(0, y, f" {group}", fontsize=st.SMALL, fontweight="bold", va="center", ha="left")
                y += 0.9
            y += (rows.tall[at] - 1) / 2
            start = 0.0
            for part, value in enumerate(panel.values[n]):
                panel_.barh(y, value, 0.72, left=start, color=st.PALETTE[(0, 4, 2, 3)[part % 4]], lw=0,
                            label=panel.parts[part] if n == places[0] else None, zorder=2)  # fmt: skip
                start += value
            if panel.printed[n] is not None:
                panel_.plot([panel.printed[n]] * 2, [y - 0.42, y + 0.42], color=PAPER, lw=1.6, zorder=3)
            words = f" {start:g}" if start == round(start) else f" {start:.1f}"
            mark = panel.printed[n] or 0.0
            end = mark if start <= mark < start + 0.15 * most else start
            panel_.text(end, y, words, va="center", ha="left", fontsize=st.SMALL, color=st.INK)
            ticks.append(y)
            y += (rows.tall[at] + 1) / 2
        panel_.set_yticks(ticks, rows.names, linespacing=st.SPACING)
        panel_.set_ylim(tallest - 0.4, -0.6)
        panel_.tick_params(axis="y", length=0)
        panel_.set_xlim(0, most * 1.18)
        panel_.grid(visible=False)
        panel_.set_xticks([])
        panel_.spines["bottom"].set_visible(False)
        panel_.spines["left"].set_bounds(-0.6, y - 0.4)
        panel_.set_xlabel(panel.unit, fontsize=st.SMALL, color=st.GREY)
    if len(panel.parts) > 1:
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=len(panel.parts))


def _draw_quartiles(figure: FigureBase, panel: QuartilePanel, room: float, width: str) -> None:
    axes = figure.subplots()
    rows = named_rows(panel.rows, NAMES, ROW)
    for place, ((low, middle, high), mean) in enumerate(zip(panel.quartiles, panel.means, strict=True)):
        n = rows.at[place]
        axes.plot([low, high], [n, n], color=st.PALETTE[5], lw=3.5, solid_capstyle="butt", zorder=2)
        axes.plot([middle], [n], "|", color=st.INK, ms=6, mew=1.2, zorder=3)
        axes.plot([mean], [n], "o", color=st.PALETTE[0], ms=3.2, mec="white", mew=0.3, zorder=4)
        if (printed := panel.printed[place]) is not None:
            axes.plot([printed, printed], [n - 0.42, n + 0.42], color=PAPER, lw=1.4, zorder=5)
    rows.set(axes)
    axes.set_xlim(0, None)
    axes.set_xlabel(f"{panel.label}: middle half, median (|), mean (dot)", fontsize=st.SMALL)


def _draw_histogram(figure: FigureBase, panel: HistogramPanel, room: float, width: str) -> None:
    axes = figure.subplots()
    axes.stairs(panel.counts, panel.edges, fill=True, color=st.PALETTE[5])
    axes.set_xlim(panel.edges[0], panel.edges[-1])
    axes.set_ylim(0, None)
    axes.grid(axis="x", visible=False)
    axes.locator_params(axis="x", integer=True, nbins=8)
    axes.locator_params(axis="y", integer=True, nbins=4)
    axes.set_xlabel(panel.label)
    axes.set_ylabel(panel.unit)


def _draw_map(figure: FigureBase, panel: MapPanel, room: float, width: str) -> None:
    axes: Any = figure.subplots()
    image = axes.imshow(panel.counts, cmap=st.SEQUENTIAL, aspect="auto", vmin=0)
    for y, row in enumerate(panel.counts):
        for x, count in enumerate(row):
            ink = st.readable(*image.to_rgba(count)[:3])
            axes.text(x, y, str(count), ha="center", va="center", fontsize=st.SMALL, color=ink)
    axes.set_yticks(range(len(panel.rows)), whole(panel.rows, NAMES), linespacing=st.SPACING)
    cell = (room - NAMES) / len(panel.columns) - 0.05
    axes.set_xticks(range(len(panel.columns)), [fit(name, max(cell, 0.3), st.SMALL) for name in panel.columns])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)


def _listed(panel: WordsPanel, room: float) -> list[tuple[str, str]]:
    """Return each group's name, and its words with the number of prompts that contain them, in lines that fit."""
    listed = ((name, ", ".join(f"{word}\xa0{count}" for word, count in words)) for name, words in panel.groups)
    return [(name, wrapped(words, room - 0.2)) for name, words in listed]


def _draw_words(figure: FigureBase, panel: WordsPanel, room: float, width: str) -> None:
    high, top = inches_high(figure), HEAD - 0.04
    for name, words in _listed(panel, room):
        figure.text(0.08 / room, 1 - top / high, name, fontsize=st.SMALL, fontweight="bold", ha="left", va="top")
        top += st.LINE
        figure.text(0.08 / room, 1 - top / high, words, fontsize=st.SMALL, linespacing=st.SPACING, ha="left", va="top")
        top += (lines_of([words]) + 0.3) * st.LINE


PAINTED: dict[type, Callable[[Any, Any, float, str], None]] = {
    BarPanel: _draw_bars, QuartilePanel: _draw_quartiles, HistogramPanel: _draw_histogram, MapPanel: _draw_map,
    WordsPanel: _draw_words,
}  # fmt: skip
"""The functions that draw each kind of panel into its part of the page."""
