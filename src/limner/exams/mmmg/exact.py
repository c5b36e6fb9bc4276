"""The fidelity of MMMG's paper: the minimum edit distance between the shown and the reference graph. Pure.

Endpoints are resolved once, in the full reference graph, so that the shown graph is always a subgraph of it, and the
minimum distance is the number of missing parts. The order of items does not matter, and another yes never lowers the
fidelity.
The release resolves endpoints differently, so this is neither an upper nor a lower bound of its fidelity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .graph import directed_edges, resolve_endpoint, unwrap_change


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
def resolve(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> ReferenceGraph:
    """Return the reference graph of these items.

    Unlike the released scorer, this accepts commas without a blank, and names that contain a comma if only one way of
    splitting leads to entities.

    >>> resolve(("Salt", "Water, warm"), ("Contains(water, warm,salt)",)).edges
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


def similarity(reference: ReferenceGraph, elements: Sequence[object], dependencies: Sequence[object]) -> float:
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
