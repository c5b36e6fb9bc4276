"""An exam's own additions to a question's page, and the layered layout of graphs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ConfigDict, Field

from ..core.exam import Question
from ..core.schema import StrictModel
from . import Kind


class _ViewModel(StrictModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class NodeView(_ViewModel):
    """A box: its centre, size, lines of text, name, and the indices of its criteria."""

    x: float
    y: float
    w: float
    h: float
    lines: list[str]
    name: str
    entities: list[int]


class EdgeView(_ViewModel):
    """An arrow: its SVG path, the indices of its end nodes, and the index of its criterion.

    `dependency` counts from 0 among the criteria that follow those of the kind ``entity``.
    """

    path: str
    start: int = Field(alias="from")
    end: int = Field(alias="to")
    dependency: int
    both: bool
    name: str


class GraphView(_ViewModel):
    """A graph drawn by the page, with different colours for what is shown and what is missing.

    Attributes:
        lost: The indices of dependencies that cannot be drawn as arrows.
    """

    width: float
    height: float
    nodes: list[NodeView]
    edges: list[EdgeView]
    lost: list[int]


def view(kind: Kind[Any], question: Question[Any]) -> dict[str, Any]:
    """Return the exam's additions to a question's page; ``graph`` is always present, possibly None.

    Raises:
        ValueError: The page cannot show them.
    """
    parts = {"graph": None, **(kind.view(question) if kind.view else {})}
    if unknown := parts.keys() - {"graph"}:
        raise ValueError(f"a page can show a graph, not {min(unknown)}")
    if parts["graph"] is not None:
        GraphView.model_validate(parts["graph"])
    return parts


T = TypeVar("T", int, str)


@dataclass
class Box:
    """A node's box: its lines of text, its size and the position of its centre."""

    lines: list[str]
    width: float
    height: float
    x: float = 0.0
    y: float = 0.0

    def turned(self) -> Box:
        """Return the box with its axes swapped."""
        return Box(self.lines, self.height, self.width, self.y, self.x)


def wrap_name(name: str, letters: int, most: int) -> list[str]:
    """Wrap a node's name into at most `most` lines of `letters` characters; a longer one ends in an ellipsis."""
    return textwrap.wrap(name, letters, max_lines=most, placeholder=" …") or ["?"]


def layer_nodes(nodes: Sequence[T], pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """Return the nodes by layer, each one layer after its last predecessor; pairs that close a cycle are ignored.

    >>> layer_nodes(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")])
    [['a'], ['b', 'd'], ['c']]
    """
    import networkx

    straight = networkx.DiGraph()
    straight.add_nodes_from(nodes)
    for source, target in pairs:
        if source in straight and target in straight and not networkx.has_path(straight, target, source):
            straight.add_edge(source, target)
    order = {node: place for place, node in enumerate(nodes)}
    return [sorted(layer, key=order.__getitem__) for layer in networkx.topological_generations(straight)]


def order_layers(layers: list[list[T]], pairs: Iterable[tuple[T, T]]) -> list[list[T]]:
    """Sort each layer in place by the mean position of its nodes' neighbours, to reduce crossings.

    This takes several passes, up and down.

    >>> order_layers([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")])
    [['a', 'b'], ['d', 'c']]
    """
    near: dict[T, list[T]] = {}
    for source, target in pairs:
        near.setdefault(source, []).append(target)
        near.setdefault(target, []).append(source)
    for turn in range(6):
        place = {n: (spot + 0.5) / len(layer) for layer in layers for spot, n in enumerate(layer)}
        for layer in layers if turn % 2 else reversed(layers):
            middles = {n: sum(place[m] for m in near[n]) / len(near[n]) if n in near else place[n] for n in layer}
            layer.sort(key=middles.__getitem__)
            place |= {n: (spot + 0.5) / len(layer) for spot, n in enumerate(layer)}
    return layers


def place_row(row: Sequence[Box], left: float, top: float, gap: float) -> tuple[float, float]:
    """Place boxes side by side with aligned centres, and return the right and lower ends of the row."""
    height = max(box.height for box in row)
    for box in row:
        box.x, box.y = left + box.width / 2, top + height / 2
        left += box.width + gap
    return left - gap, top + height
