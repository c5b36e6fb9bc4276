"""What an exam adds to a question's page."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field

from ..core.exam import Question
from ..core.schema import StrictModel
from . import Kind


class _ViewModel(StrictModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class NodeView(_ViewModel):
    """A box: its middle, size and lines of words, its name, and the numbers of the criteria that decide it."""

    x: float
    y: float
    w: float
    h: float
    lines: list[str]
    name: str
    entities: list[int]


class EdgeView(_ViewModel):
    """An arrow: its path (as in SVG), the numbers of the nodes at its ends, and of its criterion.

    `dependency` counts the criteria behind those of the kind ``entity``.
    """

    path: str
    start: int = Field(alias="from")
    end: int = Field(alias="to")
    dependency: int
    both: bool
    name: str


class GraphView(_ViewModel):
    """A graph that the page draws, what is found and what is missing in colours of their own.

    Attributes:
        lost: The numbers of dependencies that name no node.
    """

    width: float
    height: float
    nodes: list[NodeView]
    edges: list[EdgeView]
    lost: list[int]


def view(kind: Kind[Any], question: Question[Any]) -> dict[str, Any]:
    """Return the exam's own part of a question's data; ``graph`` is always there.

    Raises:
        ValueError: It is not what a page can show.
    """
    found = {"graph": None, **(kind.view(question) if kind.view else {})}
    if unknown := found.keys() - {"graph"}:
        raise ValueError(f"a page can show a graph, not {min(unknown)}")
    if found["graph"] is not None:
        GraphView.model_validate(found["graph"])
    return found
