"""The builder of a paper's table: fills a layout with the published figures and with a store's own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from ...core.errors import UsageError
from ...core.exam import Exam
from ...core.plot_data import least_to_most
from ...scoring import Comparable
from ...scoring.stats import MIN_CLUSTERS
from ...store import Store
from ..tables.model import INTERVALS, MAX_NOTES, STORE, Cell, Column, RowBlock, Sheet, Table, TableRow
from .holdings import Holdings, PainterResult, load_holdings
from .rows import StoreRow, StoreRows, board_blocks, judges, published, published_rows, release_board
from .schema import COUNTED, Layout, RowGroup, Section, TableChoice, specs


def build(
    layout: Layout, store: Store | None = None, choice: TableChoice | None = None, exam: Exam[Any] | None = None
) -> Table:
    """Return the complete table; without a store, statistics are those of `exam`.

    Raises:
        UsageError: The choice names something that does not exist.
    """
    choice = choice or TableChoice()
    sections = _sections(layout, choice.section)
    held = None if store is None else load_holdings(store, layout, choice)
    if store is None and exam is not None and layout.rows == "exam":
        held = Holdings(choice.reading, exam, place="in its data folder")
    own = StoreRows(layout, held)
    sides = [(True, False), (False, True)] if layout.apart else [(True, True)]
    flat = []
    for printed_too, own_too in sides:
        sheet = _sheet(layout, sections, own if own_too else None, printed_too and choice.published)
        if sheet.blocks:
            flat.append(sheet if choice.intervals else _with_cells(sheet, lambda cells: map(_bare, cells)))
    shown = flat if choice.full else [_concise(sheet) for sheet in flat]
    remarks = notes(layout, held, [group for sheet in shown for group in sheet.blocks], choice.intervals)
    most = None if choice.full else max(0, MAX_NOTES - len(own.footnotes))
    return Table(
        layout.key,
        layout.title,
        tuple(turned(sheet, layout.turn) for sheet in shown),
        tuple(flat),
        tuple(caption(layout, held, choice, sections)),
        tuple(remarks[:most]),
        tuple(own.footnotes),
        details=tuple(remarks[len(remarks[:most]) :]),
    )


def _concise(sheet: Sheet) -> Sheet:
    """Return the sheet with numbers of the whole exam first, without intervals elsewhere, without release boards."""
    columns = sheet.columns
    order = sorted(range(len(columns)), key=lambda place: not columns[place].whole)
    sheet = _with_cells(sheet, lambda cells: [cells[n] if columns[n].whole else _bare(cells[n]) for n in order])
    blocks = tuple(block for block in sheet.blocks if not block.board)
    return replace(sheet, columns=tuple(columns[place] for place in order), blocks=blocks)


def _with_cells(sheet: Sheet, change: Callable[[Sequence[Cell]], Iterable[Cell]]) -> Sheet:
    """Return the sheet with the cells of every row changed."""
    blocks = [
        replace(block, rows=tuple(replace(row, cells=tuple(change(row.cells))) for row in block.rows))
        for block in sheet.blocks
    ]
    return replace(sheet, blocks=tuple(blocks))


def _bare(cell: Cell) -> Cell:
    return replace(cell, low=None, high=None, few=None)


def _sections(layout: Layout, wanted: str | None) -> Sequence[Section | None]:
    if wanted is None:
        return layout.sections or (None,)
    matches = [section for section in layout.sections if section.title.casefold() == wanted.casefold()]
    if not matches:
        titles = ", ".join(section.title for section in layout.sections) or "none"
        raise UsageError(f"{layout.key} has no section {wanted!r}; it has: {titles}")
    return matches


def _sheet(layout: Layout, sections: Sequence[Section | None], own: StoreRows | None, printed_too: bool) -> Sheet:
    columns: Sequence[Column] = ()
    groups: list[RowBlock] = []
    for section in sections:
        printed = published(layout, section) if printed_too else []
        column_specs = specs(layout, section, judges(printed) if printed or own is None else own.judges)
        columns = columns or (own.heads(column_specs) if own else [spec.column for spec in column_specs])
        printed_rows = published_rows(layout, column_specs, printed)
        mine = own.make(column_specs) if own else []
        if section is None:
            groups += grouped(layout, printed_rows, mine)
            for board in layout.boards if printed_too else ():
                groups += board_blocks(layout, board, column_specs)
        else:
            groups.append(RowBlock(section.title, tuple(line for _, line in [*printed_rows, *mine])))
    if layout.rank != "none":
        # Sections are ranked separately.
        within = layout.rank == "group" or bool(layout.sections)
        groups = list(ranked(groups, columns, within=within, second=layout.second))
    title = "" if not layout.apart else "As published" if printed_too else STORE
    return Sheet(title, layout.stub, tuple(columns), tuple(group for group in groups if group.rows))


CONTROLS, OTHERS = "Controls", "Others"


def grouped(
    layout: Layout, published: Sequence[tuple[RowGroup | None, TableRow]], own: Sequence[StoreRow]
) -> list[RowBlock]:
    """Return the groups in the layout's order, published rows first in each; rows without a group come last."""
    homes = [(_home(layout, one), one, line) for one, line in own]
    loose = {"": [line for group, line in published if group is None]}
    for home, one, line in homes:
        if home is None:
            loose.setdefault(_title(layout, one), []).append(line)
    blocks = [RowBlock("", tuple(loose.pop("")))]
    for row_group in layout.groups:
        inside = [line for group, line in published if group is row_group]
        inside += [line for home, _, line in homes if home is row_group]
        blocks.append(RowBlock(row_group.title, tuple(inside), row_group.ranked))
    return blocks + [RowBlock(title, tuple(inside), title != CONTROLS) for title, inside in loose.items()]


