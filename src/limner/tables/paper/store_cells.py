"""The cells of a table that come from a store: scores, facts, means, and statistics of the exam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ... import exams
from ...scoring import Numbers
from ...scoring.standings import costs
from ...store.markings import Marking
from ..model import Cell, interval_cell, score_cell
from .agreements import Agreements
from .columns import ColumnSpec
from .facts import shown
from .holdings import Holdings, Own
from .measures import measure


def painter_cell(own: Own, spec: ColumnSpec, others: Sequence[Own], agreement: Agreements | None = None) -> Cell:
    """A painter's cell; `others` are the same painter's rows under other judges."""
    figure = spec.figure
    if figure.agreement is not None:
        return agreement.cell(own.evaluator.name, spec, own.name) if agreement else Cell()
    if spec.value.judge is not None:
        under = [one for one in others if one.evaluator.name == spec.value.judge]
        return _score(under[0], spec) if under else Cell()
    if figure.score is not None:
        return _score(own, spec)
    if figure.fact is not None:
        known = shown(own.facts, figure.fact) or (own.size if figure.fact == "resolution" else None)
        return Cell(figure.words.get(known, known)) if known else Cell()
    if figure.mean is not None:
        return _number(_mean([own], figure.mean), spec)
    return Cell()


def judge_cell(
    rows: Sequence[Own], spec: ColumnSpec, took: Mapping[str, float], agreement: Agreements | None = None
) -> Cell:
    """A judge's cell: `rows` are all painters it marked, asked in one way; `took` has the seconds of its calls."""
    figure = spec.figure
    if figure.agreement is not None:
        return agreement.cell(rows[0].evaluator.name, spec) if agreement else Cell()
    if figure.option is not None:
        said: str = rows[0].evaluator.options.get(figure.option, "")
        return Cell(figure.words.get(said, said)) if said else Cell()
    return _number(_mean(rows, figure.mean, took), spec) if figure.mean is not None else Cell()


def exam_cell(held: Holdings, spec: ColumnSpec) -> Cell:
    """A statistic of the stored exam."""
    if held.exam is None or spec.figure.measure is None:
        return Cell()
    where = {**spec.value.where, **spec.figure.where}
    return _number(measure(spec.figure.measure, held.exam.questions, where, exams.kind(held.exam.kind)), spec)


def _score(own: Own, spec: ColumnSpec) -> Cell:
    standing = own.scores[spec.part.subset]
    body = standing.numbers
    if spec.part.tag is not None:
        body = standing.by.get(spec.part.tag, {}).get(spec.tagged or "", Numbers())
    name = spec.figure.score or ""
    return score_cell(body.scores.get(name), body.bounds.get(name), spec.digits, spec.scale)


def _number(value: float | None, spec: ColumnSpec) -> Cell:
    return interval_cell(None if value is None else value * spec.scale, None, None, spec.digits)


def _mean(rows: Sequence[Own], what: str, took: Mapping[str, float] | None = None) -> float | None:
    entries = [entry for own in rows for entry in own.group.entries]
    if what == "drawing cost":
        return costs(entries).drawing
    if what == "marking cost":
        return costs(entries).marking
    markings = [entry.marking for entry in entries if entry.marking is not None]
    done = sum(marking.status == "done" for marking in markings)
    times = [_seconds(marking, took or {}) for marking in markings]
    known = [time for time in times if time is not None]
    return sum(known) / done if done and len(known) == len(times) else None


def _seconds(marking: Marking, took: Mapping[str, float]) -> float | None:
    """What the marking's calls took; a judge that makes none has the time of its own work.

    The marking's own time is no measure of calls: it counts waiting for a turn, and nothing for replies kept earlier.
    """
    if marking.origin != "run":
        return None
    return sum(took.get(key, 0.0) for _, key in marking.replies) if marking.replies else marking.seconds
