"""What stands above and below a table: sources, judge, reading, and what a reader must know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.exam import Exam
from ...scoring import Comparable
from ...scoring.stats import LEAST
from ..model import STORE, RowBlock
from .columns import specs
from .holdings import Holdings, Own
from .published_cells import judges, published, release_board
from .schema import AGREEING, COUNTED, Layout, Section

REMARKS = 8
"""More remarks than this are for `limner scores` to tell."""


def caption(
    layout: Layout,
    held: Holdings | None,
    with_published: bool,
    intervals: bool,
    sections: Sequence[Section | None] = (None,),
) -> list[str]:
    """The title, where the figures come from, how a store's were marked and on which questions."""
    tables = layout.tables(None)
    place = tables[0] if len(tables) == 1 else "Tables " + " and ".join(one.removeprefix("Table ") for one in tables)
    name = layout.paper.cite.partition(" ")[0]
    found = [f"{name}, {place}: {layout.title}." if tables else f"{name}: {layout.title}."]
    if with_published and (tables or layout.sections):
        marked = [judge for section in layout.sections or (None,) for judge in judges(published(layout, section))]
        # A number made of two judges' marks names both.
        alone = [judge for judge in dict.fromkeys(marked) if not set(judge.split(" + ")) <= {*marked} - {judge}]
        by = f", judge {' and '.join(alone)}" if alone and layout.rows == "painters" else ""
        found.append(f"Published figures: {layout.paper.cite}{by}.")
        found += [
            f"{release_board(layout, one).about} Its rows are not ranked with the paper's." for one in layout.boards
        ]
    if layout.rows in AGREEING and held is not None and held.exam is not None and held.agreement is not None:
        return [*found, f"{STORE}: exam {held.exam.name}; {held.agreement.words}; reading {held.reading}."]
    if held is None or held.exam is None or (layout.rows not in COUNTED and not held.rows):
        return found
    what = "training part of build" if layout.rows == "training" else "exam"
    said = f"{STORE}: {what} {held.exam.name}, {_scored(layout, held, sections)}"
    if layout.rows == "painters":
        said += f", judge {', '.join(dict.fromkeys(own.evaluator.told for own in held.rows))}, reading {held.reading}"
        said += _alike(held)
        if intervals:
            said += "; [low, high]: 95% interval over questions"
    if held.agreement is not None and held.agreement.people is not None:
        said += f"; {held.agreement.words}"
    return [*found, f"{said}.", *([*_warnings(held), *_cuts(held)] if layout.rows == "painters" else [])]


def notes(layout: Layout, held: Holdings | None, groups: Sequence[RowBlock]) -> list[str]:
    """What a reader must know; only what applies."""
    of_paper = layout.rows == "painters" and (layout.tables(None) or layout.sections)
    found = [note for note in (layout.note, layout.paper.note if of_paper else "") if note]
    lines = [line for group in groups for line in group.rows if not line.published]
    if held is None or not lines or layout.rows != "painters":
        return found
    for side in held.compared:
        # Who cuts the common questions is told above the table.
        found += [f"{_whose(held, side)}{note}." for note in side.notes if note not in side.first]
    if any(line.covered for line in lines):
        found.append("Covered: questions with a score, of those in the exam; failures are left out, never zeros.")
    if any(cell.least is not None for line in lines for cell in line.cells):
        found.append("least … most: the lowest and the highest possible value of a score, where the judge abstained.")
    if any(cell.few is not None for line in lines for cell in line.cells):
        found.append(f"(n=…): fewer than {LEAST} questions are too few for an interval.")
    return found + _remarks(held.rows)


def _warnings(held: Holdings) -> list[str]:
    """What must be known of the judges, by name where there are several."""
    judges = {own.evaluator.id: own.evaluator for own in held.rows}
    several = len(judges) > 1
    return [f"{one.name}: {said}" if several else said for one in judges.values() for said in one.warnings]


def _cuts(held: Holdings) -> list[str]:
    return [f"{_whose(held, side)}{said}." for side in held.compared for said in side.first]


def _whose(held: Holdings, side: Comparable) -> str:
    return f"{side.evaluator.name}: " if len(held.compared) > 1 else ""


def _scored(layout: Layout, held: Holdings, sections: Sequence[Section | None]) -> str:
    """How many questions the numbers rest on, of how many; of those alone that the table's columns are about."""
    assert held.exam is not None
    whole = held.exam.questions
    if layout.rows in COUNTED:
        return f"{len(whole)} {COUNTED[layout.rows]}"
    about = _about(layout, held.exam, sections)
    counts = sorted({len(about & ids) for ids in _rested_on(layout, held)} - {0})
    if counts == [len(whole)]:
        return f"{len(whole)} questions"
    least_and_most = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "none"
    if len(about) == len(whole):
        return f"{least_and_most} of its {len(whole)} questions scored"
    return f"{least_and_most} of this table's {len(about)} questions scored (the exam has {len(whole)})"


def _about(layout: Layout, exam: Exam[Any], sections: Sequence[Section | None]) -> set[str]:
    """The questions that any column with a score can show."""
    found: set[str] = set()
    for slot in (slot for section in sections for slot in specs(layout, section, ["any"])):
        part = slot.part
        if layout.rows == "painters" and slot.figure.score is None:
            continue
        tagged = {one.id for one in exam.questions if part.tag is None or one.tags.get(part.tag) == slot.tagged}
        found |= tagged if part.subset is None else tagged & exam.subsets.get(part.subset, frozenset())
    return found


def _rested_on(layout: Layout, held: Holdings) -> list[set[str]]:
    """The questions behind each row: a painter's, those of controls only where there are no others; or a judge's."""
    if layout.rows == "judges":
        judged: dict[str, set[str]] = {}
        for own in held.rows:
            judged.setdefault(own.group.evaluator.id, set()).update(entry.question.id for entry in own.group.scored)
        return list(judged.values())
    rows = [(side, group) for side in held.compared for group in side.everyone]
    rows = [(side, group) for side, group in rows if not group.control] or rows
    return [{entry.question.id for entry in side.basis(group)} for side, group in rows]


def _alike(held: Holdings) -> str:
    """Whether the painters' numbers rest on the same questions, where there are several."""
    if not any(len(side.groups) > 1 for side in held.compared):
        return ""
    common = all(side.on == "common" and side.questions for side in held.compared if len(side.groups) > 1)
    return "; all painters on the same questions" if common else "; each painter on its own questions"


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
