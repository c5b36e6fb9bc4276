"""The questions of a level, written from the graph and the original figure, at level 4 also from the text."""

from __future__ import annotations

import json
from functools import partial

from pydantic import Field

from ..core.asks import Contract, Picture, Text
from ..core.schema import StrictModel
from .base import BuildItem, BuildStep, NoSettings, StepContext, Use
from .logic.graph import Level, LogicGraph
from .logic.questions import parse_set
from .paper_rules import read_rules


class ComponentSettings(StrictModel):
    """The settings of level 1.

    Attributes:
        absent: The number of questions on parts that the method does not have, so that "yes" is not always right;
            with 0, all questions are on existing parts, as in the paper.
    """

    absent: int = Field(default=3, ge=0, le=7)


async def _ask_level(item: BuildItem, context: StepContext, level: Level) -> BuildItem:
    rules, graph = read_rules(context.folder).questions, LogicGraph.model_validate(item.body["graph"])
    size, method = rules.levels[level], item.body["method"]
    absent = context.settings.absent if isinstance(context.settings, ComponentSettings) else 0
    fields = {"least": str(size.least), "most": str(size.most), "graph": json.dumps(item.body["graph"], indent=1)}
    if level == "component":
        fields["absent"] = str(absent)
    elif level == "semantics":
        fields["method"] = method
    shown = Text(context.prompts.fill(f"{level}-questions", **fields))
    contract = Contract(
        partial(parse_set, level=level, graph=graph, method=method, absent=absent, rules=rules), heavy=True
    )
    picture = Picture(item.body["image"], max_side=1536)
    drafts = await context.ask("annotator", item, [picture, shown], contract)
    return item.having(**{f"{level}_set": [draft.model_dump(mode="json", exclude_defaults=True) for draft in drafts]})


def level_step(level: Level, about: str) -> BuildStep:
    """Return the step that asks for one level's questions."""
    return BuildStep(
        f"{level}-questions", about, ComponentSettings if level == "component" else NoSettings, ("annotator",),
        (f"{level}-questions",), ("graph", "method", "image"), "paper", "paper", each=partial(_ask_level, level=level),
        use=(Use("annotator", 3000 + 4000 * (level == "semantics"), 2000, pictures=1),),
    )  # fmt: skip
