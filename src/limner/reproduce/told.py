"""The checklist as tables for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ..report.tables.model import MISSING, Table, simple_table
from .cells import CellCount
from .checklist import Checklist, ItemState
from .steps import StepState

UNKNOWN = "unknown"


def money(dollars: float | None, unknown: Sequence[str] = ()) -> str:
    """Dollars in words; what is not known is never nothing.

    >>> money(1.5), money(None), money(0.2, ["lab/brush"])
    ('$1.50', 'unknown', '$0.20, and what lab/brush costs')
    """
    if dollars is None:
        return UNKNOWN
    return f"${dollars:.2f}" + (f", and what {', '.join(dict.fromkeys(unknown))} costs" if unknown else "")


def count(number: int | None) -> str:
    """A number, or that it is not known."""
    return UNKNOWN if number is None else f"{number:,}"


def checklist_tables(found: Checklist) -> list[Table]:
    """What there is of each table and figure, then what is to be run, then what cannot be."""
    tables = [items_table(found)]
    if found.runnable:
        tables.append(steps_table(found))
    if lacking := [step for step in found.steps if step.step.cannot is not None]:
        rows = [[_row(step), step.step.cannot or ""] for step in lacking]
        tables.append(simple_table("rows that no command can make", ["row", "why"], rows, prose=["why"]))
    return tables


def items_table(found: Checklist) -> Table:
    """A row for every table and figure."""
    rows = [_item(item) for item in found.items]
    all_cells, (dollars, unknown) = found.cells, found.dollars
    rows.append(["in all", *_cells(all_cells), count(found.calls), money(dollars) + (" +" if unknown else "")])
    heads = ["item", "cells", "filled", "in part", "missing", "by hand", "out of reach", "calls", "price"]
    notes = [
        "cells: what the paper prints, or the rows of a figure; in part: not over all questions; by hand: people, or "
        "commands that no run makes; out of reach: nothing here can fill them",
        "calls, price: for the rows of the item, which items share; in all each row counts once",
        *found.notes,
    ]
    if unknown:
        notes.append(f"+: and what {', '.join(dict.fromkeys(unknown))} costs: add the price to limner.toml")
    title = f"{found.cite}: exam {found.asked.name}, reading {found.reading}, store {found.asked.store}"
    return simple_table(title, heads, rows, notes, rules=[len(rows) - 1])


def _item(item: ItemState) -> list[str]:
    name = item.wants.item.name + (" (ablation)" if item.wants.item.ablation else "")
    if item.cells is None:
        return [name, *[MISSING] * 8]
    if not item.runnable:
        return [name, *_cells(item.cells), MISSING, MISSING]
    return [name, *_cells(item.cells), count(item.calls), money(item.dollars)]


def _cells(cells: CellCount) -> list[str]:
    body = cells.to_json()
    return [f"{body[name]:,}" for name in ("paper", "filled", "partial", "missing", "by_hand", "out_of_reach")]


def steps_table(found: Checklist) -> Table:
    """A row for every step that is to be run."""
    rows = [
        [_row(step), ", ".join(step.judges) or MISSING, count(step.to_do), count(step.calls), money(step.dollars)]
        for step in found.runnable
    ]
    dollars, unknown = found.dollars
    notes = [f"in all about {money(dollars, unknown)}"]
    heads = ["row", "judge", "steps", "calls", "price"]
    return simple_table("to be run", heads, rows, notes, names=2)


def commands(found: Checklist) -> list[str]:
    """The commands that do the rest, ready to be pasted, and those that no run makes."""
    run = [step.command for step in found.runnable]
    by_hand = list(dict.fromkeys(word for item in found.items for word in item.by_hand))
    return [*run, *(["# no run makes these:", *by_hand] if by_hand else [])]


def _row(step: StepState) -> str:
    return step.step.row.name
