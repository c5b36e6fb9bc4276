"""A small subset in the proportions of all, spread over tags."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import Field

from ...core.exam import sample_stratified
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, StepOutcome


class SubsetSettings(StrictModel):
    """The settings of the subset.

    Attributes:
        name: The name of the subset, and of the field that says whether an item is in it.
        share: The share of all items.
        by: A field whose parts between slashes are the levels to spread the subset over.
        levels: The number of levels.
        seed: The seed of the choice.
    """

    name: str = "mini"
    share: float = Field(default=0.25, gt=0, le=1)
    by: str = "taxonomy"
    levels: int = Field(default=3, ge=0)
    seed: int = 0


async def subset(items: Sequence[BuildItem], context: StepContext) -> Mapping[str, StepOutcome]:
    """Choose a small subset in the proportions of all items."""
    how: SubsetSettings = context.settings

    def level(n: int) -> Callable[[BuildItem], str]:
        return lambda item: "/".join(str(item.body.get(how.by, "")).split("/")[:n])

    strata = [level(n) for n in range(1, how.levels + 1)]
    n = max(1, round(len(items) * how.share)) if items else 0
    chosen = {item.id for item in sample_stratified(items, n, how.seed, strata, lambda item: item.id)}
    return {item.id: item.having(**{how.name: item.id in chosen}) for item in items}


STEP = BuildStep("subset", "chooses a small subset in the proportions of all", SubsetSettings, together=subset)
