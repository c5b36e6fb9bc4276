"""The fidelity MMMG's paper describes: the least edit distance between what is shown and the reference graph. Pure.

Endpoints are resolved once, in the full reference graph, so that what is shown is always a part of it. The least
distance is then simply what is missing. The order of the items does not matter, and one more yes never lowers it.
The release resolves endpoints otherwise, so this is no bound on its fidelity, neither from above nor from below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from .graph import directed, place, unwrapped


@dataclass(frozen=True)
class ReferenceGraph:
    """A reference graph by the items that make it.

    Attributes:
        nodes: For each entity the number of its node; names that differ in case alone share one.
        edges: For each dependency its edges, as pairs of node numbers; none where an endpoint is not clear.
        size: Nodes and edges, each counted once.
    """

    nodes: tuple[int, ...]
    edges: tuple[tuple[tuple[int, int], ...], ...]
    size: int


@lru_cache(maxsize=8192)
def resolve(elements: tuple[str, ...], dependencies: tuple[str, ...]) -> ReferenceGraph:
    """Return the reference graph of these items.

    Unlike the released scorer this reads commas without a blank and names with a comma in them, where only one way to
    read them leads to entities.

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
        found = place(first, names), place(second, names)
        if found[0] is None or found[1] is None:
            continue
        edges = directed(relation.strip(), found[0], found[1])
        if found == (first, second):
            return edges
        near = near or edges
    return near or []


def _cuts(inner: str) -> Iterator[tuple[str, str]]:
    """Both sides of every comma."""
    for comma in re.finditer(",", inner):
        first, second = inner[: comma.start()], inner[comma.end() :]
        yield unwrapped(first.strip()).strip(), unwrapped(second.strip()).strip()


def similarity(reference: ReferenceGraph, elements: Sequence[object], dependencies: Sequence[object]) -> float:
    """1 less the least distance over the size of both graphs, for items that are true or false in turn.

    A dependency counts only where both its entities do. With sizes in nodes and edges, that is twice what is shown over
    what is shown and the reference together; 0 for two empty graphs.
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
