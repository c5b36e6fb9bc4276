"""Lint of checklists: errors drop a prompt, warnings are shown to its reviewers."""

from __future__ import annotations

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist


class ChecklistLintSettings(StrictModel):
    """The limits of a checklist.

    Attributes:
        refuse: Kinds of warnings that also drop a prompt.
    """

    limits: ChecklistLimits = ChecklistLimits()
    refuse: tuple[str, ...] = ()


async def checklist_lint(item: BuildItem, context: StepContext) -> BuildItem:
    """Lint a checklist; drop the prompt for errors, and keep warnings for reviewers."""
    how: ChecklistLintSettings = context.settings
    lints = lint_checklist(item.body["prompt"], item.body["checklist"], how.limits)
    for lint in lints:
        if lint.kind in CHECKLIST_ERRORS or lint.kind in how.refuse:
            raise Dropped(f"lint {lint.kind}", str(lint))
    return item.having(warnings=[str(lint) for lint in lints])


STEP = BuildStep("checklist-lint", "checks each prompt and its checklist by rules", ChecklistLintSettings,
                 reads=("prompt", "checklist"), takes="prompt", makes="prompt", each=checklist_lint)  # fmt: skip
