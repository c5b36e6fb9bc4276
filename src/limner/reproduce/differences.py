"""In what a store's rows differ from the paper's, in words."""

from __future__ import annotations

from .. import exams
from ..scoring.deviations import deviations
from .checklist import Checklist
from .schema import PaperRow
from .steps import StepState


def differences(found: Checklist) -> dict[str, list[str]]:
    """Row -> each difference from the paper's settings, for the rows that the store has."""
    kind = exams.kind(found.asked.kind)
    questions = next((item.wants.layout.paper.questions for item in found.items if item.wants.layout), None)
    listed: dict[str, list[str]] = {}
    for step in found.steps:
        for group in found.groups_of(step):
            said = [*_stands_in(found, step), *deviations(kind, group, found.reading, questions)]
            said += [step.step.row.note] if step.step.row.note else []
            name = f"{group.name} · {group.evaluator.name}" if len(found.evaluators) > 1 else group.name
            paper = "" if step.step.row.own else f" (the paper's {step.step.row.name})"
            listed.setdefault(name + paper, []).extend(
                word for word in said if word not in listed.get(name + paper, [])
            )
    return {name: said for name, said in listed.items() if said}


def _stands_in(found: Checklist, step: StepState) -> list[str]:
    """What draws, thinks or measures in place of what the paper has."""
    row, listing = step.step.row, found.listing
    written = listing.rows.get(row.name, PaperRow())
    usual = found.finder.usual(row.name)
    said = []
    if not row.own and usual is not None and row.spec and usual != row.spec:
        said.append(f"drawn by {row.spec} instead of {usual}")
    for role, spec in row.strategy_options.items():
        if spec != written.strategy_options.get(role, spec):
            said.append(f"{role} {spec} instead of {written.strategy_options[role]}")
    for what in ("regions", "aesthetics"):
        given, paper = getattr(found.asked, what), getattr(listing, what)
        if given is not None and paper is not None and given != paper:
            said.append(f"{what} by {given} instead of {paper}")
    return said
