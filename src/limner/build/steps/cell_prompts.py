"""Items from prompts: every prompt becomes a separate item, and equal prompts become one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ...core.training import normalize_words
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome
from .images import ID


async def cell_prompts(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Return a new item for every different prompt; the items of the calls are dropped."""
    left: dict[str, StepOutcome] = {}
    for item in items:
        left[item.id] = Dropped("calls whose prompts go on")
        for entry in item.body["prompts"]:
            id = hashlib.sha256(normalize_words(entry["prompt"]).encode()).hexdigest()[:ID]
            body = {**entry, "level": item.body["level"], "discipline": item.body["discipline"]}
            left.setdefault(id, BuildItem(id, body))
    return left


STEP = BuildStep("cell-prompts", "makes an item of every prompt", reads=("prompts", "level", "discipline"),
                 takes="cell", together=cell_prompts)  # fmt: skip
