"""Layered layout of a knowledge graph: positions of boxes and arrows, which the page colours by what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ...core.exam import Question
from ..views import Box, layer_nodes, order_layers, place_row, wrap_name
from .data import GraphRubric
from .graph import resolve_graph

LETTER, LINE, PAD = 7.2, 17, 10
"""The width of a letter, the height of a line, and the padding around text, in the drawing's units."""
GAP, BETWEEN = 28, 58
"""The gaps between boxes of a row, and between rows."""
WIDEST = 900
"""The maximum width of a row; a wider one is split."""
SIDE = 46
"""The room on both sides for arrows that run around boxes."""
LINES, WORDS = 3, 20
"""The maximum numbers of lines in a box and of letters in a line; a longer name ends in an ellipsis."""

NodePair = tuple[int, int]


def view(question: Question[GraphRubric]) -> dict[str, Any]:
    """Return the question's reference graph for its page."""
    return {"graph": graph(question)}


def graph(question: Question[GraphRubric]) -> dict[str, Any]:
    """Return the layout of a question's reference graph.

    Returns:
        ``width`` and ``height``; ``nodes``, each with the indices of its ``entities``; ``edges``, each with the index
        of its ``dependency`` and whether it points ``both`` ways; and ``lost``, the indices of dependencies whose
        endpoints are not clear.
    """
    rubric = question.rubric
    reference = resolve_graph(rubric.elements, rubric.dependencies)
    count = max(reference.nodes) + 1
    members: list[list[int]] = [[] for _ in range(count)]
    for entity, node in enumerate(reference.nodes):
        members[node].append(entity)
    boxes = [_box(rubric.elements[entities[0]]) for entities in members]
    arrows = [(pairs[0], len(pairs) > 1, number) for number, pairs in enumerate(reference.edges) if pairs]
    width, height, turns = _place_boxes(boxes, [pair for pair, _, _ in arrows if pair[0] != pair[1]])
    nodes = [
        {"x": round(box.x, 1), "y": round(box.y, 1), "w": round(box.width, 1), "h": box.height, "lines": box.lines,
         "name": rubric.elements[entities[0]], "entities": entities}
        for box, entities in zip(boxes, members, strict=False)  # The boxes of arrows follow those of entities.
    ]  # fmt: skip
    edges = [
        {"path": _path([boxes[n] for n in (a, *turns.get((a, b), ()), b)], boxes), "from": a, "to": b,
         "dependency": number, "both": both,
         "name": rubric.dependencies[number]}
        for (a, b), both, number in arrows
    ]  # fmt: skip
    lost = [number for number, pairs in enumerate(reference.edges) if not pairs]
    return {"width": round(width), "height": round(height), "nodes": nodes, "edges": edges, "lost": lost}


def _box(name: str) -> Box:
    lines = wrap_name(name, WORDS, LINES)
    longest = max(len(line) for line in lines)
    return Box(lines, max(60, longest * LETTER + 2 * PAD), len(lines) * LINE + 2 * PAD)


def _place_boxes(boxes: list[Box], pairs: Sequence[NodePair]) -> tuple[float, float, dict[NodePair, list[int]]]:
    """Position all boxes; return the total width and height, and the bends of long arrows."""
    layers = _layers(len(boxes), pairs)
    links, turns = _link_layers(layers, pairs, boxes)
    rows = _split_rows(order_layers(layers, links), boxes)
    widths = [sum(boxes[n].width for n in row) + GAP * (len(row) - 1) for row in rows]
    whole = max(widths) + 2 * SIDE
    top = PAD + 24.0
    for row, width in zip(rows, widths, strict=True):
        _, bottom = place_row([boxes[n] for n in row], (whole - width) / 2, top, GAP)
        top = bottom + BETWEEN
    return whole, top - BETWEEN + PAD, turns


def _link_layers(
    layers: list[list[int]], pairs: Sequence[NodePair], boxes: list[Box]
) -> tuple[list[NodePair], dict[NodePair, list[int]]]:
    """Add an empty box to each layer that an arrow crosses, so that no arrow runs behind an entity's box."""
    depth = {n: place for place, layer in enumerate(layers) for n in layer}
    links, turns = [], {}
    for source, target in dict.fromkeys(pairs):
        chain = [source]
        for place in range(depth[source] + 1, depth[target]):
            chain.append(len(boxes))
            layers[place].append(len(boxes))
            boxes.append(Box([], 12, 10))
        turns[source, target] = chain[1:]
        links += list(pairwise([*chain, target]))
    return links, turns


def _layers(count: int, pairs: Sequence[NodePair]) -> list[list[int]]:
    """Return the nodes in layers; unconnected ones come last."""
    linked = {n for pair in pairs for n in pair}
    layers = layer_nodes([n for n in range(count) if n in linked], pairs)
    alone = [n for n in range(count) if n not in linked]
    return [*layers, alone] if alone else layers


def _split_rows(layers: Sequence[Sequence[int]], boxes: Sequence[Box]) -> list[list[int]]:
    rows: list[list[int]] = []
    for layer in layers:
        row: list[int] = []
        for n in layer:
            if row and sum(boxes[m].width + GAP for m in [*row, n]) > WIDEST:
                rows.append(row)
                row = []
            row.append(n)
        rows.append(row)
    return rows


def _path(through: Sequence[Box], boxes: Sequence[Box]) -> str:
    """Return the path of an arrow: down through the layers, above the boxes within a row, around a side going up."""
    start, end = through[0], through[-1]
    if start is end:
        x, y = start.x + start.width / 2, start.y
        return f"M{x:.0f} {y - 8:.0f}C{x + 34:.0f} {y - 22:.0f} {x + 34:.0f} {y + 22:.0f} {x:.0f} {y + 8:.0f}"
    if end.y - end.height / 2 > start.y + start.height / 2:
        path = f"M{start.x:.0f} {start.y + start.height / 2:.0f}"
        for upper, lower in pairwise(through):
            y1, y2 = upper.y + upper.height / 2 * (upper is start), lower.y - lower.height / 2 * (lower is end)
            half = (y1 + y2) / 2
            path += f"C{upper.x:.0f} {half:.0f} {lower.x:.0f} {half:.0f} {lower.x:.0f} {y2:.0f}"
        return path
    if abs(end.y - start.y) < 1:
        x1, y1, x2, y2 = start.x, start.y - start.height / 2, end.x, end.y - end.height / 2
        return f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 - 40:.0f} {x2:.0f} {y2 - 40:.0f} {x2:.0f} {y2:.0f}"
    way = _side(start, end, boxes)
    x1, x2 = start.x + way * start.width / 2, end.x + way * end.width / 2
    between = [box for box in boxes if end.y - 1 <= box.y <= start.y + 1]
    # A Bézier curve reaches three quarters of the way to its handles.
    far = max(way * box.x + box.width / 2 for box in between) + 22
    handle = way * (max(way * x1, way * x2) + (far - max(way * x1, way * x2)) * 4 / 3)
    return f"M{x1:.0f} {start.y:.0f}C{handle:.0f} {start.y:.0f} {handle:.0f} {end.y:.0f} {x2:.0f} {end.y:.0f}"


def _side(start: Box, end: Box, boxes: Sequence[Box]) -> int:
    """Return 1 for right or -1 for left, whichever side has fewer boxes in the rows of both ends."""
    beside = [0, 0]
    for end_box in (start, end):
        for other in boxes:
            if abs(other.y - end_box.y) < 1 and other is not end_box:
                beside[other.x > end_box.x] += 1
    return 1 if beside[1] <= beside[0] else -1
