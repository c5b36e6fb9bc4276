"""The part of a table that comes from a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ... import exams
from ...scoring import Numbers
from ...scoring.stats import LEAST, Interval
from ...store.records import Marking
from ..model import BETWEEN, Cell
from .columns import Slot
from .facts import shown
from .measures import measure
from .store_rows import Holdings, Own


def painter_cell(own: Own, slot: Slot, others: Sequence[Own]) -> Cell:
    """A painter's cell; `others` are the same painter's rows under other judges."""
    figure = slot.figure
    if slot.value.judge is not None:
        under = [one for one in others if one.group.evaluator.name == slot.value.judge]
        return _score(under[0], slot) if under else Cell()
    if figure.score is not None:
        return _score(own, slot)
    if figure.fact is not None:
        known = shown(own.facts, figure.fact) or (own.size if figure.fact == "resolution" else None)
        return Cell(figure.words.get(known, known)) if known else Cell()
    if figure.mean is not None:
        return _number(_mean([own], figure.mean), slot)
    return Cell()


def judge_cell(rows: Sequence[Own], slot: Slot, took: Mapping[str, float]) -> Cell:
    """A judge's cell: `rows` are all painters it marked, asked in one way; `took` has the seconds of its calls."""
    figure = slot.figure
    if figure.option is not None:
        said: str = rows[0].group.evaluator.options.get(figure.option, "")
        return Cell(figure.words.get(said, said)) if said else Cell()
    return _number(_mean(rows, figure.mean, took), slot) if figure.mean is not None else Cell()


def exam_cell(held: Holdings, slot: Slot) -> Cell:
    """A statistic of the stored exam."""
    if held.exam is None or slot.figure.measure is None:
        return Cell()
    where = {**slot.value.where, **slot.figure.where}
    return _number(measure(slot.figure.measure, held.exam.questions, where, exams.kind(held.exam.kind)), slot)


def _score(own: Own, slot: Slot) -> Cell:
    standing = own.scores[slot.part.subset]
    body = standing.numbers
    if slot.part.tag is not None:
        body = standing.by.get(slot.part.tag, {}).get(slot.tagged or "", Numbers())
    name = slot.figure.score or ""
    found = body.scores.get(name) or Interval(None, None, None, 0)
    cell = _number(found.value, slot, found.low, found.high)
    if cell.value is not None:
        return replace(cell, few=found.n) if found.n < LEAST else cell
    if name not in body.bounds:
        return cell
    least, most = (_text(end, slot) for end in body.bounds[name])
    return Cell(f"{least}{BETWEEN}{most}", least=least, most=most)


def _text(value: float, slot: Slot) -> str:
    return f"{value * slot.scale:.{slot.digits}f}"


def _number(value: float | None, slot: Slot, low: float | None = None, high: float | None = None) -> Cell:
    if value is None:
        return Cell()
    text = _text(value, slot)
    below, above = (None if end is None else _text(end, slot) for end in (low, high))
    # What is ranked is what is printed: no reader can see which of two equal numbers is the larger.
    return Cell(text, float(text), below, above)


def _mean(rows: Sequence[Own], what: str, took: Mapping[str, float] | None = None) -> float | None:
    entries = [entry for own in rows for entry in own.group.entries]
    if what == "drawing cost":
        drawings = {entry.drawing.id: entry.drawing for entry in entries}.values()
        done = sum(drawing.status == "done" for drawing in drawings)
        # What an imported drawing has cost is not known.
        costs = [None if drawing.origin == "import" else drawing.cost for drawing in drawings]
    else:
        markings = [entry.marking for entry in entries if entry.marking is not None]
        done = sum(marking.status == "done" for marking in markings)
        costs = [m.cost if what == "marking cost" else _seconds(m, took or {}) for m in markings]
    known = [cost for cost in costs if cost is not None]
    return sum(known) / done if done and len(known) == len(costs) else None


def _seconds(marking: Marking, took: Mapping[str, float]) -> float | None:
    """What the marking's calls took; a judge that makes none has the time of its own work.

    The marking's own time is no measure of calls: it counts waiting for a turn, and nothing for replies kept earlier.
    """
    if marking.origin != "run":
        return None
    return sum(took.get(key, 0.0) for _, key in marking.replies) if marking.replies else marking.seconds
