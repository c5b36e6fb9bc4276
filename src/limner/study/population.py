"""What a study can show: finished drawings of the painters asked for, and how far judges disagree on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from ..core.errors import UsageError
from ..core.evaluator import CONTROL, row_name
from ..core.exam import Question
from ..core.marks import values
from ..exams import Kind
from ..exams import kind as kind_named
from ..scoring.entries import load_groups
from ..store import Store
from ..store.records import Drawing, evaluator_kinds, kind_of, load_drawings, load_questions
from .design import SampleDesign

ORIGINAL = f"{CONTROL}reference"
"""The painter that shows the original figure."""


@dataclass(frozen=True)
class Population:
    """Drawings by painter's row and question, one of each.

    Attributes:
        rows: Row -> question id -> drawing; the original, where it is wanted, is the last row.
        questions: Question id -> the question as drawn.
        notes: What differs from the design, in words.
    """

    rows: Mapping[str, Mapping[str, Drawing]]
    questions: Mapping[str, Question[Any]]
    notes: tuple[str, ...] = ()

    def common(self) -> list[str]:
        """The questions that every row has, in their order."""
        return [id for id in self.questions if all(id in found for found in self.rows.values())]


def find_population(
    store: Store,
    exam: str,
    kind: Kind[Any],
    design: SampleDesign,
    painters: Sequence[str] = (),
) -> Population:
    """What there is for a design, by the painters named, or by all that are no controls.

    Raises:
        UsageError: A painter has no drawing, there are more than the design has, or the original is not drawn.
    """
    versions = load_questions(store, exam, kind.rubric)
    newest = {question.id: question for question in versions.values()}
    rows: dict[str, dict[str, Drawing]] = {}
    names: dict[str, set[str]] = {}
    original: dict[str, Drawing] = {}
    for drawing in sorted(load_drawings(store, exam), key=lambda one: (one.question_id, one.seed, one.id)):
        question = newest.get(drawing.question_id)
        if drawing.status != "done" or drawing.image is None or question is None:
            continue
        if drawing.question_hash != question.hash:
            continue
        name = row_name(drawing.label, drawing.strategy)
        if drawing.spec == ORIGINAL:
            original.setdefault(drawing.question_id, drawing)
        names.setdefault(name, set()).update((name, drawing.painter, drawing.label))
        if drawing.spec.startswith(CONTROL) and not names[name] & {*painters}:
            continue
        if not painters or names[name] & {*painters}:
            # Of several seeds the first one stands for the row.
            rows.setdefault(name, {}).setdefault(drawing.question_id, drawing)
    if unknown := [one for one in painters if not any(one in names[row] for row in rows)]:
        there = ", ".join(sorted(names)) or "none"
        raise UsageError(f"{store.url} has no finished drawing of {exam} by {unknown[0]!r}; there is: {there}")
    notes = _against_design(rows, design, exam)
    if design.original:
        if not original:
            raise UsageError(
                f"the original figures are to be shown: draw them with `limner draw {exam} --painter {ORIGINAL}`"
            )
        rows = {name: found for name, found in rows.items() if name != ORIGINAL} | {ORIGINAL: original}
    order = {id: place for place, id in enumerate(newest)}
    ids = sorted({id for found in rows.values() for id in found}, key=order.__getitem__)
    return Population(rows, {id: newest[id] for id in ids}, tuple(notes))


def _against_design(rows: Mapping[str, Any], design: SampleDesign, exam: str) -> list[str]:
    if not rows:
        raise UsageError(f"there is no finished drawing of {exam}; draw some with `limner draw {exam} --painter …`")
    if design.painters is None or len(rows) == design.painters:
        return []
    if len(rows) > design.painters:
        raise UsageError(
            f"the design has {design.painters} of these painters: name which with --painter: {', '.join(sorted(rows))}"
        )
    return [f"{len(rows)} {'painter' if len(rows) == 1 else 'painters'} where the design has {design.painters}"]


def disagreements(store: Store, exam: str) -> dict[str, float]:
    """Drawing -> how far judges disagree on it: the mean difference of two judges over the criteria both decided.

    Differences count in shares of the best value, so they run from 0 to 1. Drawings with fewer than two judges are
    left out.
    """
    kinds = evaluator_kinds(store)
    marks: dict[str, dict[str, dict[str, float]]] = {}
    tops: dict[str, dict[str, int]] = {}
    protocol = kind_named(kind_of(store, exam)).protocol
    for group in load_groups(store, exam):
        if kinds.get(group.evaluator.id) != "judge":
            continue
        for entry in group.scored:
            if entry.marking is None or entry.marking.repeat:
                continue
            known = tops.setdefault(entry.question.hash, {one.id: one.top for one in protocol.criteria(entry.question)})
            found = {name: value for name, value in values(entry.marks).items() if name in known}
            marks.setdefault(entry.drawing.id, {})[group.evaluator.id] = {
                name: value / known[name] for name, value in found.items()
            }
    spread = {}
    for drawing, judges in marks.items():
        gaps = [
            abs(one[name] - other[name])
            for one, other in combinations(judges.values(), 2)
            for name in one.keys() & other.keys()
        ]
        if gaps:
            spread[drawing] = sum(gaps) / len(gaps)
    return spread
