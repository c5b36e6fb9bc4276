"""What the flags' exam shows beyond the usual: a plot, and a graph on each question's page."""

from __future__ import annotations

from typing import Any

from limner.core.exam import Question
from limner.core.plot_data import PlotSource, Point, Points


def halves(source: PlotSource) -> Points:
    """Flags with all their colours against single colours."""
    numbers = zip(source.names, source.cells("colours"), source.cells("whole"), strict=True)
    points = (Point(name, x, y, None, name in source.controls) for name, x, y in numbers)
    return Points(tuple(points), "colours (of 100)", "whole (of 100)", source.caption).with_front()


def view(question: Question[Any]) -> dict[str, Any]:
    """The colours from top to bottom, a box each."""
    names = question.rubric.colours
    nodes = [
        {"x": 60, "y": 20 + 40 * n, "w": 100, "h": 30, "lines": [name], "name": name, "entities": [n]}
        for n, name in enumerate(names)
    ]
    return {"graph": {"width": 120, "height": 40 * len(names), "nodes": nodes, "edges": [], "lost": []}}
