"""The numbers behind ``limner plot data``: what an exam's data set contains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

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
from .source import PlotChoice

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
    printed = _printed_parts(panel, kind, panel.published.whole if panel.published else None)
    rows = [(label, numbers) for label in _values(questions, panel.tag or "", kind) if (numbers := printed(label))]
    if not rows:
        return None
    names = tuple(plain_tag(label) for label, _ in rows)
    # A number of samples that the paper prints as a share is a whole number.
    values = tuple(tuple(map(round, numbers)) if panel.show == "counts" else numbers for _, numbers in rows)
    parts, empty = tuple(part.title for part in panel.parts) or ("",), ("",) * len(rows)
    title = f"{_title(panel)}: the paper's numbers"
    return BarPanel(title, names, empty, parts, values, (None,) * len(rows), panel.unit, panel.wide)


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
    rows = _rows(panel, questions, kind)
    parts = _values(questions, panel.by, kind) if panel.by else []
    values = []
    for _, _, inside in rows:
        split = [_with(inside, panel.by or "", part) for part in parts] if parts else [inside]
        values.append(tuple(_count(part, kind) for part in split))
    printed = _printed(panel.published, kind, _count(questions, kind))
    published = tuple(printed(f"{group}{value}") for group, value, _ in rows)
    labels, groups = tuple(plain_tag(value) for _, value, _ in rows), tuple(plain_tag(group) for group, _, _ in rows)
    return BarPanel(_title(panel), labels, groups, tuple(map(plain_tag, parts)) or ("",), tuple(values), published,
                    panel.unit, panel.wide)  # fmt: skip


def _rows(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> list[tuple[str, str, list[Question[Any]]]]:
    """Return the group, value and questions of each row."""
    tag, rows = panel.tag or "", []
    groups = _values(questions, panel.within, kind) if panel.within else [""]
    for group in groups:
        inside = _with(questions, panel.within, group) if panel.within else list(questions)
        rows += [(group, value, _with(inside, tag, value)) for value in _values(inside, tag, kind)]
    return rows[: panel.top]


def _printed(where: PrintedNumbers | None, kind: Kind[Any], whole: float | None) -> Callable[[str], float | None]:
    """Return a function from a tag's value to the paper's number, scaled to `whole` if given."""
    if where is None:
        return lambda value: None
    numbers: dict[str, float] = {}
    wanted = {"table": where.table, "breakdown": where.breakdown, "metric": where.metric}
    for row in paper.rows(kind.name, where.file):
        if all(row[key] == value for key, value in wanted.items() if value is not None):
            name = where.names.get(row["category"], row["category"])
            numbers[_bare(name)] = float(row[where.column])
    by = 1.0 if whole is None or not numbers else whole / (100.0 if where.share else sum(numbers.values()))
    return lambda value: None if (number := numbers.get(_bare(value))) is None else number * by


def _printed_parts(panel: DataPanel, kind: Kind[Any], whole: float | None) -> Callable[[str], tuple[float, ...] | None]:
    """Return a function from a tag's value to the paper's number of each part, or to the one that it prints."""
    where = panel.published or PrintedNumbers()
    metrics: list[str | None] = [part.metric for part in panel.parts if part.metric]
    parts = [_printed(where.model_copy(update={"metric": metric}), kind, whole) for metric in metrics or [where.metric]]

    def numbers(value: str) -> tuple[float, ...] | None:
        known = tuple(number for part in parts if (number := part(value)) is not None)
        return known if len(known) == len(parts) else None

    return numbers


def _bare(word: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", word.casefold().replace("&", "and"))


def _map(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> MapPanel:
    tag, by = panel.tag or "", panel.by or ""
    rows, columns = (_values(questions, each, kind) for each in (tag, by))
    counts = tuple(
        tuple(int(_count(_with(_with(questions, tag, row), by, column), kind)) for column in columns) for row in rows
    )
    return MapPanel(
        _title(panel), tuple(map(plain_tag, rows)), tuple(map(plain_tag, columns)), counts, panel.unit, panel.wide
    )


def _means(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    rows = _rows(panel, questions, kind)
    values = tuple(
        tuple(float(np.mean(question_statistics(part.statistic, inside, kind))) for part in panel.parts)
        for _, _, inside in rows
    )
    labels, groups = tuple(plain_tag(value) for _, value, _ in rows), tuple(plain_tag(group) for group, _, _ in rows)
    parts = tuple(part.title for part in panel.parts)
    printed = _printed_parts(panel, kind, None)
    numbers = [printed(f"{group}{value}") for group, value, _ in rows]
    published = tuple(None if each is None else sum(each) for each in numbers)
    return BarPanel(_title(panel), labels, groups, parts, values, published, panel.unit, panel.wide)


def _totals(panel: DataPanel, questions: Questions, kind: Kind[Any]) -> BarPanel:
    sums = [sum(question_statistics(part.statistic, questions, kind)) for part in panel.parts]
    printed = _printed(panel.published, kind, sum(sums))
    labels = tuple(part.title for part in panel.parts)
    published, empty = tuple(map(printed, labels)), ("",) * len(labels)
    return BarPanel(
        _title(panel), labels, empty, ("",), tuple((total,) for total in sums), published, panel.unit, panel.wide
    )


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
    printed = _printed(panel.published, kind, None)
    return QuartilePanel(
        _title(panel),
        tuple(plain_tag(value) for _, value, _ in rows),
        tuple((float(cut[0]), float(cut[1]), float(cut[2])) for cut in cuts),
        tuple(float(each.mean()) for each in numbers),
        tuple(printed(value) for _, value, _ in rows),
        panel.unit,
        panel.wide,
    )


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
    counted = []
    for name, words in panel.terms.items():
        pattern = re.compile("|".join(rf"\b{re.escape(word)}" for word in words))
        counted.append(
            (
                name,
                _count(
                    [
                        question
                        for question in questions
                        if pattern.search(COMMAND.sub(" ", question.prompt.casefold()))
                    ],
                    kind,
                ),
            )
        )
    ranked = sorted((pair for pair in counted if pair[1]), key=lambda pair: (-pair[1], pair[0]))[: panel.top]
    ranked = ranked or counted[:1]
    labels, empty = tuple(name for name, _ in ranked), ("",) * len(ranked)
    values, published = tuple((count,) for _, count in ranked), (None,) * len(ranked)
    return BarPanel(_title(panel), labels, empty, ("",), values, published, panel.unit, panel.wide)


FILLED: dict[str, Callable[[DataPanel, Questions, Kind[Any]], Panel]] = {
    "counts": _counts, "map": _map, "means": _means, "totals": _totals, "histogram": _histogram,
    "quartiles": _quartiles, "words": _words, "mentions": _mentions,
}  # fmt: skip
