"""Groups, reuse, transforms, style sheets, nested pictures, units, and the odd ways of writing all this."""

from __future__ import annotations

import base64
import io

from PIL import Image

from tests.svg.corpus.page import page

FLAG = '<path d="M0 0V30M0 0L20 7L0 14" fill="red" stroke="black" stroke-width="2"/>'
NESTED = '<rect width="10" height="10" fill="#def" stroke="blue"/><circle cx="5" cy="5" r="4"/>'


def chequered() -> str:
    """A small PNG as an address."""
    image = Image.new("RGB", (4, 4), "white")
    image.putdata([(200, 30, 30) if (at + at // 4) % 2 else (255, 240, 200) for at in range(16)])
    file = io.BytesIO()
    image.save(file, "PNG")
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


STRUCTURE = {
    "use": page(
        f'<g id="f">{FLAG}</g><use href="#f" x="40" y="20"/><use href="#f" transform="translate(90 50) scale(1.2)"/>'
    ),
    "symbol": page(
        f'<symbol id="s" viewBox="0 0 10 10">{NESTED}</symbol><use href="#s" x="5" y="5" width="40" '
        'height="40"/>'
        '<use href="#s" x="55" y="15" width="60" height="70"/>'
    ),
    "xlink": f'<svg width="120" height="90"><g id="f">{FLAG}</g><use xlink:href="#f" x="60" y="30"/></svg>',
    "prefixed": (
        '<?xml version="1.0"?><s:svg xmlns:s="http://www.w3.org/2000/svg" width="120" height="90">'
        '<s:rect x="20" y="20" width="50" height="50" fill="olive"/></s:svg>'
    ),
    "rotated": page(
        "".join(
            f'<rect x="55" y="10" width="10" height="30" transform="rotate({30 * at} 60 45)" '
            f'fill="hsl({30 * at},70%,50%)"/>'
            for at in range(12)
        )
    ),
    "skewed": page(f'<g transform="matrix(1 .2 -.3 1 40 10)">{FLAG}</g><g transform="skewX(20) scale(2)">{FLAG}</g>'),
    "css-transform": page(
        '<rect x="40" y="25" width="40" height="40" style="transform: rotate(0.125turn); '
        'transform-origin: 60px 45px; fill: rgb(0 128 0 / 60%)"/>'
    ),
    "css": page(
        "<style>/* kinds */ .a, .b { stroke: black } .a { fill: #f88 } g > .b { fill: #88f; stroke-width: 4px }"
        "@media print { .a { fill: black } } .a:hover { fill: white }</style>"
        '<circle class="a" cx="35" cy="45" r="25"/><g><circle class="b" cx="85" cy="45" r="25"/></g>'
    ),
    "cascade": page(
        '<style>rect { fill: red } #x { fill: lime !important }</style><rect id="x" width="60" '
        'height="90" style="fill:blue"/><rect x="60" width="60" height="90" fill="yellow"/>'
    ),
    "dark": page('<circle cx="60" cy="45" r="30" fill="white"/>', style="background: #123; width: 100%; height: auto"),
    "nested": page(
        '<svg x="10" y="10" width="40" height="70" viewBox="0 0 10 10" '
        f'preserveAspectRatio="xMidYMin meet">{NESTED}</svg><svg x="60" y="10" width="50" height="70" '
        f'viewBox="0 0 10 10" preserveAspectRatio="none">{NESTED}</svg>'
    ),
    "offset": f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-5 -5 20 15">{NESTED}</svg>',
    "slice": (f'<svg width="120" height="90" viewBox="0 0 10 10" preserveAspectRatio="xMinYMin slice">{NESTED}</svg>'),
    "millimetres": (
        '<svg width="40mm" height="30mm" viewBox="0 0 40 30"><rect x="2mm" y="2mm" width="5mm" '
        'height="3mm"/><circle cx="20" cy="15" r="10" fill="none" stroke="red" stroke-width="1pt"/>'
        "</svg>"
    ),
    "percent": page(
        '<rect x="10%" y="10%" width="80%" height="50%" fill="tan"/><circle cx="50%" cy="50%" r="20%"/>', width=200
    ),
    "image": page(
        f'<image href="{chequered()}" x="20" y="10" width="70" height="70" style="image-rendering: optimizeSpeed"/>'
    ),
    "switch": page('<switch><foreignObject width="9" height="9"/><rect width="60" height="60" fill="plum"/></switch>'),
    "link": page('<a href="javascript:alert(1)"><rect x="9" y="9" width="40" height="40" fill="sienna"/></a>'),
    "prolog": (
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" '
        '"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n<!-- by hand -->\n<svg width="90pt" '
        'height="60pt" viewBox="0 0 90 60"><title>t</title><path d="M9 9h30v30z"/></svg>'
    ),
}
