"""Fills a layout: the published figures, and beside them what a store has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ... import exams
from ...core.errors import UsageError
from ...core.exam import Exam
from ...store import Store
from ..model import STORE, Cell, Column, RowBlock, Sheet, Table
from . import captions, published_cells
from .blocks import grouped, ranked
from .columns import specs
from .holdings import Holdings, holdings
from .rows import StoreRows
from .schema import JUDGES, Layout, Section
from .transpose import turned


@dataclass(frozen=True)
class TableChoice:
    """What is to be shown.

    Attributes:
        exam: The exam's name in the store; found by its kind where none is given.
        on: The questions a store's painters are compared on.
        which: Whose drawings and whose marks; see `limner.api.groups`.
        section: Of a table with sections, only this one.
        study: Only people of this study, with its weights.
    """

    published: bool = True
    intervals: bool = True
    reading: str = "careful"
    exam: str | None = None
    on: str = "common"
    which: Mapping[str, Any] = field(default_factory=dict)
    section: str | None = None
    study: str | None = None


def build(
    layout: Layout, store: Store | None = None, choice: TableChoice | None = None, exam: Exam[Any] | None = None
) -> Table:
    """The table with everything in it; where there is no store, statistics of `exam` as it was read.

    Raises:
        UsageError: The choice names what is not there.
    """
    choice = choice or TableChoice()
    sections = _sections(layout, choice.section)
    held = None if store is None else _held(layout, store, choice)
    if store is None and exam is not None and layout.rows == "exam":
        held = Holdings(exams.kind(layout.exam).protocol, choice.reading, exam, place="in its data folder")
    own = StoreRows(layout, held)
    sides = [(True, False), (False, True)] if layout.apart else [(True, True)]
    flat = []
    for printed_too, own_too in sides:
        sheet = _sheet(layout, sections, own if own_too else None, printed_too and choice.published)
        if any(group.rows for group in sheet.blocks):
            flat.append(sheet if choice.intervals else _without_intervals(sheet))
    groups = [group for sheet in flat for group in sheet.blocks]
    return Table(
        layout.key,
        layout.title,
        tuple(turned(sheet, layout.turn) for sheet in flat),
        tuple(flat),
        tuple(captions.caption(layout, held, choice.published, choice.intervals, sections)),
        tuple(captions.notes(layout, held, groups)),
        tuple(own.footnotes),
    )


def _sections(layout: Layout, wanted: str | None) -> Sequence[Section | None]:
    if wanted is None:
        return layout.sections or (None,)
    found = [section for section in layout.sections if section.title.casefold() == wanted.casefold()]
    if not found:
        there = ", ".join(section.title for section in layout.sections) or "none"
        raise UsageError(f"{layout.key} has no section {wanted!r}; it has: {there}")
    return found


def _held(layout: Layout, store: Store, choice: TableChoice) -> Holdings:
    return holdings(
        store,
        layout.exam,
        exam=choice.exam,
        which=choice.which,
        reading=choice.reading,
        tags=sorted({part.tag for part in layout.columns if part.tag is not None}),
        subsets=sorted({part.subset for part in layout.columns if part.subset is not None}),
        on=choice.on,
        across=any(part.values == JUDGES for part in layout.columns),
        only=layout.only,
        rows=layout.rows,
        agreeing=layout.agreeing,
        study=choice.study,
    )


def _sheet(layout: Layout, sections: Sequence[Section | None], own: StoreRows | None, printed_too: bool) -> Sheet:
    columns: Sequence[Column] = ()
    groups: list[RowBlock] = []
    for section in sections:
        judges = own.judges if own else []
        if printed_too and (printed := published_cells.published(layout, section)):
            judges = published_cells.judges(printed)
        found = specs(layout, section, judges)
        columns = columns or (own.heads(found) if own else [spec.column for spec in found])
        published = published_cells.published_rows(layout, section, found) if printed_too else []
        mine = own.make(found) if own else []
        if section is None:
            groups += grouped(layout, published, mine)
            for board in layout.boards if printed_too else ():
                groups += published_cells.board_blocks(layout, board, found)
        else:
            groups.append(RowBlock(section.title, tuple(line for _, line in [*published, *mine])))
    if layout.rank != "none":
        # A section is a table of its own.
        within = layout.rank == "group" or bool(layout.sections)
        groups = list(ranked(groups, columns, within=within, second=layout.second))
    title = "" if not layout.apart else "As published" if printed_too else STORE
    return Sheet(title, layout.stub, tuple(columns), tuple(group for group in groups if group.rows))


def _without_intervals(sheet: Sheet) -> Sheet:
    def bare(cell: Cell) -> Cell:
        return replace(cell, low=None, high=None, few=None)

    groups = [
        replace(group, rows=tuple(replace(line, cells=tuple(map(bare, line.cells))) for line in group.rows))
        for group in sheet.blocks
    ]
    return replace(sheet, blocks=tuple(groups))
