"""A logic graph drawn as SVG: rectangles for modules, ellipses for data, a box around each phase."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

from .graph import LogicGraph, LogicNode

LETTER, LINE, PAD = 7.0, 16.0, 12.0
"""Width of a letter, height of a line, and what is left free around words."""
GAP, BETWEEN, HEAD = 34.0, 64.0, 26.0
"""Between nodes of a layer, between layers, and the room for a phase's name."""
EDGE = 26.0
"""Between a phase's box and its nodes, along the flow."""
BACK = 18.0
"""How far below all nodes arrows run that lead back."""
WIDE, LINES = 22, 3
MODULE, DATA, PHASE, INK = "#e7e0f7", "#f4f0fd", "#fff7dc", "#3b3355"


@dataclass
class _NodeSpot:
    """A node's place: the middle, and half its width and height."""

    lines: list[str]
    half_w: float
    half_h: float
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class _PhaseBox:
    label: str
    left: float
    top: float
    right: float
    bottom: float


def to_svg(graph: LogicGraph) -> str:
    """The graph as an SVG file, by itself and with no script, link or font of its own."""
    across = graph.layout_direction == "Left-to-Right"
    spots = {node.id: _spot(node) for node in graph.nodes}
    frames = _place(graph, spots, across)
    # Arrows that lead back run beyond all nodes, where nothing is in their way.
    floor = max(spot.y + spot.half_h if across else spot.x + spot.half_w for spot in spots.values())
    width = max(frame.right for frame in frames) + PAD
    height = max(frame.bottom for frame in frames) + PAD
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" font-family="sans-serif" font-size="13">',
        f"<title>{escape(graph.title)}</title>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{INK}"/></marker></defs>',
        f'<rect x="0" y="0" width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" font-weight="bold" font-size="15" fill="{INK}">'
        f"{escape(graph.title)}</text>",
    ]
    for frame in frames:
        parts.append(
            f'<rect class="phase" x="{frame.left:.1f}" y="{frame.top:.1f}" width="{frame.right - frame.left:.1f}" '
            f'height="{frame.bottom - frame.top:.1f}" rx="8" fill="{PHASE}" stroke="#d9b84a"/>'
            f'<text x="{frame.left + PAD:.1f}" y="{frame.top + 18:.1f}" font-weight="bold" fill="#6b5a1e">'
            f"{escape(frame.label)}</text>"
        )
    parts += [_edge(spots[edge.source], spots[edge.target], edge.label, across, floor) for edge in graph.edges]
    parts += [_node(node, spots[node.id]) for node in graph.nodes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spot(node: LogicNode) -> _NodeSpot:
    lines = textwrap.wrap(node.label, WIDE, max_lines=LINES, placeholder=" …") or ["?"]
    width, height = max(map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD
    # An ellipse around words is wider than they are.
    stretch = 1.25 if node.type == "data" else 1.0
    return _NodeSpot(lines, max(40.0, width * stretch / 2), height * stretch / 2)


def _place(graph: LogicGraph, spots: Mapping[str, _NodeSpot], across: bool) -> list[_PhaseBox]:
    """Phases one after the other along the flow; in each its nodes in layers."""
    frames, along = [], PAD
    top = 34.0
    for phase in graph.phases:
        members = [node.id for node in graph.nodes if node.phase_id == phase.id]
        if not members:
            continue
        layers = _layers(members, graph)
        name = len(phase.label) * LETTER * 1.1 + 2 * PAD
        if across:
            left, x, bottom = along, along + EDGE, 0.0
            for layer in layers:
                half = max(spots[id].half_w for id in layer)
                y = top + HEAD + PAD
                for id in layer:
                    spots[id].x, spots[id].y = x + half, y + spots[id].half_h
                    y += 2 * spots[id].half_h + GAP
                bottom, x = max(bottom, y - GAP), x + 2 * half + BETWEEN
            frames.append(_PhaseBox(phase.label, left, top, max(x - BETWEEN + EDGE, left + name), bottom + PAD))
            along = frames[-1].right + BETWEEN
        else:
            start = max(along, top)
            y, right = start + HEAD + EDGE, 0.0
            for layer in layers:
                half, x = max(spots[id].half_h for id in layer), 2 * PAD
                for id in layer:
                    spots[id].x, spots[id].y = x + spots[id].half_w, y + half
                    x += 2 * spots[id].half_w + GAP
                right, y = max(right, x - GAP), y + 2 * half + BETWEEN
            frames.append(_PhaseBox(phase.label, PAD, start, max(right + PAD, PAD + name), y - BETWEEN + EDGE))
            along = frames[-1].bottom + GAP
    return _evened(frames, across, 2 * BACK if _leads_back(graph, spots, across) else 0.0)


def _leads_back(graph: LogicGraph, spots: Mapping[str, _NodeSpot], across: bool) -> bool:
    pairs = ((spots[edge.source], spots[edge.target]) for edge in graph.edges)
    return any((end.x < start.x) if across else (end.y < start.y) for start, end in pairs)


def _evened(frames: Sequence[_PhaseBox], across: bool, more: float) -> list[_PhaseBox]:
    """Frames of one size across the flow, with so much more room there."""
    right, bottom = max(frame.right for frame in frames) + more, max(frame.bottom for frame in frames) + more
    return [
        _PhaseBox(one.label, one.left, one.top, one.right, bottom) if across
        else _PhaseBox(one.label, one.left, one.top, right, one.bottom)
        for one in frames
    ]  # fmt: skip


def _layers(members: Sequence[str], graph: LogicGraph) -> list[list[str]]:
    """Nodes of a phase in layers, each behind the last that leads to it; edges that close a circle do not count."""
    import networkx

    inside = networkx.DiGraph()
    inside.add_nodes_from(members)
    for edge in graph.edges:
        ours = edge.source in inside and edge.target in inside and edge.source != edge.target
        if ours and not networkx.has_path(inside, edge.target, edge.source):
            inside.add_edge(edge.source, edge.target)
    order = {id: n for n, id in enumerate(members)}
    return [sorted(layer, key=order.__getitem__) for layer in networkx.topological_generations(inside)]


def _node(node: LogicNode, spot: _NodeSpot) -> str:
    if node.type == "data":
        shape = (
            f'<ellipse class="data" cx="{spot.x:.1f}" cy="{spot.y:.1f}" rx="{spot.half_w:.1f}" ry="{spot.half_h:.1f}" '
            f'fill="{DATA}" stroke="{INK}"/>'
        )
    else:
        shape = (
            f'<rect class="module" x="{spot.x - spot.half_w:.1f}" y="{spot.y - spot.half_h:.1f}" '
            f'width="{2 * spot.half_w:.1f}" height="{2 * spot.half_h:.1f}" rx="3" fill="{MODULE}" stroke="{INK}"/>'
        )
    first = spot.y - (len(spot.lines) - 1) * LINE / 2 + 4.5
    words = "".join(
        f'<text x="{spot.x:.1f}" y="{first + n * LINE:.1f}" text-anchor="middle" fill="{INK}">{escape(line)}</text>'
        for n, line in enumerate(spot.lines)
    )
    return shape + words


def _edge(start: _NodeSpot, end: _NodeSpot, label: str, across: bool, floor: float) -> str:
    """An arrow along the flow, or beyond all nodes, at `floor`, where it leads back."""
    # As if the flow went from left to right; turned afterwards where it goes down.
    one, other = (start, end) if across else (_turned(start), _turned(end))
    if start is end:
        x, y = one.x + one.half_w, one.y
        points, middle = [(x, y - 6), (x + 40, y - 26), (x + 40, y + 26), (x, y + 6)], (x + 34, y)
    elif other.x - other.half_w > one.x + one.half_w:
        first, last = one.x + one.half_w, other.x - other.half_w
        half = (first + last) / 2
        points, middle = (
            [(first, one.y), (half, one.y), (half, other.y), (last, other.y)],
            (half, (one.y + other.y) / 2),
        )
    elif abs(one.x - other.x) < 1:
        down = 1 if other.y > one.y else -1
        first, last = one.y + down * one.half_h, other.y - down * other.half_h
        points = [(one.x, first), (one.x, first), (one.x, last), (one.x, last)]
        middle = one.x, (first + last) / 2
    else:
        # Out on the far side, below all nodes, and in on the near side: no node is in the way.
        low, out, into = floor + BACK, one.x + one.half_w + BACK / 2, other.x - other.half_w - BACK
        corners = [(one.x + one.half_w, one.y), (out, one.y), (out, low), (into, low), (into, other.y)]
        corners.append((other.x - other.half_w, other.y))
        points = [corners[0], *(point for a, b in pairwise(corners) for point in (a, b, b))]
        middle = (one.x + other.x) / 2, low
    shown = [point if across else (point[1], point[0]) for point in (*points, middle)]
    path = f"M{_pair(shown[0])}C{' '.join(map(_pair, shown[1:-1]))}"
    x, y = shown[-1]
    text = ""
    if label.strip():
        text = (
            f'<text x="{x:.0f}" y="{y - 4:.0f}" text-anchor="middle" font-size="11" fill="#555555" stroke="#ffffff" '
            f'stroke-width="3" paint-order="stroke">{escape(textwrap.shorten(label, 28, placeholder=" …"))}</text>'
        )
    line = f'<path class="edge" d="{path}" fill="none" stroke="{INK}" stroke-width="1.4" marker-end="url(#head)"/>'
    return line + text


def _turned(spot: _NodeSpot) -> _NodeSpot:
    return _NodeSpot(spot.lines, spot.half_h, spot.half_w, spot.y, spot.x)


def _pair(point: tuple[float, float]) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
