"""A logic graph drawn as SVG: rectangles for modules, ellipses for data, a box around each phase."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from xml.sax.saxutils import escape

from ...views import Box, layer_nodes, order_layers, place_row, wrap_name
from .logic_graph import LogicGraph, LogicNode

LETTER, LINE, PAD = 7.0, 16.0, 12.0
"""The width of a letter, the height of a line, and the padding around words."""
GAP, BETWEEN, HEAD = 34.0, 64.0, 26.0
"""The space between nodes of a layer, between layers, and for a phase's name."""
EDGE = 26.0
"""The space between a phase's box and its nodes, along the flow."""
BACK = 18.0
"""The distance below all nodes at which backward arrows run."""
WIDE, LINES = 22, 3
MODULE, DATA, PHASE, INK = "#e7e0f7", "#f4f0fd", "#fff7dc", "#3b3355"


@dataclass(frozen=True)
class _PhaseBox:
    label: str
    left: float
    top: float
    right: float
    bottom: float


def to_svg(graph: LogicGraph) -> str:
    """Return the graph as a self-contained SVG file without scripts, links or fonts."""
    across = graph.layout_direction == "Left-to-Right"
    spots = {node.id: _spot(node) for node in graph.nodes}
    frames = _place(graph, spots, across)
    # Backward arrows run beyond all nodes, so that nothing is in their way.
    floor = max(spot.y + spot.height / 2 if across else spot.x + spot.width / 2 for spot in spots.values())
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


def _spot(node: LogicNode) -> Box:
    lines = wrap_name(node.label, WIDE, LINES)
    width, height = max(map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD
    # An ellipse must be larger than the words in it.
    stretch = 1.25 if node.type == "data" else 1.0
    return Box(lines, max(80.0, width * stretch), height * stretch)


def _place(graph: LogicGraph, spots: dict[str, Box], across: bool) -> list[_PhaseBox]:
    """Place the phases one after the other along the flow, and the nodes of each phase in layers."""
    frames, top = [], 34.0
    along = PAD if across else top
    for phase in graph.phases:
        members = [node.id for node in graph.nodes if node.phase_id == phase.id]
        if not members:
            continue
        pairs = [(edge.source, edge.target) for edge in graph.edges if edge.source != edge.target]
        inside = [pair for pair in pairs if set(pair) <= set(members)]
        layers = order_layers(layer_nodes(members, inside), inside)
        name = len(phase.label) * LETTER * 1.1 + 2 * PAD
        if across:
            far, end = _place_layers(layers, spots, top + HEAD + PAD, along + EDGE, across)
            frames.append(_PhaseBox(phase.label, along, top, max(end + EDGE, along + name), far + PAD))
            along = frames[-1].right + BETWEEN
        else:
            far, end = _place_layers(layers, spots, 2 * PAD, along + HEAD + EDGE, across)
            frames.append(_PhaseBox(phase.label, PAD, along, max(far + PAD, PAD + name), end + EDGE))
            along = frames[-1].bottom + GAP
    return _even_frames(frames, across, 2 * BACK if _leads_back(graph, spots, across) else 0.0)


def _place_layers(
    layers: Sequence[Sequence[str]], spots: dict[str, Box], side: float, along: float, across: bool
) -> tuple[float, float]:
    """Place layers from `along` on, each beginning at `side`; return where they end across and along the flow."""
    far = end = 0.0
    for layer in layers:
        row = [spots[id].turned() if across else spots[id] for id in layer]
        right, end = place_row(row, side, along, GAP)
        spots |= {id: box.turned() if across else box for id, box in zip(layer, row, strict=True)}
        far, along = max(far, right), end + BETWEEN
    return far, end


def _leads_back(graph: LogicGraph, spots: Mapping[str, Box], across: bool) -> bool:
    pairs = ((spots[edge.source], spots[edge.target]) for edge in graph.edges)
    return any((end.x < start.x) if across else (end.y < start.y) for start, end in pairs)


def _even_frames(frames: Sequence[_PhaseBox], across: bool, more: float) -> list[_PhaseBox]:
    """Return the frames with equal size across the flow, enlarged by `more`."""
    if across:
        return [replace(frame, bottom=max(each.bottom for each in frames) + more) for frame in frames]
    return [replace(frame, right=max(each.right for each in frames) + more) for frame in frames]


def _node(node: LogicNode, spot: Box) -> str:
    if node.type == "data":
        shape = (
            f'<ellipse class="data" cx="{spot.x:.1f}" cy="{spot.y:.1f}" rx="{spot.width / 2:.1f}" '
            f'ry="{spot.height / 2:.1f}" fill="{DATA}" stroke="{INK}"/>'
        )
    else:
        shape = (
            f'<rect class="module" x="{spot.x - spot.width / 2:.1f}" y="{spot.y - spot.height / 2:.1f}" '
            f'width="{spot.width:.1f}" height="{spot.height:.1f}" rx="3" fill="{MODULE}" stroke="{INK}"/>'
        )
    first = spot.y - (len(spot.lines) - 1) * LINE / 2 + 4.5
    words = "".join(
        f'<text x="{spot.x:.1f}" y="{first + n * LINE:.1f}" text-anchor="middle" fill="{INK}">{escape(line)}</text>'
        for n, line in enumerate(spot.lines)
    )
    return shape + words


def _edge(start: Box, end: Box, label: str, across: bool, floor: float) -> str:
    """Return an arrow along the flow, or, if it leads back, beyond all nodes at `floor`."""
    # Computed for a flow from left to right, and transposed afterwards if it goes down.
    source, target = (start, end) if across else (start.turned(), end.turned())
    if start is end:
        x, y = source.x + source.width / 2, source.y
        points, middle = [(x, y - 6), (x + 40, y - 26), (x + 40, y + 26), (x, y + 6)], (x + 34, y)
    elif target.x - target.width / 2 > source.x + source.width / 2:
        first, last = source.x + source.width / 2, target.x - target.width / 2
        half = (first + last) / 2
        points, middle = (
            [(first, source.y), (half, source.y), (half, target.y), (last, target.y)],
            (half, (source.y + target.y) / 2),
        )
    elif abs(source.x - target.x) < 1:
        down = 1 if target.y > source.y else -1
        first, last = source.y + down * source.height / 2, target.y - down * target.height / 2
        points = [(source.x, first), (source.x, first), (source.x, last), (source.x, last)]
        middle = source.x, (first + last) / 2
    else:
        # Out on the far side, below all nodes, and in on the near side: no node is in the way.
        low, out, into = floor + BACK, source.x + source.width / 2 + BACK / 2, target.x - target.width / 2 - BACK
        corners = [(source.x + source.width / 2, source.y), (out, source.y), (out, low), (into, low), (into, target.y)]
        corners.append((target.x - target.width / 2, target.y))
        points = [corners[0], *(point for a, b in pairwise(corners) for point in (a, b, b))]
        middle = (source.x + target.x) / 2, low
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


def _pair(point: tuple[float, float]) -> str:
    return f"{point[0]:.0f} {point[1]:.0f}"
