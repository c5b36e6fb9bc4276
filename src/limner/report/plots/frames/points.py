"""Painters as points, and which of them no other beats. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....errors import UsageError
from ....exams.aibench.protocol import LEVEL_NAMES
from ....protocol import Score
from ....scoring import Group
from ....stats import interval
from ..source import Source
from .cells import Cell, cells, shown
from .only import only


@dataclass(frozen=True)
class Point:
    """A painter: two numbers with their intervals, perhaps a third as its colour."""

    name: str
    x: Cell
    y: Cell
    colour: float | None = None
    control: bool = False


@dataclass(frozen=True)
class Points:
    """Painters in a plane.

    Attributes:
        front: Names of those that no other beats in both directions, from left to right; controls never count.
        money: Whether x is in dollars, of which less is better.
    """

    points: tuple[Point, ...]
    x: str
    y: str
    caption: str
    colour: str | None = None
    front: tuple[str, ...] = ()
    money: bool = False


def front(points: Sequence[tuple[float, float]], less: bool = False) -> list[int]:
    """The places of the points that no other beats, from left to right; with `less`, a smaller x is better.

    >>> front([(1, 3), (2, 2), (2, 1), (0, 0)]), front([(1, 3), (2, 5), (3, 4)], less=True)
    ([0, 1], [0, 1])
    """
    way = -1 if less else 1

    def beaten(n: int) -> bool:
        x, y = points[n]
        return any(way * a >= way * x and b >= y and (a, b) != (x, y) for m, (a, b) in enumerate(points) if m != n)

    return sorted((n for n in range(len(points)) if not beaten(n)), key=lambda n: points[n])


def if_re(source: Source) -> Points:
    """FEPBench: reasoning enrichment against instruction faithfulness, coloured by semantic precision."""
    only(source, "if-re", "fepbench")
    own = {score.name: score for score in source.field.protocol.scored}
    x, y, colour = (cells(source.field, own[name]) for name in ("if", "re", "sp"))
    found = [
        Point(name, a, b, c.value, name in source.controls)
        for name, a, b, c in zip(source.names, x, y, colour, strict=True)
        if a.value is not None and b.value is not None
    ]
    if not found:
        raise UsageError(f"{source.exam}: this judge settles neither if nor re; mark with a model, not with ocr")
    caption = source.caption + _left(len(source.names) - len(found), "the judge abstained")
    return Points(tuple(found), "instruction faithfulness, IF (of 1)",
                  "reasoning enrichment, RE (of 1)", caption, "semantic precision, SP")  # fmt: skip


def logic_aesthetics(source: Source) -> Points:
    """AIBench: the rating of looks against the mean of the four levels."""
    only(source, "logic-aesthetics", "aibench")
    looks = next(score for score in source.field.protocol.scored if score.name == "aesthetics")
    rated = cells(source.field, looks)
    found = []
    for place, (name, y) in enumerate(zip(source.names, rated, strict=True)):
        x = _logic(source, place)
        if x.value is not None and y.value is not None:
            found.append(Point(name, x, y, None, name in source.controls))
    if not any(cell.value is not None for cell in rated):
        raise UsageError(
            f"{source.exam} has no aesthetics; `limner evidence {source.exam} --aesthetics WORD` measures it"
        )
    if not found:
        raise UsageError(f"{source.exam}: this judge does not settle all four levels; mark with a model, not with ocr")
    caption = source.caption + _left(len(source.names) - len(found), "without both numbers")
    return _with_front(Points(tuple(found), "logic, mean of the four levels (of 100)", shown(looks), caption))


def _logic(source: Source, place: int) -> Cell:
    values, drawn = source.field.values[place], source.field.drawn[place]
    if not values.keys() >= set(LEVEL_NAMES):
        return Cell()
    spread = np.mean([drawn[name] for name in LEVEL_NAMES], axis=0)
    n = len({entry.question.id for entry in source.field.inside[place]})
    found = interval(sum(values[name] for name in LEVEL_NAMES) / len(LEVEL_NAMES), spread, n)
    return Cell(found.value, found.low, found.high, n)


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
            f"{source.exam}: no painter with a score has a known cost above nothing; "
            "`limner run` notes what drawings of painters with a price cost, imported ones have none"
        )
    caption = source.caption + _left(len(source.names) - len(found), "price or score not known")
    label = "dollars for one drawing"
    return _with_front(Points(tuple(found), label, _label(source.score), caption, money=True))


def _label(score: Score) -> str:
    return shown(score)


def dollars(group: Group) -> float | None:
    """What a drawing of this painter has cost on average; None where that is not known of every one."""
    drawings = {entry.drawing.id: entry.drawing for entry in group.entries}.values()
    done = sum(drawing.status == "done" for drawing in drawings)
    # What an imported drawing has cost is not known.
    costs = [None if drawing.origin == "import" else drawing.cost for drawing in drawings]
    known = [each for each in costs if each is not None]
    return sum(known) / done if done and len(known) == len(costs) else None


def _with_front(found: Points) -> Points:
    rivals = [point for point in found.points if not point.control]
    places = front([(point.x.value or 0.0, point.y.value or 0.0) for point in rivals], less=found.money)
    return Points(**{**found.__dict__, "front": tuple(rivals[place].name for place in places)})


def _left(count: int, why: str) -> str:
    return f" · {count} left out: {why}" if count else ""
