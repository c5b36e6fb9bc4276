"""The four sets as one checklist, with letters balanced so that no constant answer wins, and a drawing of the graph."""

from __future__ import annotations

import asyncio

from ...core.choices import balance_letters
from ...strategies.svg.rendering import render
from ..base import BuildItem, BuildStep, StepContext
from ..logic.graph import Level, LogicGraph
from ..logic.graph_svg import to_svg
from ..logic.questions import checklist
from ..paper_rules import read_rules

LEVELS: tuple[Level, ...] = ("component", "topology", "phase", "semantics")


async def question_set(item: BuildItem, context: StepContext) -> BuildItem:
    """Join the questions of all levels into one checklist, and draw the graph."""
    rows = checklist({level: item.body[f"{level}_set"] for level in LEVELS}, read_rules(context.folder).questions)
    drawn = to_svg(LogicGraph.model_validate(item.body["graph"]))
    picture, _ = await asyncio.to_thread(lambda: context.blobs.put(render(drawn)))
    return item.having(checklist=balance_letters(rows, item.id), graph_svg=drawn, graph_image=picture)


STEP = BuildStep("question-set", "one checklist, its letters dealt out evenly",
                 reads=("graph", *(f"{level}_set" for level in LEVELS)), takes="paper", makes="paper",
                 each=question_set)  # fmt: skip
