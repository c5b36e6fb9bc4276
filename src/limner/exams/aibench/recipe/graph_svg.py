"""A logic graph drawn as SVG: rectangles for modules, ellipses for data, a box around each phase. No Graphviz needed."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from .graph import LogicGraph, LogicNode

LETTER, LINE, PAD = 7.0, 16.0, 12.0
"""Width of a letter, height of a line, and what is left free around words."""
GAP, BETWEEN, HEAD = 34.0, 64.0, 26.0
"""Between nodes of a layer, between layers, and the room for a phase's name."""
WIDE, LINES = 22, 3
MODULE, DATA, PHASE, INK = "#e7e0f7", "#f4f0fd", "#fff7dc", "#3b3355"


@dataclass
class _Spot:
    """A node's place: the middle, and half its width and height."""

    lines: list[str]
    half_w: float
    half_h: float
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class _Frame:
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
    parts += [_edge(spots[edge.source], spots[edge.target], edge.label, across) for edge in graph.edges]
    parts += [_node(node, spots[node.id]) for node in graph.nodes]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _spot(node: LogicNode) -> _Spot:
    lines = textwrap.wrap(node.label, WIDE, max_lines=LINES, placeholder=" …") or ["?"]
    width, height = max(map(len, lines)) * LETTER + 2 * PAD, len(lines) * LINE + 2 * PAD
    # An ellipse around words is wider than they are.
    stretch = 1.25 if node.type == "data" else 1.0
    return _Spot(lines, max(40.0, width * stretch / 2), height * stretch / 2)


def _place(graph: LogicGraph, spots: Mapping[str, _Spot], across: bool) -> list[_Frame]:
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
            left, x, bottom = along, along + PAD, 0.0
            for layer in layers:
                half = max(spots[id].half_w for id in layer)
                y = top + HEAD + PAD
                for id in layer:
                    spots[id].x, spots[id].y = x + half, y + spots[id].half_h
                    y += 2 * spots[id].half_h + GAP
                bottom, x = max(bottom, y - GAP), x + 2 * half + BETWEEN
            frames.append(_Frame(phase.label, left, top, max(x - BETWEEN + PAD, left + name), bottom + PAD))
            along = frames[-1].right + BETWEEN
        else:
            start = max(along, top)
            y, right = start + HEAD + PAD, 0.0
            for layer in layers:
                half, x = max(spots[id].half_h for id in layer), 2 * PAD
                for id in layer:
                    spots[id].x, spots[id].y = x + spots[id].half_w, y + half
                    x += 2 * spots[id].half_w + GAP
                right, y = max(right, x - GAP), y + 2 * half + BETWEEN
            frames.append(_Frame(phase.label, PAD, start, max(right + PAD, PAD + name), y - BETWEEN + PAD))
            along = frames[-1].bottom + GAP
    return _evened(frames, across)


def _evened(frames: Sequence[_Frame], across: bool) -> list[_Frame]:
    """Frames of one size across the flow."""
    right, bottom = max(frame.right for frame in frames), max(frame.bottom for frame in frames)
    return [
        _Frame(one.label, one.left, one.top, one.right, bottom) if across
        else _Frame(one.label, one.left, one.top, right, one.bottom)
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


def _node(node: LogicNode, spot: _Spot) -> str:
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


def _edge(start: _Spot, end: _Spot, label: str, across: bool) -> str:
    """An arrow along the flow, or around the nodes where it leads back."""
    if start is end:
        x, y = start.x + start.half_w, start.y
        path, middle = f"M{x:.0f} {y - 6:.0f}C{x + 40:.0f} {y - 26:.0f} {x + 40:.0f} {y + 26:.0f} {x:.0f} {y + 6:.0f}", (x + 34, y)
    elif across:
        path, middle = _along(start.x, start.y, start.half_w, start.half_h, end.x, end.y, end.half_w, end.half_h, False)
    else:
        path, middle = _along(start.y, start.x, start.half_h, start.half_w, end.y, end.x, end.half_h, end.half_w, True)
    text = ""
    if label.strip():
        shown = textwrap.shorten(label, 28, placeholder=" …")
        text = (
            f'<text x="{middle[0]:.0f}" y="{middle[1] - 4:.0f}" text-anchor="middle" font-size="11" fill="#555555" '
            f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{escape(shown)}</text>'
        )
    return f'<path class="edge" d="{path}" fill="none" stroke="{INK}" stroke-width="1.4" marker-end="url(#head)"/>{text}'


def _along(
    a: float, b: float, long_a: float, broad_a: float, c: float, d: float, long_c: float, broad_c: float, turned: bool
) -> tuple[str, tuple[float, float]]:
    """A curve from (a, b) to (c, d), a and c along the flow; `turned` where the flow goes down."""

    def at(along: float, broad: float) -> str:
        return f"{broad:.0f} {along:.0f}" if turned else f"{along:.0f} {broad:.0f}"

    if c - long_c > a + long_a:
        first, last = a + long_a, c - long_c
        half = (first + last) / 2
        path = f"M{at(first, b)}C{at(half, b)} {at(half, d)} {at(last, d)}"
        middle = half, (b + d) / 2
    elif abs(a - c) < 1:
        down = 1 if d > b else -1
        path = f"M{at(a, b + down * broad_a)}L{at(c, d - down * broad_c)}"
        middle = a, (b + d) / 2
    else:
        # Back against the flow: below both.
        below = max(b + broad_a, d + broad_c) + 22
        path = f"M{at(a, b + broad_a)}C{at(a, below)} {at(c, below)} {at(c, d + broad_c)}"
        middle = (a + c) / 2, below - 4
    return path, (middle[1], middle[0]) if turned else middle
