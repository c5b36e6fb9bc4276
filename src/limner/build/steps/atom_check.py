"""The final check of a reviewed atom set: every category has an atom, and both prompts give the same split."""

from __future__ import annotations

from pydantic import ValidationError

from ... import exams
from ...core.schema import StrictModel, first_error
from ..base import BuildItem, BuildStep, StepContext, Waiting
from ..figures import split_faults


class AtomCheckSettings(StrictModel):
    """The rules of the check.

    Attributes:
        exam: The kind of exam whose rubric it must fit.
    """

    exam: str


async def atom_check(item: BuildItem, context: StepContext) -> BuildItem:
    """Check a reviewed set of atoms: it must fit the rubric, and both prompts must give the same split."""
    rubric = exams.kind(context.settings.exam).rubric
    try:
        rubric.model_validate({name: item.body[name] for name in rubric.model_fields})
    except ValidationError as error:
        raise Waiting(f"review: {first_error(error)}") from error
    if faults := split_faults(item.body):
        raise Waiting(f"review: {'; '.join(faults[:6])}")
    return item.having(checked=True)


STEP = BuildStep(
    "atom-check", "is each set whole, and the split the same under both prompts?", AtomCheckSettings,
    reads=("visual", "text", "relation", "layout", "evidence", "free_prompt", "structured_prompt", "panel_type"),
    each=atom_check,
)  # fmt: skip
