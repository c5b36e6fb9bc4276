"""Lint of checklists: errors take a prompt out, warnings go to its reviewers."""

from __future__ import annotations

from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..checklists import CHECKLIST_ERRORS, ChecklistLimits, lint_checklist


class ChecklistLintSettings(StrictModel):
    """What a checklist must keep to.

    Attributes:
        refuse: Kinds of warnings that take a prompt out too.
    """

    limits: ChecklistLimits = ChecklistLimits()
    refuse: tuple[str, ...] = ()


async def checklist_lint(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    how: ChecklistLintSettings = bench.settings
    found = lint_checklist(item.body["prompt"], item.body["checklist"], how.limits)
    for one in found:
        if one.kind in CHECKLIST_ERRORS or one.kind in how.refuse:
            raise Dropped(f"lint {one.kind}", str(one))
    return item.having(warnings=[str(one) for one in found])


STEP = BuildStep("checklist-lint", "checks each prompt and its checklist by rules", ChecklistLintSettings,
                 reads=("prompt", "checklist"), takes="prompt", makes="prompt", each=checklist_lint)  # fmt: skip
