"""The logic graph of a method: phases, nodes, directed edges, in the paper's own terms."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, model_validator

from ...core.asks import Unreadable
from ...core.json_text import loads
from ...core.schema import FrozenModel, Words, first_wrong
from ..latex.plain import require_terms

NodeType = Literal["model", "data", "process", "decision"]


class LogicPhase(FrozenModel):
    """A phase of the method."""

    id: str = Field(min_length=1)
    label: Words = Field(min_length=1)


class LogicNode(FrozenModel):
    """A part of the method, or what passes between its parts."""

    id: str = Field(min_length=1)
    label: Words = Field(min_length=1)
    phase_id: str
    type: NodeType
    icon_hint: Words = ""


class LogicEdge(FrozenModel):
    """What flows from one node to another."""

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
        for what, ids in (("phases", [one.id for one in self.phases]), ("nodes", [one.id for one in self.nodes])):
            if twice := {id for id in ids if ids.count(id) > 1}:
                raise ValueError(f"two {what} have the id {min(twice)}")
        phases, nodes = {one.id for one in self.phases}, {one.id for one in self.nodes}
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
        """Every name in the graph."""
        yield from (one.label for one in self.phases)
        yield from (one.label for one in self.nodes)
        yield from (one.label for one in self.edges if one.label.strip())

    @cached_property
    def by_id(self) -> dict[str, LogicNode]:
        """The nodes by their ids."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The edges, as ids of source and target."""
        return frozenset((edge.source, edge.target) for edge in self.edges)

    def phase_number(self, node: str) -> int:
        """The place of a node's phase, from 0."""
        return [phase.id for phase in self.phases].index(self.by_id[node].phase_id)

    def receivers(self, node: str) -> set[str]:
        """The nodes that an edge leads to from this one."""
        return {target for source, target in self.pairs if source == node}

    def givers(self, node: str) -> set[str]:
        """The nodes that an edge leads from to this one."""
        return {source for source, target in self.pairs if target == node}

    def near(self, node: str) -> set[str]:
        """Plausible neighbours: nodes of the same phase, and those at most two edges away."""
        one = self.receivers(node) | self.givers(node)
        two = {far for other in one for far in self.receivers(other) | self.givers(other)}
        same = {other.id for other in self.nodes if other.phase_id == self.by_id[node].phase_id}
        return (one | two | same) - {node}


def parse_graph(text: str, method: str) -> LogicGraph:
    """The logic graph in a model's reply, whose terms all occur in the method text.

    Raises:
        Unreadable: It is none, does not hang together, or names what the text does not.
    """
    try:
        graph = LogicGraph.model_validate(_unwrapped(loads(text)))
    except ValidationError as error:
        raise Unreadable(f"the graph does not fit: {first_wrong(error)}") from error
    require_terms(graph.terms(), method)
    return graph


def _unwrapped(body: dict[str, Any]) -> dict[str, Any]:
    inner = body.get("graph")
    return inner if isinstance(inner, dict) and "nodes" not in body else body
