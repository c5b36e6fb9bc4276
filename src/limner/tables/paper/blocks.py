"""Puts published rows and a store's under the layout's titles, and marks the best of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model import STORE, Cell, Column, RowBlock, TableRow
from .holdings import Own
from .rows import StoreRow
from .schema import Layout, RowGroup

CONTROLS, OTHERS = "Controls", "Others"


def grouped(
    layout: Layout, published: Sequence[tuple[RowGroup | None, TableRow]], own: Sequence[StoreRow]
) -> list[RowBlock]:
    """The groups in the layout's order, in each the published rows first; what fits nowhere comes last."""
    homes = [(_home(layout, one), one, line) for one, line in own]
    found = [RowBlock("", tuple(line for group, line in published if group is None))]
    for row_group in layout.groups:
        inside = [line for group, line in published if group is row_group]
        inside += [line for home, _, line in homes if home is row_group]
        found.append(RowBlock(row_group.title, tuple(inside), row_group.ranked))
    rest: dict[str, list[TableRow]] = {}
    for home, one, line in homes:
        if home is None:
            rest.setdefault(_title(layout, one), []).append(line)
    if "" in rest:
        found[0] = replace(found[0], rows=(*found[0].rows, *rest.pop("")))
    return found + [RowBlock(title, tuple(inside), title != CONTROLS) for title, inside in rest.items()]


def _home(layout: Layout, own: Own | None) -> RowGroup | None:
    """The layout's group a painter belongs to, by what is known of it."""
    if own is None:
        return None
    for group in layout.groups:
        if group.only is not None:
            if group.only == own.spec:
                return group
        elif group.access == own.facts.access is not None and (not group.kinds or own.facts.kind in group.kinds):
            return group
    return None


def _title(layout: Layout, own: Own | None) -> str:
    """The title over a row that belongs to none of the layout's groups."""
    if own is None:
        return STORE if layout.groups else ""
    if own.group.control and layout.only is None:
        return CONTROLS
    if layout.by_painter:
        return own.group.painter
    return OTHERS if layout.groups else ""


def ranked(
    blocks: Sequence[RowBlock], columns: Sequence[Column], *, within: bool, second: bool
) -> tuple[RowBlock, ...]:
    """The blocks with their cells ranked: together, or each by itself.

    Equal numbers share a rank. Where all numbers of a column are the same, or there is only one, none is marked.
    """
    if within:
        return tuple(_together([block], columns, second)[0] if block.ranked else block for block in blocks)
    chosen = iter(_together([block for block in blocks if block.ranked], columns, second))
    return tuple(next(chosen) if block.ranked else block for block in blocks)


def _together(blocks: Sequence[RowBlock], columns: Sequence[Column], second: bool) -> list[RowBlock]:
    marks: list[dict[float, int]] = []
    for place, column in enumerate(columns):
        values = {value for block in blocks for row in block.rows if (value := row.cells[place].value) is not None}
        order = sorted(values, reverse=column.better == "high")
        marked = column.better != "none" and len(order) > 1
        marks.append({value: rank for rank, value in enumerate(order[: 1 + second], 1)} if marked else {})
    return [
        replace(block, rows=tuple(replace(row, cells=_cells(row.cells, marks)) for row in block.rows))
        for block in blocks
    ]


def _cells(cells: Sequence[Cell], marks: Sequence[dict[float, int]]) -> tuple[Cell, ...]:
    return tuple(
        replace(cell, rank=0 if cell.value is None else mark.get(cell.value, 0))
        for cell, mark in zip(cells, marks, strict=True)
    )
