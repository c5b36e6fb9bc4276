"""SVG from models: found in a reply, made safe, rendered.

    svg = clean(extract(reply))
    png = render(svg)

What is taken, left out and refused stands in ``docs/svg.md``.
"""

from __future__ import annotations

from .cleaning import Cleaned, clean, cleaned
from .fonts import missing_glyphs
from .limits import BadSvg, Limits
from .rendering import render
from .reply import extract

__all__ = ["BadSvg", "Cleaned", "Limits", "clean", "cleaned", "extract", "missing_glyphs", "render"]
