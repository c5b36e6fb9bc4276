"""The execution log of a method, in the paper's own terms."""

from __future__ import annotations

from functools import partial

from ...core.asks import Contract, Text
from ..base import BuildItem, BuildStep, StepContext, Use
from ..logic.graph import parse_log
from ..paper_rules import read_rules


async def execution_log(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model write the execution log of a method."""
    method = item.body["method"]
    shown = Text(context.prompts.fill("execution-log", method=method))
    contract = Contract(partial(parse_log, method=method, rules=read_rules(context.folder).log), heavy=True)
    return item.having(log=(await context.ask("annotator", item, [shown], contract)).text())


STEP = BuildStep("execution-log", "what each part does, step by step", roles=("annotator",),
                 prompts=("execution-log",), reads=("method",), takes="paper", makes="paper", each=execution_log,
                 use=(Use("annotator", 5000, 1500),))  # fmt: skip
