"""How much is drawn once every reference inside the file is written out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .allowed import PRIMITIVES, SHAPES, BadSvg, SvgLimits
from .css import CssRule
from .parse import Node
from .values import REFERENCE

_INHERITED = ("fill", "stroke", "marker", "marker-start", "marker-mid", "marker-end")
_PROPERTY = re.compile(r"(?:^|;)([\w-]+):([^;]*)")
_NUMBER = re.compile(r"\d+")
_REFERRING_RULES = 50
_PRIMITIVE = 200
"""A filter's step works on every pixel, so it counts as this many elements."""


def check(root: Node, rules: list[CssRule], limits: SvgLimits) -> None:
    """Count what would be drawn.

    Raises:
        BadSvg: It is too much, or something is used inside itself.
    """
    referring = [rule for rule in rules if any("url(" in value for _, value in rule.declarations)]
    if len(referring) > _REFERRING_RULES:
        raise BadSvg(f"style: more than {_REFERRING_RULES} rules with url(#id); write it as an attribute")
    graph = _Graph(root, referring)
    cost: dict[Node, int] = {}
    busy: set[Node] = {root}
    # Depth first, by hand: chains of references can be longer than Python's own stack.
    stack = [(root, *graph.next(root))]
    while stack:
        node, following, unseen = stack[-1]
        waiting = next((target for target, _ in unseen if target not in cost), None)
        if waiting is not None:
            if waiting in busy:
                raise BadSvg(f"<{node.name}>: #{waiting.attributes.get('id', '')} is used inside itself", node.line)
            busy.add(waiting)
            stack.append((waiting, *graph.next(waiting)))
            continue
        stack.pop()
        busy.discard(node)
        cost[node] = graph.own_cost(node) + sum(cost[target] * times for target, times in following)
        if cost[node] > limits.drawn:
            raise BadSvg(
                f"<{node.name}>: with every use, marker, pattern and filter written out this is more than "
                f"{limits.drawn:,} elements",
                node.line,
            )


class _Graph:
    """What each element costs by itself, and what it makes to be drawn as well."""

    def __init__(self, root: Node, rules: list[CssRule]) -> None:
        self.rules = rules
        self.ids: dict[str, Node] = {}
        self.shapes: dict[Node, int] = {}
        self.in_marker: set[Node] = set()
        for node in root.walk():
            self.ids.setdefault(node.attributes.get("id", ""), node)
            if node.name == "marker":
                self.in_marker.update(node.walk())
        for node in reversed(list(root.walk())):
            inside = sum(self.shapes[child] for child in node.elements())
            self.shapes[node] = inside + (node.name in SHAPES or node.name == "text")

    def own_cost(self, node: Node) -> int:
        words = sum(len(child) for child in node.children if isinstance(child, str)) if node.name != "style" else 0
        path = len(node.attributes.get("d", "")) + len(node.attributes.get("points", ""))
        functions = sum(
            value.count("(") for name, value in _function_values(node) if name == "filter" and "url(" not in value
        )
        return 1 + words // 4 + path // 50 + _PRIMITIVE * (functions + (node.name in PRIMITIVES))

    def next(self, node: Node) -> tuple[list[tuple[Node, int]], Iterator[tuple[Node, int]]]:
        """What is drawn with the element, and how often: as a list, and to be gone through once."""
        following = list(self._next(node))
        return following, iter(following)

    def _next(self, node: Node) -> Iterator[tuple[Node, int]]:
        for child in node.elements():
            yield child, 1
        href = node.attributes.get("href", "")
        if href.startswith("#") and href[1:] in self.ids:
            yield self.ids[href[1:]], 1
        said = list(_function_values(node))
        for rule in self.rules:
            if rule.concerns(node):
                said += rule.declarations
        for name, value in said:
            for target in REFERENCE.findall(value):
                if target not in self.ids or (name.startswith("marker") and node in self.in_marker):
                    continue  # A marker has no markers of its own.
                yield self.ids[target], self._times(node, name)

    def _times(self, node: Node, name: str) -> int:
        times = max(1, self.shapes[node]) if name in _INHERITED else 1
        if name.startswith("marker"):
            times += sum(
                len(_NUMBER.findall(each.attributes.get("d", "") + each.attributes.get("points", ""))) // 2
                for each in node.walk()
            )
        return times


def _function_values(node: Node) -> Iterator[tuple[str, str]]:
    """Attributes and style declarations that hold a function."""
    for name, value in node.attributes.items():
        if name == "style":
            yield from ((each[1], each[2]) for each in _PROPERTY.finditer(value) if "(" in each[2])
        elif name not in ("id", "class", "href", "d", "points") and "(" in value:
            yield name, value
