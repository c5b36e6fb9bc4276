"""The knowledge graph of a prompt and its picture, with definitions and explanations, by the exam's rules."""

from __future__ import annotations

from pydantic import Field

from ... import exams
from ...core.asks import Contract, Part, Picture, Text
from ...core.json_text import loads
from ...core.schema import StrictModel
from ..base import BuildItem, BuildStep, StepContext, Use


class KnowledgeGraphSettings(StrictModel):
    """The settings of knowledge graphs.

    Attributes:
        exam: The kind of exam whose reader checks graphs.
        max_side: Pixels of the longer side of the picture that is sent.
    """

    exam: str
    max_side: int = Field(default=1536, ge=64)


async def knowledge_graph(item: BuildItem, context: StepContext) -> BuildItem:
    """Have a model draw up the knowledge graph of a prompt and its picture."""
    how: KnowledgeGraphSettings = context.settings
    read = exams.kind(how.exam).draft_reader("graph")
    shown: list[Part] = [
        Text(context.prompts.fill("knowledge-graph", prompt=item.body["prompt"])),
        Picture(item.body["image"], how.max_side),
    ]
    contract = Contract(lambda reply: read(loads(reply)), heavy=True)
    graph = await context.ask("annotator", item, shown, contract)
    return item.having(**{name: value for name, value in graph.items() if name != "links"})


STEP = BuildStep("knowledge-graph", "a graph of entities and dependencies, each explained", KnowledgeGraphSettings,
                 ("annotator",), ("knowledge-graph",), ("prompt", "image"), each=knowledge_graph,
                 use=(Use("annotator", 1300, 1500, 1),))  # fmt: skip
