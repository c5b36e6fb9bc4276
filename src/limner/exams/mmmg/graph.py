"""Knowledge graphs as MMMG's released scorer builds and compares them, with all its quirks. Pure.

The reference graph holds every entity and dependency, the generated one those judged yes; both are built by the same
rules. The distance is not the least one: it is the first value that networkx's optimising search yields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EdgeEnds = tuple[str, str]


class ScorerError(ValueError):
    """The released scorer ends with an error at this dependency, so it has no score to copy."""


@dataclass(frozen=True)
class ReleaseGraph:
    """A directed graph without labels; the order of the nodes matters to the release's distance."""

    nodes: tuple[str, ...]
    edges: frozenset[EdgeEnds]

    @property
    def size(self) -> int:
        """Nodes and edges together."""
        return len(self.nodes) + len(self.edges)


def build(elements: Mapping[str, object], dependencies: Mapping[str, object]) -> ReleaseGraph:
    """Return the graph of the items that are true.

    Names are lower-cased, so that names differing in case alone are one node. An endpoint is looked up among the nodes
    of this very graph: with fewer nodes an ambiguous endpoint can become clear, and the generated graph then has an
    edge that the reference lacks.

    Raises:
        Stops: A dependency judged yes on which the released scorer ends with an error.
    """
    nodes = tuple(dict.fromkeys(name.lower() for name, yes in elements.items() if yes))
    edges = set()
    for dependency, yes in dependencies.items():
        for first, second in ends(dependency) if yes else ():
            source, target = place(first, nodes), place(second, nodes)
            if source is not None and target is not None:
                edges.add((source, target))
    return ReleaseGraph(nodes, frozenset(edges))


def ends(dependency: str) -> list[EdgeEnds]:
    """Return the endpoints of the edges a dependency stands for, as its text words them.

    >>> ends("Requires(boiler, Water)"), ends("Defines(a, b)"), ends("boiler needs water")
    ([('water', 'boiler')], [('a', 'b'), ('b', 'a')], [])

    Raises:
        Stops: There are no two arguments with a comma and a blank between them.
    """
    relation, bracket, inner = dependency.partition("(")
    if not bracket:
        return []
    first, comma, second = inner.removesuffix(")").partition(", ")
    if not comma:
        raise ScorerError(f"{dependency!r} has no two arguments with a comma and a blank between them")
    return directed(relation, unwrapped(first.lower()), unwrapped(second.lower()))


def directed(relation: str, first: str, second: str) -> list[EdgeEnds]:
    """Requires runs from the second to the first, Defines both ways, every other relation from first to second."""
    if relation.lower() == "requires":
        return [(second, first)]
    return [(first, second), (second, first)] if relation.lower() == "defines" else [(first, second)]


def unwrapped(endpoint: str) -> str:
    """Return what stands inside ``change(…)``; other wrappers stay.

    >>> unwrapped("change(price)"), unwrapped("increase(price)")
    ('price', 'increase(price)')
    """
    return endpoint.strip(")").split("change(")[-1] if "change(" in endpoint else endpoint


def place(endpoint: str, nodes: Sequence[str]) -> str | None:
    """The node an endpoint means: the one of that name, else the only one that contains it or, if it has a blank in
    it, is contained in it; None where there is no such node or more than one."""
    if endpoint in nodes:
        return endpoint
    near = [node for node in nodes if endpoint in node]
    near += [node for node in nodes if node in endpoint and " " in endpoint]
    return near[0] if len(near) == 1 else None


def distance(reference: ReleaseGraph, generated: ReleaseGraph) -> int:
    """Return the first value of networkx's ``optimize_graph_edit_distance(reference, generated)``.

    Putting one node in another's place costs nothing, so nodes are paired by their position alone: with as many nodes
    on both sides each with its like; otherwise the first reference node goes, the others up to the number of generated
    nodes meet their like, the next one meets the first generated node, and the rest go. Edges that then do not fit cost
    1 each, as does each node gone. With loops at a node networkx can do better, and is asked itself.
    """
    if any(source == target for source, target in reference.edges | generated.edges):
        return _asked(reference, generated)
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


def _asked(reference: ReleaseGraph, generated: ReleaseGraph) -> int:
    import networkx

    return int(next(networkx.optimize_graph_edit_distance(drawn(reference), drawn(generated))))


def drawn(graph: ReleaseGraph) -> Any:
    """Return the graph as networkx has it, nodes in their order."""
    import networkx

    made = networkx.DiGraph()
    made.add_nodes_from(graph.nodes)
    made.add_edges_from(sorted(graph.edges))
    return made


def similarity(reference: ReleaseGraph, generated: ReleaseGraph) -> float:
    """1 less the distance over the size of both graphs; 0 for two empty graphs."""
    size = reference.size + generated.size
    return 1 - distance(reference, generated) / size if size else 0.0


def stops(dependencies: Sequence[str]) -> str | None:
    """Why the released scorer ends with an error at a graph of these dependencies, or None where it does not."""
    for dependency in dependencies:
        try:
            ends(dependency)
        except ScorerError as error:
            return str(error)
    return None
