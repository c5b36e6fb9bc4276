"""Item statistics as a page: the drawings that show why a criterion is worth a look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..core.evaluator import Evaluator
from ..core.protocol import Protocol
from ..report.tables.analyses import item_tables
from ..scoring import Group
from ..scoring.items import FLAGS, ItemRow, ItemStatistics, entry_of
from ..scoring.numbers import shares
from ..store import Blobs
from .single_page import FigureRow, PageFigure, PageSection, public_judge, single_page

MOST = 100
"""Of so many items pictures are shown; the tables have all."""


def item_page(exam: str, found: Sequence[ItemStatistics], protocol: Protocol[Any], blobs: Blobs) -> str:
    """The whole page."""
    found = [replace(one, evaluator=_public(one.evaluator)) for one in found]
    everyone = [group for one in found for group in one.groups]
    flagged = [(one, row) for one in found for row in one.flagged if row.criterion is not None]
    sections = [_section(one, row, everyone, protocol) for one, row in flagged[:MOST]]
    left = len(flagged) - len(sections)
    about = "Of each criterion the reference, and drawings that show why it is worth a look."
    if left:
        about += f" Pictures of the first {MOST} criteria; {left} more stand in the tables."
    title = f"Items of {exam}"
    return single_page(title, item_tables(found, exam), "What is worth a look", about, sections, blobs)


def _public(evaluator: Evaluator) -> Evaluator:
    return replace(evaluator, label=public_judge(evaluator.name))


def _section(found: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]) -> PageSection:
    figures = []
    entry = next((e for group in found.groups if (e := entry_of(group, row.question))), None)
    if entry is not None and entry.question.reference is not None and entry.question.reference.sha256:
        figures.append(PageFigure(entry.question.reference.sha256, "the reference"))
    for group in _telling(found, row, everyone, protocol):
        told = entry_of(group, row.question)
        if told is not None and told.drawing.image:
            rows = tuple(_rows(row, told.drawing.id, everyone if "disputed" in row.flags else [group], protocol))
            figures.append(PageFigure(told.drawing.image, group.name, (), rows))
    said = tuple(f"{flag}: {FLAGS[flag]}" for flag in row.flags)
    return PageSection(f"{row.question} · {row.text} · {found.evaluator.name}", tuple(figures), said)


def _telling(found: ItemStatistics, row: ItemRow, everyone: Sequence[Group], protocol: Protocol[Any]) -> list[Group]:
    """Two painters that show it: the best and the worst; of a disputed criterion one on which judges differ too."""
    by = {group.name: group for group in found.groups}
    order = [by[name] for name in found.painters if _given(by[name], row, protocol) is not None]
    if "negative" in row.flags:
        met = [group for group in order if (_given(group, row, protocol) or 0.0) > 0]
        missed = [group for group in order if _given(group, row, protocol) == 0]
        return [*missed[:1], *met[-1:]]
    if "disputed" in row.flags:
        for group in order:
            told = entry_of(group, row.question)
            if told is not None and len({line.given for line in _rows(row, told.drawing.id, everyone, protocol)}) > 1:
                return [group]
    return [order[0], order[-1]] if len(order) > 1 else order


def _given(group: Group, row: ItemRow, protocol: Protocol[Any]) -> float | None:
    entry = entry_of(group, row.question)
    return None if entry is None else shares(entry, protocol).get(row.criterion or "")


def _rows(row: ItemRow, drawing: str, groups: Sequence[Group], protocol: Protocol[Any]) -> Iterator[FigureRow]:
    """What each judge gave this drawing for the criterion."""
    for group in groups:
        entry = entry_of(group, row.question)
        if entry is None or entry.drawing.id != drawing:
            continue
        top = {one.id: one.top for one in protocol.criteria(entry.question)}[row.criterion or ""]
        for mark in entry.marks:
            if mark.criterion == row.criterion:
                given = "undecided" if mark.value is None else f"{mark.value} of {top}"
                yield FigureRow(public_judge(group.evaluator.name), "", given, reason=mark.reason)
