"""The proof of a rubric as a page: what each criterion to mend looked like in the pictures that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..certify.bias import CLEAN, UNSEEN
from ..certify.examine import MarkedTrial
from ..certify.proof import WORDS, CriterionProof, RubricProof
from ..core.marks import Criterion
from ..core.protocol import Protocol
from ..report.tables.certificates import PICTURES, proof_tables
from ..store import Blobs
from .single_page import FigureRow, PageFigure, PageSection, public_judge, single_page

MOST = 100
"""Of so many criteria pictures are shown; the table has all."""


def proof_page(body: Mapping[str, Any], proof: RubricProof, protocol: Protocol[Any], blobs: Blobs) -> str:
    """The whole page."""
    body = {**body, "judge": public_judge(body["judge"])}
    by: dict[str, list[MarkedTrial]] = {}
    for one in proof.marked:
        if not one.repeat:
            by.setdefault(one.trial.question.id, []).append(one)
    # What was seen comes before what only the words say.
    ordered = sorted(proof.mend, key=lambda one: all(reason.by == WORDS for reason in one.reasons))
    sections = [_section(one, by.get(one.question, []), protocol) for one in ordered[:MOST]]
    left = len(proof.mend) - len(sections)
    about = "Red: what makes the criterion one to mend."
    if left:
        about += f" Pictures of the first {MOST} criteria; {left} more stand in the table."
    title = f"Proof of the rubric of {body['exam']} by {body['judge']}"
    return single_page(title, proof_tables(body), "The criteria to mend, in pictures", about, sections, blobs)


def _section(one: CriterionProof, marked: Iterable[MarkedTrial], protocol: Protocol[Any]) -> PageSection:
    wanted = [CLEAN, *(reason.picture for reason in one.reasons if reason.picture), *one.killed[:1]]
    if any(reason.kind == "guessed" for reason in one.reasons):
        wanted.append(UNSEEN)
    there = {each.trial.kind: each for each in marked}
    figures = [_figure(there[kind], one, protocol) for kind in dict.fromkeys(wanted) if kind in there]
    said = tuple(f"{reason.kind}: {reason.detail}" for reason in one.reasons)
    return PageSection(f"{one.question} · {one.text}", tuple(figures), said)


def _figure(marked: MarkedTrial, one: CriterionProof, protocol: Protocol[Any]) -> PageFigure:
    trial = marked.trial
    criteria = {each.id: each for each in protocol.criteria(trial.question)}
    image = None if trial.kind == UNSEEN else trial.image
    rows = (_row(criteria[one.criterion], marked, one),) if one.criterion in criteria else ()
    return PageFigure(image, PICTURES.get(trial.kind, trial.kind), (trial.said,), rows)


def _row(criterion: Criterion, marked: MarkedTrial, one: CriterionProof) -> FigureRow:
    kind = marked.trial.kind
    mark = next((mark for mark in marked.marks if mark.criterion == criterion.id), None)
    value = None if mark is None else mark.value
    given = "undecided" if value is None else f"{value} of {criterion.top}"
    reasons = {reason.picture for reason in one.reasons} | ({UNSEEN} if kind == UNSEEN else set())
    must = "must stand" if kind == CLEAN else "must fall" if kind in reasons or kind in one.killed else ""
    return FigureRow(criterion.text, must, given, value is not None and kind in reasons, mark.reason if mark else "")
