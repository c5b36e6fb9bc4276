"""Item statistics as tables and CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..scoring.items import FLAGS, GROUP, ItemRow, ItemStatistics, group_size
from ..scoring.stats import LEAST, Measure
from .model import MISSING, Cell, Table, interval_cell, number, simple_table
from .render.csv import records

COLUMNS = (
    "judge", "question", "criterion", "text", "right", "right_low", "right_high", "painters", "item_total",
    "discrimination", "differ", "drawings", "flags",
)  # fmt: skip


def item_tables(found: Sequence[ItemStatistics], exam: str, flagged: bool = False) -> list[Table]:
    """For each judge a table of questions and one of criteria; with `flagged`, what is worth a look alone."""
    return [table for one in found for table in _tables(one, exam, flagged)]


def _tables(found: ItemStatistics, exam: str, flagged: bool) -> Iterator[Table]:
    def kept(rows: Sequence[ItemRow]) -> list[ItemRow]:
        return [row for row in rows if row.flags or not flagged]

    questions, criteria = kept(found.questions), kept(found.criteria)
    count = len(found.painters)
    title = f"{exam} · items under {found.evaluator.told} · {count} {'painter' if count == 1 else 'painters'}"
    if flagged and not questions and not criteria:
        yield simple_table(f"{title} · nothing is flagged", [], [])
        return
    heads = ["question", "right", "item-total", "discrimination", "flags"]
    above = list(found.evaluator.warnings)
    if count < LEAST:
        above.append(f"only {count}: numbers of so few painters say little, and have no interval")
    yield simple_table(title, heads, [[row.question, *_cells(row)] for row in questions], _notes(found), above=above)
    heads = ["question", "criterion", "right", "item-total", "discrimination", "judges differ", "flags", "text"]
    rows = [[row.question, row.criterion or "", *_cells(row, True), row.text] for row in criteria]
    notes = [f"{flag}: {about}" for flag, about in FLAGS.items() if any(flag in row.flags for row in criteria)]
    if found.undecided:
        notes.append(f"{found.undecided} criteria are not here: the judge decided them for no painter")
    yield simple_table("", heads, rows, notes, names=2, prose=("text",))


def _cells(row: ItemRow, differ: bool = False) -> list[str | Cell]:
    right = row.right
    value, low, high = (None if end is None else 100 * end for end in (right.value, right.low, right.high))
    share = interval_cell(value, low, high, 0, right.n if right.n < LEAST else None)
    cells: list[str | Cell] = [share, _told(row.item_total), _told(row.discrimination)]
    if differ:
        cells.append(MISSING if row.differ.value is None else f"{100 * row.differ.value:.0f}% of {row.differ.n}")
    return [*cells, ", ".join(row.flags)]


def _told(one: Measure) -> str:
    return number(one.value, 2)


def _notes(found: ItemStatistics) -> list[str]:
    count = len(found.painters)
    who = "painter" if (size := group_size(count) if count else 0) == 1 else "painters"
    return [
        "right: mean share of the best marks, in percent; item-total: correlation with all other items",
        f"discrimination: the best {size} {who} less the worst {size}, by all other items ({GROUP:.0%} each)",
        f"{MISSING}: not defined, such as where all painters have the same",
        *found.notes,
    ]


def items_csv(found: Sequence[ItemStatistics]) -> str:
    """One line per question and criterion; what is not defined is empty."""
    return records(COLUMNS, (_record(one, row) for one in found for row in (*one.questions, *one.criteria)))


def _record(found: ItemStatistics, row: ItemRow) -> dict[str, Any]:
    return {
        "judge": found.evaluator.name, "question": row.question, "criterion": row.criterion or "", "text": row.text,
        "right": row.right.value, "right_low": row.right.low, "right_high": row.right.high, "painters": row.right.n,
        "item_total": row.item_total.value, "discrimination": row.discrimination.value, "differ": row.differ.value,
        "drawings": row.differ.n, "flags": " ".join(row.flags),
    }  # fmt: skip
