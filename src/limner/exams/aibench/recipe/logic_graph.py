"""The logic graph of a method: phases, nodes, directed edges, in the paper's own terms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal, Self

import networkx as nx
from pydantic import Field, ValidationError, model_validator

from ....core.asks import Unreadable
from ....core.json_text import loads
from ....core.schema import FrozenModel, StrictModel, Words, first_error
from .latex_text import MAX_LISTED_TERMS, fold_text, has_words, require_terms

NodeType = Literal["model", "data", "process", "decision"]


class LogicPhase(FrozenModel):
    """A phase of the method."""

    id: str = Field(min_length=1)
    label: Words = Field(min_length=1)


class LogicNode(FrozenModel):
    """A part of the method, or data that passes between its parts."""

    id: str = Field(min_length=1)
    label: Words = Field(min_length=1)
    phase_id: str
    type: NodeType
    icon_hint: Words = ""


class LogicEdge(FrozenModel):
    """A flow from one node to another."""

    source: str
    target: str
    label: Words = ""


class LogicGraph(FrozenModel):
    """A method as a directed graph."""

    title: Words = Field(min_length=1)
    layout_direction: Literal["Left-to-Right", "Top-to-Bottom"] = "Left-to-Right"
    phases: tuple[LogicPhase, ...] = Field(min_length=1, max_length=20)
    nodes: tuple[LogicNode, ...] = Field(min_length=3, max_length=80)
    edges: tuple[LogicEdge, ...] = Field(min_length=2, max_length=200)

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        for what, ids in (("phases", [part.id for part in self.phases]), ("nodes", [part.id for part in self.nodes])):
            if twice := {id for id in ids if ids.count(id) > 1}:
                raise ValueError(f"two {what} have the id {min(twice)}")
        phases, nodes = {part.id for part in self.phases}, {part.id for part in self.nodes}
        for node in self.nodes:
            if node.phase_id not in phases:
                raise ValueError(f"node {node.id} has the phase {node.phase_id}, which is none")
        for edge in self.edges:
            if edge.source not in nodes or edge.target not in nodes:
                raise ValueError(f"the edge {edge.source} -> {edge.target} names a node that is not there")
        joined = {id for edge in self.edges for id in (edge.source, edge.target)}
        if alone := sorted(nodes - joined):
            raise ValueError(f"no edge leads to or from {', '.join(alone)}")
        return self

    def terms(self) -> Iterator[str]:
        """Yield every name in the graph."""
        yield from (part.label for part in self.phases)
        yield from (part.label for part in self.nodes)
        yield from (part.label for part in self.edges if part.label.strip())

    @cached_property
    def by_id(self) -> dict[str, LogicNode]:
        """The nodes by their ids."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def flow(self) -> nx.DiGraph:
        """The edges between the nodes' ids."""
        flow = nx.DiGraph()
        flow.add_nodes_from(self.by_id)
        flow.add_edges_from((edge.source, edge.target) for edge in self.edges)
        return flow

    def receivers(self, node: str) -> set[str]:
        """Return the nodes to which an edge leads from this one."""
        return set(self.flow.successors(node))

    def givers(self, node: str) -> set[str]:
        """Return the nodes from which an edge leads to this one."""
        return set(self.flow.predecessors(node))

    @cached_property
    def reach(self) -> dict[str, set[str]]:
        """The other nodes that each node leads to, over any number of edges."""
        return {node: nx.descendants(self.flow, node) for node in self.by_id}

    @cached_property
    def depths(self) -> dict[str, int]:
        """The number of edges from the inputs to each node; within a loop, from where the flow enters it."""
        inputs = [id for id in self.by_id if not self.givers(id) - {id}]
        # A loop that nothing leads into begins with its node that is listed first.
        for id in self.by_id:
            if id not in inputs and not any(id in self.reach[start] for start in inputs):
                inputs.append(id)
        return {id: depth for depth, layer in enumerate(nx.bfs_layers(self.flow, inputs)) for id in layer}

    def leads_back(self, source: str, target: str) -> bool:
        """Return whether an edge closes a loop: its ends lead to each other, and it goes back towards the inputs."""
        if source == target or not self.flow.has_edge(source, target):
            return bool(self.flow.has_edge(source, target))
        return source in self.reach[target] and self._order(target) < self._order(source)

    def _order(self, node: str) -> tuple[int, int]:
        return self.depths[node], list(self.by_id).index(node)

    def in_series(self, first: str, second: str) -> bool:
        """Return whether one of two nodes leads to the other."""
        return second in self.reach[first] or first in self.reach[second]

    def near(self, node: str) -> set[str]:
        """Return plausible neighbours: nodes of the same phase, and those at most two edges away."""
        same = {other.id for other in self.nodes if other.phase_id == self.by_id[node].phase_id}
        return {*nx.ego_graph(self.flow, node, 2, center=False, undirected=True), *same} - {node}


