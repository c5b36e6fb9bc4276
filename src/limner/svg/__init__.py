"""SVG from models: found in a reply, made safe, rendered.

    svg = clean(extract(reply))
    png = render(svg)

What is taken, left out and refused stands in ``docs/svg.md``.
"""

from __future__ import annotations

from .allowed import BadSvg, SvgLimits
from .clean import Cleaned, clean, cleaned
from .extract import extract
from .fonts import missing_glyphs
from .rendering import render

__all__ = ["BadSvg", "Cleaned", "SvgLimits", "clean", "cleaned", "extract", "missing_glyphs", "render"]
