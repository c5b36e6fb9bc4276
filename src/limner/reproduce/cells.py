"""Which of the cells that a paper prints a store has too: filled, in part, missing, or beyond what a run can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from ..core.evaluator import without_options
from ..report.paper.holdings import plain_name
from ..report.paper.schema import AGREEING, JUDGES, ColumnSpec, Section, specs
from ..report.tables.model import MISSING, Cell, Sheet, Table, TableRow
from ..report.tables.paper import Layout
from .steps import StepState


@dataclass(frozen=True)
class CellCount:
    """Cells of a table, or rows of a figure.

    Attributes:
        filled: The store has them, over all questions.
        partial: The store has them over some of the questions, or with failures.
        missing: A run would fill them.
        by_hand: People, or commands that no run makes, would fill them.
        out_of_reach: Nothing here can fill them.
    """

    filled: int = 0
    partial: int = 0
    missing: int = 0
    by_hand: int = 0
    out_of_reach: int = 0

    @property
    def paper(self) -> int:
        """All that the paper has."""
        return sum(asdict(self).values())

    def __add__(self, other: CellCount) -> CellCount:
        return CellCount(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def to_json(self) -> dict[str, int]:
        """Plain JSON."""
        return {"paper": self.paper, **asdict(self)}


def one_cell(state: str) -> CellCount:
    """A single cell that is so."""
    return CellCount(**{state: 1})


def row_state(step: StepState | None, row: TableRow | None, cell: Cell | None) -> str:
    """How a cell of the paper's stands, by the step that makes its row and by the store's row."""
    if row is not None and cell is not None and cell.text != MISSING:
        return "filled" if row.coverage is None or row.coverage >= 1 else "partial"
    if step is None or step.step.cannot is not None:
        return "out_of_reach"
    # A row with nothing left to do has no number because this exam has no question for it, or its judge no answer.
    return "missing" if step.to_do is None or step.to_do > 0 else "out_of_reach"


@dataclass(frozen=True)
class TableCounter:
    """Counts the cells of one table.

    Attributes:
        steps: By the paper's name of a row; in tables of judges by judge; with a judge in each column by both.
        labels: An evaluator's id -> what tables call it.
        limited: Whether rows without a step are not asked for, and not counted.
    """

    layout: Layout
    steps: Mapping[tuple[str, str], StepState]
    labels: Mapping[str, str]
    limited: bool = False

    def count(self, table: Table, sections: Sequence[Section | None]) -> CellCount:
        """All published cells of the table, which shows the store's rows too."""
        layout = self.layout
        if layout.rows in AGREEING:
            return self._agreeing(table)
        if any(part.values == JUDGES for part in layout.columns):
            return self._by_judge(table)
        found = CellCount()
        for sheet in table.flat:
            blocks = sheet.blocks if layout.sections else [None]
            for place, block in enumerate(blocks):
                rows = list(sheet.rows() if block is None else block.rows)
                columns = specs(layout, sections[place] if block is not None else sections[0], [])
                for row in (row for row in rows if row.published):
                    found += self._row(row, columns, rows)
        return found

    def _row(self, row: TableRow, columns: Sequence[ColumnSpec], rows: Sequence[TableRow]) -> CellCount:
        step = self.steps.get(self._key(row, columns))
        own = self._own(step, rows)
        found = CellCount()
        if self.limited and step is None and self.layout.rows != "exam":
            return found
        for place, (cell, column) in enumerate(zip(row.cells, columns, strict=True)):
            if cell.text == MISSING or column.figure.plain:
                continue
            mine = own.cells[place] if own is not None else None
            state = row_state(step, own, mine)
            if self.layout.rows == "exam":
                there = mine is not None and mine.text != MISSING
                state = "filled" if there else "out_of_reach" if own or not column.figure.measure else "missing"
            elif column.figure.agreement and state in ("missing", "out_of_reach"):
                state = "by_hand"
            found += one_cell(state)
        return found

    def _key(self, row: TableRow, columns: Sequence[ColumnSpec]) -> tuple[str, str]:
        if self.layout.rows != "judges":
            return row.about.get("model", row.label), ""
        shown = [cell.text for cell, column in zip(row.cells, columns, strict=True) if column.figure.column]
        return "", " / ".join([row.label, *shown])

    def _own(self, step: StepState | None, rows: Sequence[TableRow]) -> TableRow | None:
        mine = [row for row in rows if not row.published]
        if self.layout.rows == "exam":
            return mine[0] if mine else None
        return next((row for row in mine if step is not None and self.is_of(step, row.about)), None)

    def is_of(self, step: StepState, about: Mapping[str, str]) -> bool:
        """Whether a row of the store is the one that a step makes, or one of that name that was brought in."""
        names = {self.labels[id] for id in step.evaluators if id in self.labels}
        if self.layout.rows == "judges":
            return about.get("evaluator") in names
        if _made_by(step, about):
            return about.get("evaluator") in names
        same = plain_name(without_options(about.get("painter", ""))) == plain_name(step.step.row.name)
        return same and about.get("judge") in step.judges

    def _agreeing(self, table: Table) -> CellCount:
        """People and judges among themselves: whoever they are, so many numbers are there."""
        sides = [
            [cell for row in rows for cell in row.cells if cell.text != MISSING]
            for rows in (list(_rows(table, published)) for published in (True, False))
        ]
        there = min(map(len, sides))
        return CellCount(filled=there, by_hand=len(sides[0]) - there)

    def _by_judge(self, table: Table) -> CellCount:
        """A column for each judge: the store's stand in a table of their own."""
        found = CellCount()
        for sheet in table.flat:
            for row in (row for row in sheet.rows() if row.published):
                for cell, column in zip(row.cells, sheet.columns, strict=True):
                    step = self.steps.get((row.about["model"], column.value_head or column.head))
                    if cell.text != MISSING and (step is not None or not self.limited):
                        found += one_cell(row_state(step, *self._judged(table.flat, step)))
        return found

    def _judged(self, sheets: Sequence[Sheet], step: StepState | None) -> tuple[TableRow | None, Cell | None]:
        names = {self.labels[id] for id in step.evaluators if id in self.labels} if step else set()
        for sheet in sheets:
            for row in (row for row in sheet.rows() if not row.published):
                if step is not None and _made_by(step, row.about):
                    for cell, column in zip(row.cells, sheet.columns, strict=True):
                        if column.value_head in names or column.head in names:
                            return row, cell
        return None, None


def _made_by(step: StepState, about: Mapping[str, str]) -> bool:
    return (about.get("painter"), about.get("strategy")) == (step.label, step.strategy)


def _rows(table: Table, published: bool) -> Iterator[TableRow]:
    return (row for sheet in table.flat for row in sheet.rows() if row.published is published)


def count_rows(steps: Sequence[StepState | None], covered: Callable[[StepState], float | None]) -> CellCount:
    """The rows of a figure; `covered` says how much of a step's row the store has."""
    found = CellCount()
    for step in steps:
        share = None if step is None or step.step.cannot is not None else covered(step)
        if step is None or (step.step.cannot is not None and share is None):
            found += one_cell("out_of_reach")
        elif share:
            found += one_cell("filled" if share >= 1 else "partial")
        else:
            found += one_cell("missing")
    return found
