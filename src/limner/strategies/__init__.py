"""Strategies: how a drawing comes about, as plain async functions over painters."""

from __future__ import annotations

from ..calls import Calls
from ..painters import Painter, Painting, PaintRequest

__all__ = ["direct"]


async def direct(request: PaintRequest, painter: Painter, calls: Calls) -> Painting:
    """The question's own prompt, sent as it is."""
    return await painter.paint(request, calls)
