"""Painters by what they cost. Pure."""

from __future__ import annotations

from ...core.errors import UsageError
from ...core.plot_data import Cell, Point, Points, left_out, shown
from ...scoring import Group
from ..source import Source
from .cells import cells


def cost(source: Source) -> Points:
    """The score against dollars for one drawing, tries that failed included."""
    prices = [dollars(group) for group in source.field.groups]
    scored = cells(source.field, source.score)
    found = [
        Point(name, Cell(price), y, None, name in source.controls)
        for name, price, y in zip(source.names, prices, scored, strict=True)
        if price is not None and y.value is not None
    ]
    if not any(point.x.value for point in found):
        raise UsageError(
            f"{source.exam}: no painter with a score has a known cost above zero; "
            "`limner run` notes what drawings of painters with a price cost, imported ones have none"
        )
    caption = source.caption + left_out(len(source.names) - len(found), "price or score not known")
    label = "dollars for one drawing"
    return Points(tuple(found), label, shown(source.score), caption, money=True).with_front()


def dollars(group: Group) -> float | None:
    """What a drawing of this painter has cost on average; None where that is not known of every one."""
    drawings = {entry.drawing.id: entry.drawing for entry in group.entries}.values()
    done = sum(drawing.status == "done" for drawing in drawings)
    # What an imported drawing has cost is not known.
    costs = [None if drawing.origin == "import" else drawing.cost for drawing in drawings]
    known = [each for each in costs if each is not None]
    return sum(known) / done if done and len(known) == len(costs) else None