def _home(layout: Layout, own: PainterResult | None) -> RowGroup | None:
    """Return the layout's group to which a painter belongs, judging by its facts."""
    if own is None:
        return None
    for group in layout.groups:
        if group.only is not None:
            if group.only == own.spec:
                return group
        elif group.access == own.facts.access is not None and (not group.kinds or own.facts.kind in group.kinds):
            return group
    return None


def _title(layout: Layout, own: PainterResult | None) -> str:
    """Return the title above a row that belongs to none of the layout's groups."""
    if own is None:
        return STORE if layout.groups else ""
    if own.group.control and layout.only is None:
        return CONTROLS
    if layout.by_painter:
        return own.group.shown or own.group.painter
    return OTHERS if layout.groups else ""


def ranked(
    blocks: Sequence[RowBlock], columns: Sequence[Column], *, within: bool, second: bool
) -> tuple[RowBlock, ...]:
    """Return the blocks with their cells ranked: all blocks together, or each block separately.

    Only rows with the same evaluator, reading and questions are ranked together, and published rows separately.
    Equal numbers share a rank. A column with a single number, or with only equal numbers, is not ranked.
    """
    alike: dict[tuple[object, ...], list[TableRow]] = {}
    for place, block in enumerate(blocks):
        for row in block.rows if block.ranked else ():
            alike.setdefault((within and place, *_basis(row)), []).append(row)
    ranks = {basis: _ranks(rows, columns, second) for basis, rows in alike.items()}

    def marked(place: int, row: TableRow) -> TableRow:
        given = zip(row.cells, ranks[within and place, *_basis(row)], strict=True)
        return replace(row, cells=tuple(replace(cell, rank=rank.get(cell.value, 0)) for cell, rank in given))

    return tuple(
        replace(block, rows=tuple(marked(place, row) for row in block.rows)) if block.ranked else block
        for place, block in enumerate(blocks)
    )


def _basis(row: TableRow) -> tuple[object, ...]:
    """Return what rows must share to be ranked together: published or not, evaluator, reading and questions."""
    alike = ("evaluator", "reading", "n") if "painter" in row.about else ()
    return row.published, *(row.about.get(name) for name in alike)


def _ranks(rows: Sequence[TableRow], columns: Sequence[Column], second: bool) -> list[dict[float | None, int]]:
    """Return for each column the best value, and the second best, with their ranks."""
    ranks: list[dict[float | None, int]] = []
    for place, column in enumerate(columns):
        values = {value for row in rows if (value := row.cells[place].value) is not None}
        order = sorted(values, reverse=column.better == "high")
        ranked = column.better != "none" and len(order) > 1
        ranks.append({value: rank for rank, value in enumerate(order[: 1 + second], 1)} if ranked else {})
    return ranks


def turned(sheet: Sheet, how: str) -> Sheet:
    """Return the sheet oriented as in the paper; see `turn` of `limner.report.paper.schema.Layout`."""
    if how == "columns":
        return _columns(sheet)
    if how in ("scores", "values"):
        return _blocks(sheet, how == "scores")
    return sheet


