"""A check of the reviewed graph by the rules for drafts; violations go back to the reviewers."""

from __future__ import annotations

from ... import exams
from ...core.asks import Unreadable
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Waiting


class GraphCheckSettings(StrictModel):
    """The exam whose rules apply."""

    exam: str


async def graph_check(item: BuildItem, context: StepContext) -> BuildItem:
    """Check the reviewed graph by the exam's rules."""
    try:
        return item.having(**exams.kind(context.settings.exam).draft_reader("graph")(item.body))
    except Unreadable as error:
        raise Waiting(f"the reviewed graph must be corrected: {error}") from error


STEP = BuildStep("graph-check", "checks each graph as review left it", GraphCheckSettings,
                 reads=("elements", "dependencies", "definitions"), each=graph_check)  # fmt: skip
