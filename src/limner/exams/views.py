"""An exam's own additions to a question's page."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from ..core.exam import Question
from ..core.schema import StrictModel
from . import Kind


class _ViewModel(StrictModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class NodeView(_ViewModel):
    """A box: its centre, size, lines of text, name, and the indices of its criteria."""

    x: float
    y: float
    w: float
    h: float
    lines: list[str]
    name: str
    entities: list[int]


class EdgeView(_ViewModel):
    """An arrow: its SVG path, the indices of its end nodes, and the index of its criterion.

    `dependency` counts from 0 among the criteria that follow those of the kind ``entity``.
    """

    path: str
    start: int = Field(alias="from")
    end: int = Field(alias="to")
    dependency: int
    both: bool
    name: str


class GraphView(_ViewModel):
    """A graph drawn by the page, with different colours for what is shown and what is missing.

    Attributes:
        lost: The indices of dependencies that cannot be drawn as arrows.
    """

    width: float
    height: float
    nodes: list[NodeView]
    edges: list[EdgeView]
    lost: list[int]


def view(kind: Kind[Any], question: Question[Any]) -> dict[str, Any]:
    """Return the exam's additions to a question's page; ``graph`` is always present, possibly None.

    Raises:
        ValueError: The page cannot show them.
    """
    parts = {"graph": None, **(kind.view(question) if kind.view else {})}
    if unknown := parts.keys() - {"graph"}:
        raise ValueError(f"a page can show a graph, not {min(unknown)}")
    if parts["graph"] is not None:
        GraphView.model_validate(parts["graph"])
    return parts