def _columns(sheet: Sheet) -> Sheet:
    """Turn every row into a column, and every column into a row labelled with its head."""
    rows = [(group.title, line) for group in sheet.blocks for line in group.rows]
    columns = [
        Column(line.label, title, line.label, published=line.published, notes=line.notes, coverage=line.coverage)
        for title, line in rows
    ]
    blocks = []
    for title, heads in groupby(enumerate(sheet.columns), key=lambda place: place[1].over):
        lines = [
            TableRow(head.head, tuple(line.cells[place] for _, line in rows), notes=head.notes) for place, head in heads
        ]
        blocks.append(RowBlock(title, tuple(lines)))
    return replace(sheet, columns=tuple(columns), blocks=tuple(blocks))


def _blocks(sheet: Sheet, scores: bool) -> Sheet:
    """Turn every row into a block: a row per figure with the values as columns, or the other way round."""
    cells = {(column.block, column.figure): place for place, column in enumerate(sheet.columns)}
    values = {column.block: column.value_head for column in sorted(sheet.columns, key=lambda column: column.block)}
    figures = {column.figure: column for column in sorted(sheet.columns, key=lambda column: column.figure)}
    if scores:
        columns = [Column(head=head, path=head) for head in values.values()]
        lines = [(column.figure_head, [(value, figure) for value in values]) for figure, column in figures.items()]
    else:
        columns = [replace(each, head=each.figure_head, over=each.figure_over) for each in figures.values()]
        lines = [(head, [(value, figure) for figure in figures]) for value, head in values.items()]
    blocks = []
    for group in sheet.blocks:
        for row in group.rows:
            inside = [
                TableRow(head, tuple(row.cells[cells[key]] if key in cells else Cell() for key in keys), row.published)
                for head, keys in lines
            ]
            title = f"{row.label} ({row.covered})" if row.covered else row.label
            blocks.append(RowBlock(title, tuple(inside), group.ranked, row.published, row.notes))
    return replace(sheet, columns=tuple(columns), blocks=tuple(blocks))


def caption(
    layout: Layout, held: Holdings | None, choice: TableChoice, sections: Sequence[Section | None]
) -> list[str]:
    """Return the lines of the caption: title, sources of the figures, and the store's judges and questions."""
    tables = layout.tables(None)
    numbers = " and ".join(table.removeprefix("Table ") for table in tables)
    place = tables[0] if len(tables) == 1 else f"Tables {numbers}"
    name = layout.paper.cite.partition(" ")[0]
    lines = [f"{name}, {place}: {layout.title}." if tables else f"{name}: {layout.title}."]
    if choice.published and (tables or layout.sections):
        marked = [judge for section in layout.sections or (None,) for judge in judges(published(layout, section))]
        # "X + Y" names both judges of a combined number; it is dropped if X and Y are listed anyway.
        alone = [judge for judge in dict.fromkeys(marked) if not set(judge.split(" + ")) <= {*marked} - {judge}]
        by = f", judge {' and '.join(alone)}" if alone and layout.rows == "painters" else ""
        lines.append(f"Published figures: {layout.paper.cite}{by}.")
        about = [release_board(layout, board).about for board in layout.boards if choice.full]
        lines += [f"{each} Its rows are not ranked with the paper's." for each in about]
    by = ""
    if layout.rows == "painters" and held is not None and held.rows:
        by = f", judge {', '.join(dict.fromkeys(own.evaluator.told for own in held.rows))}"
    if layout.about_people and held is not None and held.exam is not None and held.agreement is not None:
        about_store = f"{STORE}: exam {held.exam.name}{by}; {held.agreement.words}; reading {held.reading}."
        return [*lines, about_store, *(_warnings(held) if by else [])]
    if held is None or held.exam is None or (layout.rows not in COUNTED and not held.rows):
        return lines
    what = "training part of build" if layout.rows == "training" else "exam"
    about_store = f"{STORE}: {what} {held.exam.name}, {_scored(layout, held, sections)}"
    if layout.rows == "painters":
        about_store += f"{by}, reading {held.reading}{_alike(held)}"
    if held.agreement is not None and held.agreement.people is not None:
        about_store += f"; {held.agreement.words}"
    lines.append(f"{about_store}.")
    if layout.rows == "painters":
        lines += _warnings(held)
        lines += [f"{_whose(held, side)}{note}." for side in held.compared for note in side.first]
    return lines


