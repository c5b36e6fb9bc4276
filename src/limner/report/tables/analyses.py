"""Tables of what is reported beyond scores: a paper's analyses, item statistics, modes of failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.data_rows import write_csv
from ...core.evaluator import group_by_evaluator
from ...core.plot_data import plural
from ...core.protocol import UNREAD, FailureModes
from ...scoring import Standing
from ...scoring.items import FLAGS, GROUP, ItemRow, ItemStatistics, group_size
from ...scoring.stats import MIN_CLUSTERS
from .model import MISSING, Cells, Table, column_table, number, percent_cell, simple_table

if TYPE_CHECKING:
    from ...running.modes import SortedDrawing

Numbers = tuple[str | None, Mapping[str, Any]]
"""A row's name, or None, and its numbers."""


def analysis_tables(standings: Sequence[Standing]) -> list[Table]:
    """Return a table for every analysis under every evaluator, with all its painters."""
    tables = []
    for rows in group_by_evaluator(standings):
        for name in dict.fromkeys(name for row in rows for name in row.analyses):
            title = f"{rows[0].exam} · judge {rows[0].evaluator.name} · {name.replace('_', ' ')}"
            having = [row for row in rows if name in row.analyses]
            called = rows[0].compared.protocol.called
            tables.append(_table(title, [(row.name, row.analyses[name]) for row in having], called))
    return tables


def _table(title: str, bodies: Sequence[tuple[str, Any]], called: Callable[[str], str] = str) -> Table:
    lines = [(painter, key, item) for painter, body in bodies for key, item in _lines(body)]
    columns = list(dict.fromkeys(name for _, _, item in lines for name in item))
    if not columns:
        return simple_table(title, [], [], ["nothing to show: its parts are not known"])
    shown: list[tuple[str, Cells]] = [("painter", [painter for painter, _, _ in lines])]
    if keyed := any(key is not None for _, key, _ in lines):
        shown.append(("", [key or "" for _, key, _ in lines]))
    shown += [(called(name), [_cell(item.get(name)) for _, _, item in lines]) for name in columns]
    return column_table(title, shown, _notes(lines, columns, called), names=1 + keyed)


def _lines(body: Any) -> list[Numbers]:
    if isinstance(body, Mapping):
        keyed = body and all(isinstance(item, Mapping) for item in body.values())
        return [(str(key), item) for key, item in body.items()] if keyed else [(None, body)]
    if isinstance(body, Sequence) and not isinstance(body, str) and all(isinstance(item, Mapping) for item in body):
        return [(None, item) for item in body]
    return [(None, {"value": body})]


def _notes(
    lines: Sequence[tuple[str, str | None, Mapping[str, Any]]], columns: Sequence[str], called: Callable[[str], str]
) -> list[str]:
    """Return the notes that explain cells with several numbers, in order of columns."""
    inner: dict[str, list[str]] = {}
    for column in columns:
        cells = [item[column] for _, _, item in lines if isinstance(item.get(column), Mapping)]
        if cells:
            inner.setdefault(" / ".join(map(str, cells[0])), []).append(called(column))
    return [f"{', '.join(names)}: {words}" for words, names in inner.items()]


