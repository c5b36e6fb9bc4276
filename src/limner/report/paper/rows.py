"""The rows of a paper's table: a store's for each painter and strategy, judge, or exam, and the published ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import exams
from ...core.errors import DataError, UsageError
from ...core.evaluator import Evaluator, group_by_evaluator
from ...core.exam import Question
from ...exams import Kind, paper
from ...scoring import Numbers
from ...scoring.deviations import of_drawings, of_marks, of_number
from ...scoring.standings import costs
from ...store.markings import Marking
from ..tables.model import MISSING, Cell, Column, RowBlock, TableRow, interval_cell, score_cell
from .holdings import Agreements, Holdings, PainterResult, agreement_rows, shown
from .schema import AGREEING, COUNTED, Board, ColumnSpec, Layout, RowGroup, Section

DIRECT = "direct"
StoreRow = tuple[PainterResult | None, TableRow]
"""A row and its painter; None if the row is not about a painter."""


@dataclass
class StoreRows:
    """A maker of the rows of one table, which also collects their footnotes."""

    layout: Layout
    held: Holdings | None
    footnotes: dict[str, int] = field(default_factory=dict)
    _asked: dict[str, list[str]] = field(default_factory=dict)

    @property
    def judges(self) -> list[str]:
        """The labels of the store's evaluators."""
        return sorted({own.evaluator.name for own in self.held.rows}) if self.held else []

    def make(self, specs: Sequence[ColumnSpec]) -> list[StoreRow]:
        """Return the rows, the best first or painter by painter; without scores, only rows that show something."""
        scoreless = self.layout.about_people or all(spec.figure.plain for spec in specs)
        rows = self._made(specs)
        return [row for row in rows if not scoreless or any(cell.text != MISSING for cell in row[1].cells)]

    def _made(self, specs: Sequence[ColumnSpec]) -> list[StoreRow]:
        held = self.held
        if held is None or held.exam is None:
            return []
        if self.layout.rows in COUNTED:
            label = f"{held.exam.name} {held.place} ({len(held.exam.questions)} {COUNTED[self.layout.rows]})"
            cells = tuple(exam_cell(held, spec) for spec in specs)
            return [(None, TableRow(label, cells, about={"exam": held.exam.name}))]
        if held.agreement is not None and self.layout.rows in AGREEING:
            return [(None, line) for line in agreement_rows(self.layout, held.agreement, specs)]
        if self.layout.rows == "judges":
            return [(None, self._judge_row(rows, specs)) for rows in group_by_evaluator(held.rows)]
        painters: dict[object, list[PainterResult]] = {}
        for place, own in enumerate(held.rows):
            painters.setdefault(own.name if self.layout.by_judge else place, []).append(own)
        return self._ordered([(rows[0], self._painter_row(rows, specs)) for rows in painters.values()], specs)

    def _painter_row(self, rows: Sequence[PainterResult], specs: Sequence[ColumnSpec]) -> TableRow:
        """Return the row of a painter, given its results: one, or one for each judge."""
        assert self.held is not None
        own = rows[0]
        group, judged = own.group, not self.layout.by_judge
        label = f"{own.name} · {group.evaluator.name}" if judged and len(self.judges) > 1 else own.name
        about = {"painter": group.painter, "strategy": group.strategy, "reading": self.held.reading}
        about |= {"judge": group.judge if judged else "", "n": str(own.scores[None].n)}
        about["evaluator"] = group.evaluator.name if judged else ""
        cells = tuple(painter_cell(rows, spec, self.held.agreement) for spec in specs)
        notes = self._notes(rows, own.scores[None].n)
        coverage = None if self.layout.about_people else min(row.group.coverage for row in rows)
        return TableRow(label, cells, notes=notes, coverage=coverage, about=about)

    def _judge_row(self, rows: Sequence[PainterResult], specs: Sequence[ColumnSpec]) -> TableRow:
        assert self.held is not None
        evaluator = rows[0].evaluator
        scored = {entry.question.id for own in rows for entry in own.group.scored}
        about = {"judge": evaluator.judge, "evaluator": evaluator.name, "n": str(len(scored))}
        cells = tuple(judge_cell(rows, spec, self.held.took, self.held.agreement) for spec in specs)
        return TableRow(evaluator.name, cells, notes=self._notes(rows, len(scored)), about=about)

    def _notes(self, rows: Sequence[PainterResult], scored: int) -> tuple[int, ...]:
        """Return the footnote on how the making of a row's numbers differs from the paper's.

        If columns are judges, the differences of a judge are in a footnote at its column.
        """
        assert self.held is not None
        remarks = [] if self.layout.by_judge else self._marked(rows[0].evaluator)
        drawn = of_drawings(exams.kind(self.layout.exam), [own.group for own in rows])
        if self.layout.drawings is None:
            return self._footnote([*remarks, *drawn, *of_number(scored, self.layout.paper.questions)])
        rated = self.held.agreement.rated if self.held.agreement else 0
        return self._footnote([*remarks, *drawn, *of_number(rated, self.layout.drawings, "rated drawing")])

    def _marked(self, evaluator: Evaluator) -> list[str]:
        assert self.held is not None
        if evaluator.id not in self._asked:
            self._asked[evaluator.id] = of_marks(exams.kind(self.layout.exam), evaluator, self.held.reading)
        return self._asked[evaluator.id]

    def _footnote(self, text: Sequence[str]) -> tuple[int, ...]:
        return (self.footnotes.setdefault("; ".join(text), len(self.footnotes) + 1),) if text else ()

    def heads(self, specs: Sequence[ColumnSpec]) -> list[Column]:
        """Return the columns' heads; a judge's column has a footnote on how the judge was asked."""
        evaluators = {own.evaluator.name: own.evaluator for own in self.held.rows} if self.held else {}
        asked = [evaluators.get(spec.value.judge or "") for spec in specs]
        notes = [self._footnote(self._marked(column)) if column else () for column in asked]
        return [replace(spec.column, notes=note) for spec, note in zip(specs, notes, strict=True)]

    def _ordered(self, lines: list[StoreRow], specs: Sequence[ColumnSpec]) -> list[StoreRow]:
        place = next((n for n, spec in enumerate(specs) if spec.column.path == self.layout.order), None)

        def order(pair: StoreRow) -> tuple[Any, ...]:
            own, line = pair
            if self.layout.by_painter and own is not None:
                return own.group.painter, own.group.strategy != DIRECT, own.group.strategy, line.label
            value = None if place is None else line.cells[place].value
            return value is None, -(value or 0.0), line.label

        return sorted(lines, key=order)