def parse_graph(text: str, method: str) -> LogicGraph:
    """Return the logic graph in a model's reply, whose terms all occur in the method text.

    Raises:
        Unreadable: It is not a graph, is inconsistent, or has terms that the text does not have.
    """
    body = loads(text)
    try:
        graph = LogicGraph.model_validate(body if "nodes" in body else body.get("graph", body))
    except ValidationError as error:
        raise Unreadable(f"the graph does not fit: {first_error(error)}") from error
    require_terms(graph.terms(), method)
    return graph


Level = Literal["component", "topology", "phase", "semantics"]


class LogRules(StrictModel):
    """The words that an execution log must not have."""

    banned: tuple[str, ...]


class LevelRules(StrictModel):
    """The rules for one level's set of questions.

    Attributes:
        name: The level's name in the exam's data.
        bans: The names of patterns that no question of the level may match.
    """

    name: str
    bans: tuple[str, ...]


class QuestionRules(StrictModel):
    """The rules of all sets.

    Attributes:
        track_b: At level 1, the largest share of track B among questions on existing parts.
        bans: Name -> patterns.
    """

    track_b: float = Field(ge=0, le=1)
    levels: dict[Level, LevelRules]
    bans: dict[str, tuple[str, ...]]


class LogStep(FrozenModel):
    """One step of a method."""

    name: Words = Field(min_length=1)
    action: Words = Field(min_length=1)
    input: tuple[Words, ...] = ()
    output: tuple[Words, ...] = ()
    next_logic: Words = ""


class ExecutionLog(FrozenModel):
    """A method, step by step."""

    steps: tuple[LogStep, ...] = Field(min_length=2, max_length=60)

    def text(self) -> str:
        """Return the log as text for later steps."""
        lines = []
        for n, step in enumerate(self.steps, 1):
            lines += [
                f"Step {n}: {step.name}",
                f"- Action: {step.action}",
                f"- Input: {'; '.join(step.input) or 'none'}",
                f"- Output: {'; '.join(step.output) or 'none'}",
                f"- Next Logic: {step.next_logic or 'end'}",
            ]
        return "\n".join(lines)


def parse_log(text: str, method: str, rules: LogRules) -> ExecutionLog:
    """Return the execution log in a model's reply, whose terms all occur in the method text.

    Raises:
        Unreadable: It is not a log, has terms that the text does not have, or has comparisons, praise or libraries.
    """
    try:
        log = ExecutionLog.model_validate(loads(text))
    except ValidationError as error:
        raise Unreadable(f"the log does not fit: {first_error(error)}") from error
    terms = [term for step in log.steps for term in (step.name, *step.input, *step.output)]
    require_terms(terms, method)
    steps = fold_text(" ".join(f"{step.action} {step.next_logic}" for step in log.steps))
    if banned := [words for words in rules.banned if has_words(fold_text(words), steps)]:
        raise Unreadable(
            f"a log has no comparisons, praise or libraries: leave out {', '.join(banned[:MAX_LISTED_TERMS])}"
        )
    return log
