"""Lint of an item's question, declared in a recipe: errors refuse it, warnings are shown to its reviewers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from ..core.schema import StrictModel
from .checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist
from .criterion_words import ERRORS, Lint, LintLimits, lint_question


class LintSettings(StrictModel):
    """The wording of a question and its criteria.

    Attributes:
        kind: ``points``: weighted yes/no questions; ``checklist``: statements with explanations.
        prompt: The field with the question.
        entries: The field with the criteria, if not ``scoring_points`` or ``checklist``.
        limits: The limits of the rules.
        refuse: Kinds of warnings that count as errors.
    """

    kind: Literal["points", "checklist"]
    prompt: str = "prompt"
    entries: str = ""
    limits: dict[str, float] = Field(default_factory=dict)
    refuse: tuple[str, ...] = ()

    def fields(self) -> tuple[str, str]:
        """Return the fields with the question and its criteria."""
        return self.prompt, self.entries or {"points": "scoring_points", "checklist": "checklist"}[self.kind]


def lint_entries(how: LintSettings, body: Mapping[str, Any]) -> tuple[list[Lint], list[Lint]]:
    """Return the errors and the warnings of an item's question."""
    prompt, entries = (body[name] for name in how.fields())
    if how.kind == "points":
        lints, errors = lint_question(prompt, entries, LintLimits.model_validate(how.limits)), ERRORS
    else:
        lints, errors = lint_checklist(prompt, entries, ChecklistLimits.model_validate(how.limits)), CHECKLIST_ERRORS
    refused = errors | frozenset(how.refuse)
    return [lint for lint in lints if lint.kind in refused], [lint for lint in lints if lint.kind not in refused]