def painter_cell(rows: Sequence[PainterResult], spec: ColumnSpec, agreement: Agreements | None = None) -> Cell:
    """Return a painter's cell; `rows` are its results, one for each judge if the table has columns of judges."""
    figure, own = spec.figure, rows[0]
    if figure.agreement is not None:
        return agreement.cell(own.evaluator.name, figure.agreement, spec, own.group.name) if agreement else Cell()
    if spec.value.judge is not None:
        return next((_score(row, spec) for row in rows if row.evaluator.name == spec.value.judge), Cell())
    if figure.score is not None:
        return _score(own, spec)
    if figure.fact is not None:
        fact = shown(own.facts, figure.fact) or (own.size if figure.fact == "resolution" else None)
        return Cell(figure.words.get(fact, fact)) if fact else Cell()
    if figure.drawn is not None:
        setting = own.setting(figure.drawn)
        return Cell() if setting is None else Cell(figure.words.get(setting, setting))
    if figure.mean is not None:
        return _number(_mean([own], figure.mean), spec)
    return Cell()


def judge_cell(
    rows: Sequence[PainterResult], spec: ColumnSpec, took: Mapping[str, float], agreement: Agreements | None = None
) -> Cell:
    """Return a judge's cell: `rows` are the painters that it marked, `took` the seconds of its calls."""
    figure = spec.figure
    if figure.agreement is not None:
        return agreement.cell(rows[0].evaluator.name, figure.agreement, spec) if agreement else Cell()
    if figure.option is not None:
        option: str = rows[0].evaluator.options.get(figure.option, "")
        return Cell(figure.words.get(option, option)) if option else Cell()
    return _number(_mean(rows, figure.mean, took), spec) if figure.mean is not None else Cell()


def exam_cell(held: Holdings, spec: ColumnSpec) -> Cell:
    """Return a statistic of the stored exam."""
    if held.exam is None or spec.figure.measure is None:
        return Cell()
    where = {**spec.value.where, **spec.figure.where}
    return _number(measure(spec.figure.measure, held.exam.questions, where, exams.kind(held.exam.kind)), spec)


