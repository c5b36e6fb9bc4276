"""What stands above and below a table: sources, judge, reading, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence

from ...scoring import Comparable
from ...scoring.stats import LEAST
from ..model import Group
from .published_cells import judges, published
from .schema import Layout
from .store_rows import Holdings, Own

STORE = "This store"
REMARKS = 8
"""More remarks than this are for `limner scores` to tell."""


def caption(layout: Layout, held: Holdings | None, with_published: bool, intervals: bool) -> list[str]:
    """The title, where the figures come from, and how a store's were marked."""
    tables = layout.tables(None)
    place = tables[0] if len(tables) == 1 else "Tables " + " and ".join(one.removeprefix("Table ") for one in tables)
    name = layout.paper.cite.partition(" ")[0]
    found = [f"{name}, {place}: {layout.title}." if tables else f"{name}: {layout.title}."]
    if with_published:
        marked = [judge for section in layout.sections or (None,) for judge in judges(published(layout, section))]
        # A number made of two judges' marks names both.
        alone = [judge for judge in dict.fromkeys(marked) if not set(judge.split(" + ")) <= {*marked} - {judge}]
        by = f", judge {' and '.join(alone)}" if alone and layout.rows == "painters" else ""
        found.append(f"Published figures: {layout.paper.cite}{by}.")
    if held is None or held.exam is None or (layout.rows != "exam" and not held.rows):
        return found
    said = f"{STORE}: exam {held.exam.name}, {_scored(held)}"
    if layout.rows == "painters":
        said += (
            f", judge {', '.join(dict.fromkeys(own.group.evaluator.name for own in held.rows))}, reading {held.reading}"
        )
        if intervals:
            said += "; [low, high]: 95% interval over questions"
    return [*found, f"{said}.", *(_cuts(held) if layout.rows == "painters" else [])]


def notes(layout: Layout, held: Holdings | None, groups: Sequence[Group]) -> list[str]:
    """What a reader must know; only what applies."""
    found = [note for note in (layout.note, layout.paper.note if layout.rows == "painters" else "") if note]
    lines = [line for group in groups for line in group.lines if not line.published]
    if held is None or not lines or layout.rows != "painters":
        return found
    for side in held.compared:
        # Who cuts the common questions is told above the table.
        found += [f"{_whose(held, side)}{note}." for note in side.notes if side.cut is None or note != side.cut.words]
    if any(line.covered for line in lines):
        found.append("Covered: questions with a score, of those in the exam; failures are left out, never zeros.")
    if any(cell.least is not None for line in lines for cell in line.cells):
        found.append("least … most: the lowest and the highest possible value of a score, where the judge abstained.")
    if any(cell.few is not None for line in lines for cell in line.cells):
        found.append(f"(n=…): fewer than {LEAST} questions are too few for an interval.")
    return found + _remarks(held.rows)


def _cuts(held: Holdings) -> list[str]:
    cut = ((side, side.cut) for side in held.compared if side.cut is not None and side.on == "common")
    return [f"{_whose(held, side)}{who.words}." for side, who in cut]


def _whose(held: Holdings, side: Comparable) -> str:
    return f"{side.evaluator.name}: " if len(held.compared) > 1 else ""


def _scored(held: Holdings) -> str:
    """How many questions the numbers rest on, of how many."""
    assert held.exam is not None
    whole = len(held.exam.questions)
    rows = [own for own in held.rows if not own.group.control] or held.rows
    counts = sorted({standing.n for own in rows if (standing := own.scores.get(None)) is not None and standing.n})
    if not counts or counts == [whole]:
        return f"{whole} questions"
    return f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} of its {whole} questions scored"


def _remarks(rows: Sequence[Own]) -> list[str]:
    said: dict[str, list[str]] = {}
    for own in rows:
        for remark in own.scores[None].remarks:
            said.setdefault(remark, []).append(own.name)
    found = [
        remark if len(names) == len(rows) else f"{', '.join(dict.fromkeys(names))}: {remark}"
        for remark, names in said.items()
    ]
    more = len(found) - REMARKS
    return found if more <= 0 else [*found[:REMARKS], f"… and {more} more remarks; `limner scores` tells them all."]
