"""Marks the best and the second best of each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..model import Cell, Column, Group


def ranked(groups: Sequence[Group], columns: Sequence[Column], *, within: bool, second: bool) -> tuple[Group, ...]:
    """The groups with their cells ranked: together, or each by itself.

    Equal numbers share a rank. Where all numbers of a column are the same, or there is only one, none is marked.
    """
    if within:
        return tuple(_together([group], columns, second)[0] if group.ranked else group for group in groups)
    chosen = iter(_together([group for group in groups if group.ranked], columns, second))
    return tuple(next(chosen) if group.ranked else group for group in groups)


def _together(groups: Sequence[Group], columns: Sequence[Column], second: bool) -> list[Group]:
    marks: list[dict[float, int]] = []
    for place, column in enumerate(columns):
        values = {value for group in groups for line in group.lines if (value := line.cells[place].value) is not None}
        order = sorted(values, reverse=column.better == "high")
        marked = column.better != "none" and len(order) > 1
        marks.append({value: rank for rank, value in enumerate(order[: 1 + second], 1)} if marked else {})
    return [
        replace(group, lines=tuple(replace(line, cells=_cells(line.cells, marks)) for line in group.lines))
        for group in groups
    ]


def _cells(cells: Sequence[Cell], marks: Sequence[dict[float, int]]) -> tuple[Cell, ...]:
    return tuple(
        replace(cell, rank=0 if cell.value is None else mark.get(cell.value, 0))
        for cell, mark in zip(cells, marks, strict=True)
    )
