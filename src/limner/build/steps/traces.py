"""A chain of reasoning for each item of the training part, from its prompt and graph; linted."""

from __future__ import annotations

from functools import partial

from ...core.asks import Contract, Text
from ...painters.diffusers.text_encoding import SEPARATOR
from ..base import PART, TRAIN, BuildItem, BuildStep, StepContext, Use
from ..traces import read_trace, read_trace_rules


async def traces(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write the reasoning trace of a graph."""
    body = item.body
    if body[PART] != TRAIN:
        return item
    names, links = [entity["name"] for entity in body["elements"]], body["links"]
    shown = context.prompts.fill(
        "trace", prompt=body["prompt"], separator=SEPARATOR, elements="\n".join(f"- {name}" for name in names),
        dependencies="\n".join(f"- {entity['says']}: {entity['why']}" for entity in body["dependencies"]),
    )  # fmt: skip
    contract = Contract(
        partial(read_trace, names=names, links=links, rules=read_trace_rules(context.folder)), heavy=True
    )
    trace, final = await context.ask("reasoner", item, [Text(shown)], contract)
    return item.having(trace=trace, final_prompt=final)


STEP = BuildStep("traces", "reasons from prompt and graph to a drawing prompt, for training", roles=("reasoner",),
                 prompts=("trace",), reads=("part", "prompt", "elements", "dependencies", "links"), each=traces,
                 use=(Use("reasoner", 900, 1200),), optional=("reasoner",))  # fmt: skip
