"""Lint: errors take a question out, warnings go to its reviewers."""

from __future__ import annotations

from ...core.schema import StrictModel
from ..base import Bench, BuildItem, BuildStep, Dropped
from ..criterion_words import ERRORS, LintLimits, lint_question


class LintSettings(StrictModel):
    """What a question must keep to."""

    limits: LintLimits = LintLimits()


async def lint(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    found = lint_question(item.body["prompt"], item.body["scoring_points"], bench.settings.limits)
    for one in found:
        if one.kind in ERRORS:
            raise Dropped(f"lint {one.kind}", one.detail)
    return item.having(warnings=[str(one) for one in found])


STEP = BuildStep(
    "lint", "checks each question and its points by rules", LintSettings, reads=("prompt", "scoring_points"), each=lint
)
