"""SVG from models: extraction from a reply, cleaning, rendering.

    svg = clean(extract(reply))
    png = render(svg)

``docs/svg.md`` lists what is removed and what is refused.
"""

from __future__ import annotations

from .clean import CleanSvg, clean, clean_with_notes
from .document import BadSvg, SvgLimits, extract
from .rendering import missing_glyphs, render
