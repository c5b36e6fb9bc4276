"""Shapes and strokes."""

from __future__ import annotations

import math

from tests.svg.corpus.page import page


def ring(count: int, radius: float, inner: float | None = None) -> str:
    """Points around the middle of the sheet; with an inner radius, those of a star."""
    radii = [radius, radius if inner is None else inner]
    angles = [2 * math.pi * at / count - math.pi / 2 for at in range(count)]
    return " ".join(
        f"{60 + radii[at % 2] * math.cos(angle):.2f},{45 + radii[at % 2] * math.sin(angle):.2f}"
        for at, angle in enumerate(angles)
    )


def wave(count: int = 60) -> str:
    points = [(x, 45 - 30 * math.sin(x * 4 * math.pi / count)) for x in range(count + 1)]
    return "M" + "L".join(f"{2 * x} {y:.2f}" for x, y in points)


def bars() -> str:
    heights = (20, 55, 35, 70, 48)
    return "".join(
        f'<rect x="{10 + 20 * at}" y="{80 - high}" width="14" height="{high}" fill="hsl({60 * at}, 60%, 50%)"/>'
        for at, high in enumerate(heights)
    )


def molecule() -> str:
    corners = [tuple(map(float, pair.split(","))) for pair in ring(6, 30).split()]
    ends = [*corners[1:], corners[0]]
    bonds = "".join(
        f'<line x1="{x}" y1="{y}" x2="{a}" y2="{b}" stroke="black" stroke-width="2"/>'
        for (x, y), (a, b) in zip(corners, ends, strict=True)
    )
    return bonds + "".join(f'<circle cx="{x}" cy="{y}" r="5" fill="#555"/>' for x, y in corners)


SHAPES = {
    "rect": page('<rect x="10" y="10" width="60" height="40" fill="teal"/>'),
    "rounded": page('<rect x="10" y="10" width="100" height="70" rx="20" ry="10" fill="gold" stroke="#333"/>'),
    "circle": page('<circle cx="60" cy="45" r="35" fill="none" stroke="crimson" stroke-width="6"/>'),
    "ellipse": page('<ellipse cx="60" cy="45" rx="50" ry="20" fill="#8ac" stroke="navy"/>'),
    "lines": page(
        '<path d="M0 90L120 0M0 0L120 90" stroke="green" stroke-width="3"/><line x2="120" stroke="red" '
        'y1="45" y2="45"/>'
    ),
    "polyline": page(f'<polyline points="{ring(9, 40)}" fill="none" stroke="purple" stroke-width="2"/>'),
    "star": page(f'<polygon points="{ring(10, 40, 18)}" fill="orange" stroke="brown" stroke-linejoin="round"/>'),
    "evenodd": page(
        f'<polygon points="{" ".join(ring(5, 40).split()[at * 2 % 5] for at in range(5))}" fill-rule="evenodd"/>'
    ),
    "curves": page(
        '<path d="M10 80C40 10 65 10 95 80S110 20 110 10Q60 60 10 20T20 5" fill="none" stroke="blue" stroke-width="2"/>'
    ),
    "arcs": page('<path d="M20 60A30 20 15 1 1 90 60z" fill="pink" stroke="black"/>'),
    "wave": page(f'<path d="{wave()}" fill="none" stroke="#06c" stroke-width="2"/>'),
    "dashes": page(
        '<path d="M10 20H110M10 45H110M10 70H110" stroke="black" stroke-width="6" stroke-dasharray="12 6 2 6"/>'
    ),
    "caps": page(
        "".join(
            f'<path d="M25 {y}H95" stroke="#444" stroke-width="14" stroke-linecap="{cap}"/>'
            for y, cap in ((20, "butt"), (45, "round"), (70, "square"))
        )
    ),
    "joins": page(
        "".join(
            f'<path d="M{x} 70l12 -50l12 50" fill="none" stroke="#822" stroke-width="9" stroke-linejoin="{join}"/>'
            for x, join in ((10, "miter"), (48, "round"), (86, "bevel"))
        )
    ),
    "bars": page(f'{bars()}<path d="M5 5V80H115" fill="none" stroke="black"/>'),
    "molecule": page(molecule()),
    "cube": page(
        '<path d="M30 35l40-15l25 15l-40 15zM30 35v30l25 18v-33zM55 83l40-18v-30l-40 15z" fill="#cde" stroke="#123"/>'
    ),
}
