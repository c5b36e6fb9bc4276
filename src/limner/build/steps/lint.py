"""Lint of questions: errors drop a question, warnings are shown to its reviewers."""

from __future__ import annotations

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext
from ..criterion_words import ERRORS, LintLimits, lint_question


class LintSettings(StrictModel):
    """The limits of a question."""

    limits: LintLimits = LintLimits()


async def lint(item: BuildItem, context: StepContext) -> BuildItem:
    """Lint a question; drop it for errors, and keep warnings for reviewers."""
    lints = lint_question(item.body["prompt"], item.body["scoring_points"], context.settings.limits)
    for each in lints:
        if each.kind in ERRORS:
            raise Dropped(f"lint {each.kind}", each.detail)
    return item.having(warnings=[str(each) for each in lints])


STEP = BuildStep(
    "lint", "checks each question and its points by rules", LintSettings, reads=("prompt", "scoring_points"), each=lint
)
