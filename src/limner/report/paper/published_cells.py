"""The published part of a table: every figure as printed in the paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...core.errors import DataError
from ...exams.paper import BOARD, ReleaseBoard, rows, rules
from ..tables.model import MISSING, Cell, RowBlock, TableRow
from .schema import Board, ColumnSpec, Layout, RowGroup, Section

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
    return [row for row in rows(layout.exam) if row["table"] in tables]


def judges(rows: Iterable[Row]) -> list[str]:
    """Return the judges of the paper's figures, in the file's order."""
    return list(dict.fromkeys(row["judge"] for row in rows if row["judge"]))


def published_rows(
    layout: Layout, section: Section | None, specs: Sequence[ColumnSpec]
) -> list[tuple[RowGroup | None, TableRow]]:
    """Return the published rows in the paper's order, each with its group."""
    return _rows(layout, specs, published(layout, section))


def board_blocks(layout: Layout, board: Board, specs: Sequence[ColumnSpec]) -> list[RowBlock]:
    """Return the leaderboard's rows in its order, in the layout's groups; they are not ranked with the paper's."""
    ours = {theirs: ours for ours, theirs in board.names.items()}
    figures = [
        {**row, "category": ours.get(row["category"], row["category"])}
        for row in rows(layout.exam, BOARD)
        if row["table"] == board.table
    ]
    layout = layout.model_copy(update={"groups": board.groups or layout.groups})
    lines = _rows(layout, specs, figures)
    title = release_board(layout, board).title
    titles: list[tuple[RowGroup | None, str]] = [(None, title)]
    titles += [(group, f"{group.title}, {title}") for group in layout.groups]
    blocks = [(title, tuple(line for home, line in lines if home is group)) for group, title in titles]
    return [RowBlock(title, inside, ranked=False, board=True) for title, inside in blocks if inside]


def release_board(layout: Layout, board: Board) -> ReleaseBoard:
    """Return the exam's rules for a board: its date and a note about it.

    Raises:
        DataError: The rules do not mention the board.
    """
    try:
        return rules(layout.exam).board(board.table)
    except ValueError as error:
        raise DataError(f"{layout.key}: rules.toml: {error}") from error


def _rows(
    layout: Layout, specs: Sequence[ColumnSpec], figures: Iterable[Row]
) -> list[tuple[RowGroup | None, TableRow]]:
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
        matches = (re.search(figure.noted, row["note"]) for row in body)
        side = next((match for match in matches if match), None)
        return Cell(side[1], published=True) if side else Cell(published=True)
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
