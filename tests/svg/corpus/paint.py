"""Gradients, patterns, clips, masks, filters, markers and see-through things."""

from __future__ import annotations

from tests.svg.corpus.page import page

STOPS = "".join(
    f'<stop offset="{offset}" stop-color="{colour}"/>'
    for offset, colour in (("0", "red"), (".5", "#ff0"), ("1", "blue"))
)
ALL = '<rect width="120" height="90" fill="url(#a)"/>'
ARROW = (
    '<marker id="m" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
    'orient="auto-start-reverse">'
    '<path d="M0 0L10 5L0 10z"/></marker>'
)

PAINT = {
    "linear": page(f'<linearGradient id="a">{STOPS}</linearGradient>{ALL}'),
    "linear-turned": page(f'<linearGradient id="a" gradientTransform="rotate(45)">{STOPS}</linearGradient>{ALL}'),
    "radial": page(f'<radialGradient id="a" fx=".25" fy=".3">{STOPS}</radialGradient>{ALL}'),
    "reflected": page(
        f'<radialGradient id="b">{STOPS}</radialGradient>'
        f'<radialGradient id="a" href="#b" r=".2" spreadMethod="reflect"/>{ALL}'
    ),
    "pattern": page(
        '<pattern id="a" width="20" height="20" patternUnits="userSpaceOnUse">'
        f'<circle cx="10" cy="10" r="6" fill="teal"/><path d="M0 0L20 20" stroke="red"/></pattern>{ALL}'
    ),
    "hatching": page(
        '<pattern id="a" width="8" height="8" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(30)">'
        f'<path d="M0 0V8" stroke="#555" stroke-width="3"/></pattern>{ALL}'
    ),
    "clip": page(
        '<clipPath id="c"><circle cx="60" cy="45" r="35"/></clipPath>'
        '<g clip-path="url(#c)"><rect width="60" height="90" fill="#c33"/><rect x="60" width="60" '
        'height="45"/></g>'
    ),
    "mask": page(
        '<linearGradient id="g"><stop stop-color="white"/><stop offset="1"/></linearGradient>'
        '<mask id="c"><rect width="120" height="90" fill="url(#g)"/></mask>'
        '<rect x="5" y="5" width="110" height="80" fill="green" mask="url(#c)"/>'
    ),
    "opacity": page(
        '<g opacity=".5"><circle cx="45" cy="45" r="30" fill="red"/><circle cx="75" cy="45" r="30" fill="blue"/></g>'
    ),
    "venn": page(
        "".join(
            f'<circle cx="{x}" cy="{y}" r="28" fill="{colour}" fill-opacity=".5"/>'
            for x, y, colour in ((45, 35, "red"), (75, 35, "lime"), (60, 58, "blue"))
        )
    ),
    "blend": page(
        '<rect width="80" height="60" fill="#fc0"/>'
        '<rect x="40" y="30" width="80" height="60" fill="#0cf" style="mix-blend-mode:multiply"/>'
    ),
    "blur": page(
        '<filter id="f"><feGaussianBlur stdDeviation="4"/></filter>'
        '<rect x="30" y="25" width="60" height="40" fill="navy" filter="url(#f)"/>'
    ),
    "shadow": page(
        '<filter id="f" x="-20%" y="-20%" width="150%" height="150%"><feDropShadow dx="5" dy="5" '
        'stdDeviation="2"/></filter>'
        '<circle cx="55" cy="40" r="28" fill="#fd5" filter="url(#f)"/>'
    ),
    "matrix": page(
        f'<filter id="f"><feColorMatrix type="saturate" values=".2"/></filter>'
        f'<linearGradient id="a">{STOPS}</linearGradient><g filter="url(#f)">{ALL}</g>'
    ),
    "arrows": page(
        f'<defs>{ARROW}</defs><path d="M15 75L60 15L105 75" fill="none" stroke="black" stroke-width="2" '
        'marker-start="url(#m)" marker-end="url(#m)"/>'
    ),
    "vertices": page(
        '<marker id="m" markerWidth="4" markerHeight="4" refX="2" refY="2"><circle cx="2" cy="2" r="2" '
        'fill="red"/>'
        '</marker><polyline points="10,80 35,30 60,60 85,15 110,50" fill="none" stroke="#444" '
        'stroke-width="2" '
        'style="marker:url(#m)"/>'
    ),
}
