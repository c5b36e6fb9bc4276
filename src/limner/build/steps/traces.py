"""A chain of reasoning for each item of the training part, from its prompt and graph; linted."""

from __future__ import annotations

from functools import partial

from ...core.asks import Contract, Text
from ...painters.diffusers.text_encoding import SEPARATOR
from ..base import PART, TRAIN, Bench, BuildItem, BuildStep, Use
from ..traces import read_trace, read_trace_rules


async def traces(item: BuildItem, bench: Bench) -> BuildItem:
    """See the module."""
    body = item.body
    if body[PART] != TRAIN:
        return item
    names, links = [one["name"] for one in body["elements"]], body["links"]
    shown = bench.prompts.fill(
        "trace", prompt=body["prompt"], separator=SEPARATOR, elements="\n".join(f"- {name}" for name in names),
        dependencies="\n".join(f"- {one['says']}: {one['why']}" for one in body["dependencies"]),
    )  # fmt: skip
    contract = Contract(partial(read_trace, names=names, links=links, rules=read_trace_rules(bench.folder)), heavy=True)
    trace, final = await bench.ask("reasoner", item, [Text(shown)], contract)
    return item.having(trace=trace, final_prompt=final)


STEP = BuildStep("traces", "reasons from prompt and graph to a drawing prompt, for training", roles=("reasoner",),
                 prompts=("trace",), reads=("part", "prompt", "elements", "dependencies", "links"), each=traces,
                 use=(Use("reasoner", 900, 1200),), optional=("reasoner",))  # fmt: skip