def _cell(value: Any) -> str:
    """Format a number, a range, or several numbers briefly.

    >>> _cell(0.12345), _cell([3, 8]), _cell({"mean": 0.5, "median": 0.25}), _cell(None)
    ('0.123', '3 to 8', '0.500 / 0.250', '–')
    """
    if value is None:
        return MISSING
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, Mapping):
        return " / ".join(map(_cell, value.values()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return (" to " if len(value) == 2 else ", ").join(map(_cell, value))
    return str(value)


COLUMNS = (
    "judge", "question", "criterion", "text", "right", "right_low", "right_high", "painters", "item_total",
    "discrimination", "differ", "drawings", "flags",
)  # fmt: skip


def item_tables(statistics: Sequence[ItemStatistics], exam: str, flagged: bool = False) -> list[Table]:
    """Return for each judge a table of questions and one of criteria; with `flagged`, only the flagged ones."""
    return [table for of_judge in statistics for table in _tables(of_judge, exam, flagged)]


def _tables(statistics: ItemStatistics, exam: str, flagged: bool) -> Iterator[Table]:
    kept = ([row for row in rows if row.flags or not flagged] for rows in (statistics.questions, statistics.criteria))
    questions, criteria = kept
    count = len(statistics.painters)
    title = f"{exam} · items under {statistics.evaluator.told} · {plural(count, 'painter')}"
    if flagged and not questions and not criteria:
        yield simple_table(f"{title} · nothing is flagged", [], [])
        return
    heads = ["question", "right", "item-total", "discrimination", "flags"]
    above = list(statistics.evaluator.warnings)
    if count < MIN_CLUSTERS:
        above.append(f"only {count}: numbers of so few painters say little, and have no interval")
    yield simple_table(
        title, heads, [[row.question, *_cells(row)] for row in questions], _item_notes(statistics), above=above
    )
    heads = ["question", "criterion", "right", "item-total", "discrimination", "judges differ", "flags", "text"]
    rows = [[row.question, row.criterion or "", *_cells(row, True), row.text] for row in criteria]
    notes = [f"{flag}: {about}" for flag, about in FLAGS.items() if any(flag in row.flags for row in criteria)]
    if statistics.undecided:
        notes.append(f"{statistics.undecided} criteria are not here: the judge decided them for no painter")
    yield simple_table("", heads, rows, notes, names=2, prose=("text",))


def _cells(row: ItemRow, differ: bool = False) -> Cells:
    share = percent_cell(row.right, 0, row.right.n if row.right.n < MIN_CLUSTERS else None)
    cells: Cells = [share, number(row.item_total.value, 2), number(row.discrimination.value, 2)]
    if differ:
        cells.append(MISSING if row.differ.value is None else f"{100 * row.differ.value:.0f}% of {row.differ.n}")
    return [*cells, ", ".join(row.flags)]


def _item_notes(statistics: ItemStatistics) -> list[str]:
    count = len(statistics.painters)
    who = "painter" if (size := group_size(count) if count else 0) == 1 else "painters"
    return [
        "right: mean share of the best marks, in percent; item-total: correlation with all other items",
        f"discrimination: the best {size} {who} less the worst {size}, by all other items ({GROUP:.0%} each)",
        f"{MISSING}: not defined, such as where all painters have the same",
        *statistics.notes,
    ]


def items_csv(statistics: Sequence[ItemStatistics]) -> str:
    """Return CSV with one line per question and criterion; undefined numbers are empty."""
    return write_csv(
        COLUMNS,
        (_record(of_judge, row) for of_judge in statistics for row in (*of_judge.questions, *of_judge.criteria)),
    )


def _record(statistics: ItemStatistics, row: ItemRow) -> dict[str, Any]:
    right, differ = row.right, row.differ
    values = (
        statistics.evaluator.name, row.question, row.criterion or "", row.text, right.value, right.low, right.high,
        right.n, row.item_total.value, row.discrimination.value, differ.value, differ.n, " ".join(row.flags),
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


FAILED = "failed"


@dataclass(frozen=True)
class ModeCounts:
    """The counts of a painter's wrong answers by mode.

    Attributes:
        asked: The number of questions asked about its drawings.
        wrong: The number of questions answered wrongly.
        modes: Mode, unread or failed -> the number of wrong answers.
    """

    row: str
    asked: int
    wrong: int
    modes: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {"painter": self.row, "asked": self.asked, "wrong": self.wrong, "modes": self.modes}


def count_modes(
    modes: FailureModes[Any], asked: Sequence[tuple[str, int]], drawings: Sequence[SortedDrawing]
) -> list[ModeCounts]:
    """Count each painter's wrong answers by mode; `asked` lists the painters in order, with their questions asked."""
    counted: dict[str, Counter[str]] = {row: Counter() for row, _ in asked}
    for one in drawings:
        if one.fault is not None:
            counted[one.drawing.row][FAILED] += len(one.drawing.wrong)
        counted[one.drawing.row].update(one.modes.values())
    words = (*modes.names, UNREAD, FAILED)
    return [
        ModeCounts(row, count, counted[row].total(), {word: counted[row][word] for word in words})
        for row, count in asked
    ]


def modes_table(title: str, modes: FailureModes[Any], counts: Sequence[ModeCounts], more: Sequence[str] = ()) -> Table:
    """Return a table with a row for each painter."""
    heads = ["painter", "asked", "wrong", *modes.names.values(), UNREAD, FAILED]
    rows = [[count.row, str(count.asked), str(count.wrong), *map(str, count.modes.values())] for count in counts]
    notes = [*more, modes.about]
    if any(count.modes[UNREAD] for count in counts):
        notes.append("unread: the model named no mode for them in three tries")
    if any(count.modes[FAILED] for count in counts):
        notes.append("failed: the call failed; run the command again, refusals with --retry-failed")
    return simple_table(title, heads, rows, notes)
