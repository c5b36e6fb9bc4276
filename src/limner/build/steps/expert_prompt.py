"""The prompt that an expert wrote for a figure; a figure without one waits."""

from __future__ import annotations

from pydantic import Field

from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, Dropped, StepContext, Waiting
from ..languages import why_not_english


class ExpertPromptSettings(StrictModel):
    """The requirements of a prompt.

    Attributes:
        least: The fewest words; our choice.
    """

    least: int = Field(default=10, ge=1)


async def expert_prompt(item: BuildItem, context: StepContext) -> BuildItem:
    """Use the expert's prompt; wait if there is none."""
    prompt = str(item.body.get("free_prompt") or "").strip()
    if not prompt:
        raise Waiting("no expert's prompt: put it beside the picture as NAME.prompt.txt, or into the column `prompt`")
    if (many := len(prompt.split())) < context.settings.least:
        raise Waiting(f"the expert's prompt has {many} words; it needs {context.settings.least}")
    if why := why_not_english([prompt], 0.2):
        raise Dropped("prompt is not English", why)
    return item.having(free_prompt=prompt)


STEP = BuildStep("expert-prompt", "takes figures that have an expert's prompt", ExpertPromptSettings,
                 reads=("free_prompt",), each=expert_prompt)  # fmt: skip