def notes(layout: Layout, held: Holdings | None, groups: Sequence[RowBlock], intervals: bool) -> list[str]:
    """Return the notes that apply to the table, those on the store's numbers first."""
    of_paper = layout.rows == "painters" and (layout.tables(None) or layout.sections)
    about_paper = [note for note in (layout.note, layout.paper.note if of_paper else "") if note]
    lines = [line for group in groups for line in group.rows if not line.published]
    if held is None or not lines or layout.rows != "painters" or layout.about_people:
        return about_paper
    remarks = []
    for side in held.compared:
        # The caption already names the painters that cut the common questions.
        remarks += [f"{_whose(held, side)}{note}." for note in side.notes if note not in side.first]
    if any(line.covered for line in lines):
        remarks.append("Covered: questions with a score, of those in the exam; failures are left out, never zeros.")
    if any(cell.least is not None for line in lines for cell in line.cells):
        remarks.append("least … most: the lowest and the highest possible value of a score, where the judge abstained.")
    if intervals and any(cell.low is not None for line in lines for cell in line.cells):
        remarks.append(INTERVALS)
    if intervals and any(cell.few is not None for line in lines for cell in line.cells):
        remarks.append(f"No interval: fewer than {MIN_CLUSTERS} questions are too few for one.")
    return remarks + about_paper + _remarks(held.rows)


def _warnings(held: Holdings) -> list[str]:
    """Return the warnings about judges, with the judge's name if there are several judges."""
    judges = {own.evaluator.id: own.evaluator for own in held.rows}.values()
    warnings = [(f"{judge.name}: ", warning) for judge in judges for warning in judge.warnings]
    return [(name if len(judges) > 1 else "") + warning for name, warning in warnings]


def _whose(held: Holdings, side: Comparable) -> str:
    return f"{side.evaluator.name}: " if len(held.compared) > 1 else ""


def _scored(layout: Layout, held: Holdings, sections: Sequence[Section | None]) -> str:
    """Return a phrase with the number of scored questions, and of all questions that the table covers."""
    assert held.exam is not None
    whole = held.exam.questions
    if layout.rows in COUNTED:
        return f"{len(whole)} {COUNTED[layout.rows]}"
    about = _about(layout, held.exam, sections)
    counts = {len(about & ids) for ids in _rested_on(layout, held)} - {0}
    if counts == {len(whole)}:
        return f"{len(whole)} questions"
    least_and_most = least_to_most(counts) if counts else "none"
    if len(about) == len(whole):
        return f"{least_and_most} of its {len(whole)} questions scored"
    return f"{least_and_most} of this table's {len(about)} questions scored (the exam has {len(whole)})"


def _about(layout: Layout, exam: Exam[Any], sections: Sequence[Section | None]) -> set[str]:
    """Return the ids of the questions that the columns cover."""
    ids: set[str] = set()
    slots = [slot for section in sections for slot in specs(layout, section, ["any"])]
    if layout.rows == "painters":
        slots = [slot for slot in slots if slot.figure.score is not None] or slots
    for slot in slots:
        part = slot.part
        tagged = {
            question.id for question in exam.questions if part.tag is None or question.tags.get(part.tag) == slot.tagged
        }
        ids |= tagged if part.subset is None else tagged & exam.subsets.get(part.subset, frozenset())
    return ids


def _rested_on(layout: Layout, held: Holdings) -> list[set[str]]:
    """Return the questions behind each row (painter or judge); controls count only if there is no other painter."""
    if layout.rows == "judges":
        judged: dict[str, set[str]] = {}
        for own in held.rows:
            judged.setdefault(own.group.evaluator.id, set()).update(entry.question.id for entry in own.group.scored)
        return list(judged.values())
    rows = [(side, group) for side in held.compared for group in side.everyone]
    rows = [(side, group) for side, group in rows if not group.control] or rows
    return [{entry.question.id for entry in side.basis(group)} for side, group in rows]


def _alike(held: Holdings) -> str:
    """Return a phrase on whether all painters have the same questions; empty if there is only one painter."""
    if not any(len(side.groups) > 1 for side in held.compared):
        return ""
    common = all(side.on == "common" and side.questions for side in held.compared if len(side.groups) > 1)
    return "; all painters on the same questions" if common else "; each painter on its own questions"


def _remarks(rows: Sequence[PainterResult]) -> list[str]:
    by_remark: dict[str, list[str]] = {}
    for own in rows:
        for remark in own.scores[None].remarks:
            by_remark.setdefault(remark, []).append(own.name)
    return [
        remark if len(names) == len(rows) else f"{', '.join(dict.fromkeys(names))}: {remark}"
        for remark, names in by_remark.items()
    ]