def _score(own: PainterResult, spec: ColumnSpec) -> Cell:
    standing = own.scores[spec.part.subset]
    body = standing.numbers
    if spec.part.tag is not None:
        body = standing.by.get(spec.part.tag, {}).get(spec.tagged or "", Numbers())
    name = spec.figure.score or ""
    return score_cell(body.scores.get(name), body.bounds.get(name), spec.digits, spec.scale)


def _number(value: float | None, spec: ColumnSpec) -> Cell:
    return interval_cell(None if value is None else value * spec.scale, None, None, spec.digits)


def _mean(rows: Sequence[PainterResult], what: str, took: Mapping[str, float] | None = None) -> float | None:
    entries = [entry for own in rows for entry in own.group.entries]
    if what in ("drawing cost", "marking cost"):
        spent = costs(entries)
        return spent.drawing if what == "drawing cost" else spent.marking
    markings = [entry.marking for entry in entries if entry.marking is not None]
    done = sum(marking.status == "done" for marking in markings)
    times = [_seconds(marking, took or {}) for marking in markings]
    measured = [time for time in times if time is not None]
    return sum(measured) / done if done and len(measured) == len(times) else None


def _seconds(marking: Marking, took: Mapping[str, float]) -> float | None:
    """Return the seconds of the marking's calls; for a judge without calls, the seconds of the marking.

    The marking's seconds do not measure calls: they include waiting for a turn, but not replies stored earlier.
    """
    if marking.origin != "run":
        return None
    return sum(took.get(key, 0.0) for _, key in marking.replies) if marking.replies else marking.seconds


_HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": lambda values: sum(values) / len(values),
    "min": min,
    "max": max,
}


def measure(words: str, questions: Sequence[Question[Any]], where: Mapping[str, str], kind: Kind[Any]) -> float | None:
    """Return a statistic over the questions that have all the tags; None if there is no such question.

    Statistics are ``count``, ``share`` (percent of all questions), ``distinct TAG…`` (number of distinct values of the
    tags), and ``mean``, ``min`` or ``max`` of ``words`` (of the prompt) or of one of the exam's own statistics.

    Args:
        words: The statistic.
        questions: All questions of the exam.
        where: The tags with their required values.
        kind: The exam's kind, which defines which questions count once, and further statistics.

    Raises:
        UsageError: The exam has no such statistic, or it cannot be computed.
    """
    chosen = [question for question in questions if where.items() <= question.tags.items()]
    if not chosen:
        return None
    first, *rest = words.split()
    if first == "count":
        return float(len({kind.protocol.cluster(question) for question in chosen}))
    if first == "share":
        return 100 * len(chosen) / len(questions)
    if first == "distinct":
        return float(len({tuple(q.tags[tag] for tag in rest) for q in chosen if q.tags.keys() >= set(rest)})) or None
    if first not in _HOW or not rest:
        raise UsageError(f"{kind.name} has no statistic {words!r}; it has: {', '.join(_numbers(kind))}")
    return _HOW[first](question_statistics(" ".join(rest), chosen, kind, words))


def question_statistics(
    words: str, questions: Sequence[Question[Any]], kind: Kind[Any], place: str | None = None
) -> list[float]:
    """Return a statistic of each question: ``words`` (of the prompt) or one of the exam's; errors name `place`.

    Raises:
        UsageError: The exam has no such statistic, or it cannot be computed.
    """
    first, *rest = words.split()
    numbers = _numbers(kind)
    if first not in numbers:
        raise UsageError(f"{kind.name} has no statistic {place or words!r}; it has: {', '.join(numbers)}")
    try:
        return [numbers[first](question, *rest) for question in questions]
    except Exception as error:
        broken = f"the statistic {place or words!r} of the exam {kind.name!r} is broken"
        raise UsageError(f"{broken}: {type(error).__name__}: {error}") from error


def _numbers(kind: Kind[Any]) -> dict[str, Callable[..., float]]:
    return {"words": lambda question: len(question.prompt.split()), **kind.statistics}


KEYS: dict[str, tuple[str, ...]] = {
    "painters": ("model",),
    "judges": ("judge", "category"),
    "exam": (),
    "training": (),
    "evaluators": ("category", "judge"),
    "pairs": ("judge", "metric"),
    "rated": ("model",),
}
"""The columns of the published file that identify a table's rows."""
Row = Mapping[str, Any]


