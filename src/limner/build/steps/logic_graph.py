"""The logic graph of a method; every name in it occurs in the method text."""

from __future__ import annotations

from functools import partial

from ...core.asks import Contract, Text
from ..base import BuildItem, BuildStep, StepContext, Use
from ..logic.graph import parse_graph


async def logic_graph(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model draw up the logic graph of a method."""
    shown = Text(context.prompts.fill("logic-graph", log=item.body["log"]))
    contract = Contract(partial(parse_graph, method=item.body["method"]), heavy=True)
    graph = await context.ask("annotator", item, [shown], contract)
    return item.having(graph=graph.model_dump(mode="json"))


STEP = BuildStep("logic-graph", "phases, nodes and edges, in the paper's terms", roles=("annotator",),
                 prompts=("logic-graph",), reads=("log", "method"), takes="paper", makes="paper", each=logic_graph,
                 use=(Use("annotator", 2000, 1500),))  # fmt: skip
