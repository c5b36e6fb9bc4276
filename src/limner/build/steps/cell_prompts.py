"""Every prompt becomes an item of its own; the same words count once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from ...core.training import normalize_words
from ..base import BuildItem, BuildStep, Dropped, StepContext, StepOutcome
from .images import ID


async def cell_prompts(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Make an item of every different prompt."""
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
