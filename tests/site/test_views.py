"""What an exam adds to a question's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from limner import exams
from limner.core.exam import Question
from limner.site.views import view

KIND = exams.kind("genexam")
QUESTION: Question[Any] = exams.read(exams.resolve("sample/genexam")).questions[0]
NODE = {"x": 60, "y": 20.5, "w": 100, "h": 30, "lines": ["red"], "name": "red", "entities": [0]}
EDGE = {"path": "M0 0", "from": 0, "to": 0, "dependency": 0, "both": False, "name": "red"}
GRAPH = {"width": 120, "height": 40, "nodes": [NODE], "edges": [EDGE], "lost": []}


def shown(found: Any) -> dict[str, Any]:
    return view(replace(KIND, view=lambda question: found), QUESTION)


def test_a_graph_goes_as_it_is() -> None:
    assert shown({"graph": GRAPH}) == {"graph": GRAPH}
    assert shown({"graph": None}) == shown({}) == view(KIND, QUESTION) == {"graph": None}


@pytest.mark.parametrize(
    "found",
    [
        {"id": "another"},
        {"graph": {}},
        {"graph": {**GRAPH, "colour": "red"}},
        {"graph": {**GRAPH, "width": "120"}},
        {"graph": {**GRAPH, "width": float("nan")}},
        {"graph": {**GRAPH, "nodes": [{**NODE, "lines": "red"}]}},
        {"graph": {**GRAPH, "edges": [{**EDGE, "both": 1}]}},
    ],
)
def test_what_a_page_cannot_draw_is_refused(found: Any) -> None:
    with pytest.raises(ValueError, match=r"[Gg]raph"):
        shown(found)
