"""Turns a sheet as its paper does: a column for each row, or a block of lines for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from ..model import Cell, Column, RowBlock, Sheet, TableRow


def turned(sheet: Sheet, how: str) -> Sheet:
    """The sheet in its paper's form; see `limner.tables.paper.layout.Layout`."""
    if how == "columns":
        return _columns(sheet)
    if how in ("scores", "values"):
        return _blocks(sheet, how == "scores")
    return sheet


def _columns(sheet: Sheet) -> Sheet:
    """Every row becomes a column; every column a line, under its head above."""
    rows = [(group.title, line) for group in sheet.blocks for line in group.rows]
    columns = tuple(
        Column(
            head=line.label,
            over=title,
            path=line.label,
            published=line.published,
            notes=line.notes,
            coverage=line.coverage,
        )
        for title, line in rows
    )
    groups = []
    for title, places in groupby(range(len(sheet.columns)), key=lambda place: sheet.columns[place].over):
        lines = [
            TableRow(column.head, tuple(line.cells[place] for _, line in rows), notes=column.notes)
            for place in places
            for column in [sheet.columns[place]]
        ]
        groups.append(RowBlock(title, tuple(lines)))
    return replace(sheet, columns=columns, blocks=tuple(groups))


def _blocks(sheet: Sheet, scores: bool) -> Sheet:
    """Every row becomes a block: a line per figure with the values as columns, or the other way round."""
    cells = {(column.block, column.figure): place for place, column in enumerate(sheet.columns)}
    blocks, figures = (sorted({key[side] for key in cells}) for side in (0, 1))
    heads = {column.block: column.value_head for column in sheet.columns}
    names = {column.figure: column for column in sheet.columns}
    if scores:
        columns = tuple(Column(head=heads[block], path=heads[block]) for block in blocks)
    else:
        columns = tuple(
            replace(names[figure], head=names[figure].figure_head, over=names[figure].figure_over) for figure in figures
        )

    def lines(line: TableRow) -> Iterator[TableRow]:
        for outer in figures if scores else blocks:
            inner: Sequence[int] = blocks if scores else figures
            keys = [(one, outer) if scores else (outer, one) for one in inner]
            label = names[outer].figure_head if scores else heads[outer]
            found = tuple(line.cells[cells[key]] if key in cells else Cell() for key in keys)
            yield TableRow(label, found, published=line.published)

    groups = [
        RowBlock(_title(line), tuple(lines(line)), group.ranked, line.published, line.notes)
        for group in sheet.blocks
        for line in group.rows
    ]
    return replace(sheet, columns=columns, blocks=tuple(groups))


def _title(line: TableRow) -> str:
    return f"{line.label} ({line.covered})" if line.covered else line.label
