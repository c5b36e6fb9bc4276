"""Knowledge graphs, compared as MMMG's released scorer does, with all its quirks, and exactly. Pure.

The release's reference graph has all entities and dependencies, the generated one those judged yes; both are built by
the same rules. The distance is not the minimum but the first value that networkx's optimising search yields.

The fidelity of MMMG's paper is exact: the minimum edit distance between the shown and the reference graph. Endpoints
are resolved once, in the full reference graph, so that the shown graph is always a subgraph of it, and the minimum
distance is the number of missing parts. The order of items does not matter, and another yes never lowers the fidelity.
The release resolves endpoints differently, so this is neither an upper nor a lower bound of its fidelity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

EdgeEnds = tuple[str, str]


class ScorerError(ValueError):
    """A dependency at which the released scorer stops with an error, so that it has no score to copy."""


@dataclass(frozen=True)
class ReleaseGraph:
    """A directed graph without labels; the order of the nodes matters to the release's distance."""

    nodes: tuple[str, ...]
    edges: frozenset[EdgeEnds]

    @property
    def size(self) -> int:
        """The number of nodes and edges."""
        return len(self.nodes) + len(self.edges)


def build(elements: Mapping[str, object], dependencies: Mapping[str, object]) -> ReleaseGraph:
    """Return the graph of the items that are true.

    Names are lower-cased, so that names that differ only in case become one node. Endpoints are looked up among the
    nodes of this graph: with fewer nodes, an ambiguous endpoint can become clear, and the generated graph then has an
    edge that the reference lacks.

    Raises:
        ScorerError: The released scorer stops with an error at a dependency judged yes.
    """
    nodes = tuple(dict.fromkeys(name.lower() for name, yes in elements.items() if yes))
    edges = set()
    for dependency, yes in dependencies.items():
        for first, second in edge_ends(dependency) if yes else ():
            source, target = resolve_endpoint(first, nodes), resolve_endpoint(second, nodes)
            if source is not None and target is not None:
                edges.add((source, target))
    return ReleaseGraph(nodes, frozenset(edges))


def edge_ends(dependency: str) -> list[EdgeEnds]:
    """Return the endpoints of a dependency's edges, in lower case and without ``change()``.

    >>> edge_ends("Requires(boiler, Water)"), edge_ends("Defines(a, b)"), edge_ends("boiler needs water")
    ([('water', 'boiler')], [('a', 'b'), ('b', 'a')], [])

    Raises:
        ScorerError: There are no two arguments separated by a comma and a blank.
    """
    relation, bracket, inner = dependency.partition("(")
    if not bracket:
        return []
    first, comma, second = inner.removesuffix(")").partition(", ")
    if not comma:
        raise ScorerError(f"{dependency!r} has no two arguments with a comma and a blank between them")
    return directed_edges(relation, unwrap_change(first.lower()), unwrap_change(second.lower()))


def directed_edges(relation: str, first: str, second: str) -> list[EdgeEnds]:
    """Return the edges of a relation: second to first for Requires, both ways for Defines, else first to second."""
    if relation.lower() == "requires":
        return [(second, first)]
    return [(first, second), (second, first)] if relation.lower() == "defines" else [(first, second)]


def unwrap_change(endpoint: str) -> str:
    """Return the content of ``change(…)``; other wrappers are kept.

    >>> unwrap_change("change(price)"), unwrap_change("increase(price)")
    ('price', 'increase(price)')
    """
    return endpoint.strip(")").split("change(")[-1] if "change(" in endpoint else endpoint


def resolve_endpoint(endpoint: str, nodes: Sequence[str]) -> str | None:
    """Return the node that an endpoint means, or None if there is none or more than one.

    This is the node with the same name, else the only one that contains the name or, if the name has a blank, is
    contained in it.
    """
    if endpoint in nodes:
        return endpoint
    near = [node for node in nodes if endpoint in node]
    near += [node for node in nodes if node in endpoint and " " in endpoint]
    return near[0] if len(near) == 1 else None


