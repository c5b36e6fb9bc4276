"""A store's rows: one for each painter and strategy, for each judge, or for the exam itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ... import exams
from ...core.evaluator import Evaluator, by_evaluator
from ...scoring.deviations import of_drawings, of_marks, of_questions
from ..model import Column, TableRow
from .agreements import agreement_rows
from .columns import ColumnSpec
from .holdings import Holdings, Own
from .schema import AGREEING, COUNTED, JUDGES, Layout
from .store_cells import exam_cell, judge_cell, painter_cell

DIRECT = "direct"
StoreRow = tuple[Own | None, TableRow]
"""A row, with the painter it is about where it is about one."""


@dataclass
class StoreRows:
    """Makes the rows of one table; collects the footnotes they need."""

    layout: Layout
    held: Holdings | None
    footnotes: dict[str, int] = field(default_factory=dict)
    _asked: dict[str, list[str]] = field(default_factory=dict)

    @property
    def by_judge(self) -> bool:
        """Whether the columns are judges."""
        return any(part.values == JUDGES for part in self.layout.columns)

    @property
    def judges(self) -> list[str]:
        """The store's evaluators, by their labels."""
        return sorted({own.evaluator.name for own in self.held.rows}) if self.held else []

    def make(self, specs: Sequence[ColumnSpec]) -> list[StoreRow]:
        """The rows in their order: best first, or painter by painter; without people, none that is about them alone."""
        about_people = all(spec.figure.agreement for spec in specs)
        found = self._made(specs)
        return [row for row in found if not about_people or any(cell.value is not None for cell in row[1].cells)]

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
            return [(None, self._judge_row(rows, specs)) for rows in by_evaluator(held.rows)]
        if self.by_judge:
            painters: dict[str, list[Own]] = {}
            for own in held.rows:
                painters.setdefault(own.name, []).append(own)
            return self._ordered(
                [(rows[0], self._painter_row(rows[0], specs, rows)) for rows in painters.values()], specs
            )
        return self._ordered([(own, self._painter_row(own, specs, [own])) for own in held.rows], specs)

    def _painter_row(self, own: Own, specs: Sequence[ColumnSpec], others: Sequence[Own]) -> TableRow:
        assert self.held is not None
        group, judged = own.group, not self.by_judge
        label = f"{own.name} · {group.evaluator.name}" if judged and len(self.judges) > 1 else own.name
        about = {"painter": group.painter, "strategy": group.strategy, "reading": self.held.reading}
        about |= {"judge": group.judge if judged else "", "n": str(own.scores[None].n)}
        about["evaluator"] = group.evaluator.name if judged else ""
        cells = tuple(painter_cell(own, spec, others, self.held.agreement) for spec in specs)
        notes = self._notes(others, own.scores[None].n)
        return TableRow(label, cells, notes=notes, coverage=min(one.group.coverage for one in others), about=about)

    def _judge_row(self, rows: Sequence[Own], specs: Sequence[ColumnSpec]) -> TableRow:
        assert self.held is not None
        evaluator = rows[0].evaluator
        scored = {entry.question.id for own in rows for entry in own.group.scored}
        about = {"judge": evaluator.judge, "evaluator": evaluator.name, "n": str(len(scored))}
        cells = tuple(judge_cell(rows, spec, self.held.took, self.held.agreement) for spec in specs)
        return TableRow(evaluator.name, cells, notes=self._notes(rows, len(scored)), about=about)

    def _notes(self, rows: Sequence[Own], scored: int) -> tuple[int, ...]:
        """The footnote on how a row's numbers were come by, where the paper came by its own otherwise.

        Where columns are judges, what is the judge's stands at its column.
        """
        assert self.held is not None
        said = [] if self.by_judge else self._marked(rows[0].evaluator)
        drawn = of_drawings(exams.kind(self.layout.exam), [own.group for own in rows])
        return self._footnote([*said, *drawn, *of_questions(scored, self.layout.paper.questions)])

    def _marked(self, evaluator: Evaluator) -> list[str]:
        assert self.held is not None
        if evaluator.id not in self._asked:
            self._asked[evaluator.id] = of_marks(exams.kind(self.layout.exam), evaluator, self.held.reading)
        return self._asked[evaluator.id]

    def _footnote(self, said: Sequence[str]) -> tuple[int, ...]:
        return (self.footnotes.setdefault("; ".join(said), len(self.footnotes) + 1),) if said else ()

    def heads(self, specs: Sequence[ColumnSpec]) -> list[Column]:
        """The columns' heads; a judge's own has the footnote on how it was asked."""
        known = {own.evaluator.name: own.evaluator for own in self.held.rows} if self.held else {}
        asked = [known.get(spec.value.judge or "") for spec in specs]
        notes = [self._footnote(self._marked(one)) if one else () for one in asked]
        return [replace(spec.column, notes=note) for spec, note in zip(specs, notes, strict=True)]

    def _ordered(self, lines: list[StoreRow], specs: Sequence[ColumnSpec]) -> list[StoreRow]:
        if self.layout.by_painter:
            return sorted(lines, key=_by_painter)
        place = next((n for n, spec in enumerate(specs) if spec.column.path == self.layout.order), None)

        def best_first(pair: StoreRow) -> tuple[bool, float, str]:
            value = None if place is None else pair[1].cells[place].value
            return (value is None, -(value or 0.0), pair[1].label)

        return sorted(lines, key=best_first)


def _by_painter(pair: StoreRow) -> tuple[str, bool, str, str]:
    own, line = pair
    if own is None:
        return ("", False, "", line.label)
    return (own.group.painter, own.group.strategy != DIRECT, own.group.strategy, line.label)