def published(layout: Layout, section: Section | None) -> list[Row]:
    """Return the rows of the published file that belong to the table, or to one section of it."""
    tables = layout.tables(section)
    return [row for row in paper.rows(layout.exam) if row["table"] in tables]


def judges(rows: Iterable[Row]) -> list[str]:
    """Return the judges of the paper's figures, in the file's order."""
    return list(dict.fromkeys(row["judge"] for row in rows if row["judge"]))


def board_blocks(layout: Layout, board: Board, specs: Sequence[ColumnSpec]) -> list[RowBlock]:
    """Return the leaderboard's rows in its order, in the layout's groups; they are not ranked with the paper's."""
    ours = {theirs: ours for ours, theirs in board.names.items()}
    figures = [
        {**row, "category": ours.get(row["category"], row["category"])}
        for row in paper.rows(layout.exam, paper.BOARD)
        if row["table"] == board.table
    ]
    layout = layout.model_copy(update={"groups": board.groups or layout.groups})
    lines = published_rows(layout, specs, figures)
    title = release_board(layout, board).title
    blocks = []
    for group in (None, *layout.groups):
        inside = tuple(line for home, line in lines if home is group)
        blocks.append(RowBlock(f"{group.title}, {title}" if group else title, inside, ranked=False, board=True))
    return [block for block in blocks if block.rows]


def release_board(layout: Layout, board: Board) -> paper.ReleaseBoard:
    """Return the exam's rules for a board: its date and a note about it.

    Raises:
        DataError: The rules do not mention the board.
    """
    try:
        return paper.rules(layout.exam).board(board.table)
    except ValueError as error:
        raise DataError(f"{layout.key}: rules.toml: {error}") from error


def published_rows(
    layout: Layout, specs: Sequence[ColumnSpec], figures: Iterable[Row]
) -> list[tuple[RowGroup | None, TableRow]]:
    """Return the rows with these published figures in the paper's order, each with its group."""
    bodies: dict[tuple[str, ...], list[Row]] = {}
    for row in figures:
        bodies.setdefault(tuple(row[key] for key in layout.keys or KEYS[layout.rows]), []).append(row)
    rows = []
    for key, body in bodies.items():
        cells = tuple(_cell(spec, body, layout) for spec in specs)
        if all(cell.text == MISSING or (cell.value is None and not spec.figure.drawn)
               for cell, spec in zip(cells, specs, strict=True)):  # fmt: skip
            continue  # It belongs to another section.
        label = _label(layout, body[0]) or (key[0] if key else layout.paper.cite)
        about = {"model": key[0]} if layout.rows in ("painters", "rated") else {}
        rows.append((_group(layout, body), TableRow(label, cells, published=True, about=about)))
    return rows


def _label(layout: Layout, row: Row) -> str:
    """Return the layout's label of the row; empty if it has none."""
    words = layout.labels.get(row["metric"], layout.labels.get("*", ""))
    if not row["judge"] and "{judge}" in words:
        return str(row["category"])
    return words.format(judge=row["judge"], category=row["category"])


def _group(layout: Layout, body: Sequence[Row]) -> RowGroup | None:
    for group in layout.groups:
        if group.published is not None and body[0]["model_group"] == group.published:
            return group
        if group.noted is not None and re.search(group.noted, body[0]["note"]):
            return group
    return None


def _cell(spec: ColumnSpec, body: Sequence[Row], layout: Layout) -> Cell:
    figure = spec.figure
    if figure.column is not None:
        return Cell(body[0][figure.column], published=True)
    if figure.noted is not None:
        side = next(filter(None, (re.search(figure.noted, row["note"]) for row in body)), None)
        return Cell(side[1] if side else MISSING, published=True)
    if figure.metric is None:
        return Cell(published=True)
    wanted = {"category": spec.category, "judge": spec.value.judge}
    metrics = figure.metric.split("|")
    hits = [
        row
        for row in body
        if all(row[key] == value for key, value in wanted.items() if value is not None)
        if metrics == ["*"] or row["metric"] in metrics
    ]
    if len(hits) > 1:
        conditions = {"metric": figure.metric, **wanted}
        raise DataError(f"{layout.key}: {len(hits)} published figures for one cell: {conditions}")
    if not hits:
        return Cell(published=True)
    shown = str(hits[0]["value"])
    return Cell(figure.words.get(shown, shown), None if figure.plain else float(shown), published=True)