def distance(reference: ReleaseGraph, generated: ReleaseGraph) -> int:
    """Return the first value of networkx's ``optimize_graph_edit_distance(reference, generated)``.

    Substituting a node costs nothing, so nodes are paired by position. If both graphs have equally many, each is paired
    with its counterpart. Otherwise the first reference node is deleted, the others up to the number of generated nodes
    are paired with their counterparts, the next one with the first generated node, and the rest are deleted. Each edge
    that does not match and each deleted node costs 1. With self-loops networkx can find better pairs, so it is called.
    """
    if any(source == target for source, target in reference.edges | generated.edges):
        return _networkx_distance(reference, generated)
    count, kept = len(reference.nodes), len(generated.nodes)
    if count == kept:
        pairs = dict(zip(reference.nodes, generated.nodes, strict=True))
    elif kept:
        pairs = dict(zip(reference.nodes[1:], (*generated.nodes[1:], generated.nodes[0]), strict=False))
    else:
        pairs = {}
    moved = {(pairs.get(source), pairs.get(target)) for source, target in reference.edges}
    met = sum(edge in moved for edge in generated.edges)
    return count - kept + len(reference.edges) + len(generated.edges) - 2 * met


def _networkx_distance(reference: ReleaseGraph, generated: ReleaseGraph) -> int:
    import networkx

    return int(next(networkx.optimize_graph_edit_distance(to_networkx(reference), to_networkx(generated))))


def to_networkx(graph: ReleaseGraph) -> Any:
    """Return the graph as a networkx graph, with nodes in the same order."""
    import networkx

    made = networkx.DiGraph()
    made.add_nodes_from(graph.nodes)
    made.add_edges_from(sorted(graph.edges))
    return made


def similarity(reference: ReleaseGraph, generated: ReleaseGraph) -> float:
    """Return 1 minus the distance over the total size of both graphs; 0 for two empty graphs."""
    size = reference.size + generated.size
    return 1 - distance(reference, generated) / size if size else 0.0


def why_scorer_stops(dependencies: Sequence[str]) -> str | None:
    """Return why the released scorer stops with an error at these dependencies, or None."""
    for dependency in dependencies:
        try:
            edge_ends(dependency)
        except ScorerError as error:
            return str(error)
    return None


@dataclass(frozen=True)
class ReferenceGraph:
    """A reference graph, with the nodes and edges of each item.

    Attributes:
        nodes: The node number of each entity; names that differ only in case share one.
        edges: The edges of each dependency, as pairs of node numbers; empty if an endpoint is unclear.
        size: The number of distinct nodes and edges.
    """

    nodes: tuple[int, ...]
    edges: tuple[tuple[tuple[int, int], ...], ...]
    size: int


@lru_cache(maxsize=8192)
def resolve_graph(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> ReferenceGraph:
    """Return the reference graph of these items.

    Unlike the released scorer, this accepts commas without a blank, and names that contain a comma if only one way of
    splitting leads to entities.

    >>> resolve_graph(("Salt", "Water, warm"), ("Contains(water, warm,salt)",)).edges
    (((1, 0),),)
    """
    names = list(dict.fromkeys(name.lower() for name in elements))
    numbers = {name: number for number, name in enumerate(names)}
    edges = tuple(
        tuple((numbers[source], numbers[target]) for source, target in _edges(text, names)) for text in dependencies
    )
    return ReferenceGraph(
        tuple(numbers[name.lower()] for name in elements), edges, len(names) + len({e for some in edges for e in some})
    )


def _edges(dependency: str, names: list[str]) -> list[tuple[str, str]]:
    relation, _, inner = dependency.strip().partition("(")
    near: list[tuple[str, str]] | None = None
    for first, second in _cuts(inner.removesuffix(")").lower()):
        resolved = resolve_endpoint(first, names), resolve_endpoint(second, names)
        if resolved[0] is None or resolved[1] is None:
            continue
        edges = directed_edges(relation.strip(), resolved[0], resolved[1])
        if resolved == (first, second):
            return edges
        near = near or edges
    return near or []


def _cuts(inner: str) -> Iterator[tuple[str, str]]:
    """Yield the text before and after each comma, without ``change()``."""
    for comma in re.finditer(",", inner):
        first, second = inner[: comma.start()], inner[comma.end() :]
        yield unwrap_change(first.strip()).strip(), unwrap_change(second.strip()).strip()


def exact_similarity(reference: ReferenceGraph, elements: Sequence[object], dependencies: Sequence[object]) -> float:
    """Return 1 minus the minimum distance over the total size of both graphs, given whether each item is shown.

    A dependency counts only if both its entities do. The result is twice the size of the shown graph over the sum of
    both sizes, in nodes and edges; 0 for two empty graphs.
    """
    present = {node for node, yes in zip(reference.nodes, elements, strict=True) if yes}
    shown = {
        edge
        for edges, yes in zip(reference.edges, dependencies, strict=True)
        if yes
        for edge in edges
        if edge[0] in present and edge[1] in present
    }
    size = len(present) + len(shown)
    return 2 * size / (size + reference.size) if size else 0.0
