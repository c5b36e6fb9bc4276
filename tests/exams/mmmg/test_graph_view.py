"""Graphs as they are laid out."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.exam import Question
from limner.exams.mmmg.data import GraphRubric
from limner.exams.mmmg.graph_view import graph
from limner.exams.views import view

names = st.lists(
    st.text("abc dé语", min_size=1, max_size=60).map(str.strip).filter(bool), min_size=1, max_size=9, unique=True
)


def laid_out(elements: list[str], dependencies: list[str]) -> dict[str, Any]:
    rubric = GraphRubric(elements=tuple(elements), dependencies=tuple(dependencies))
    return graph(Question("q", "Draw.", rubric))


@given(names, st.data())
def test_boxes_do_not_overlap_and_every_item_is_placed(elements: list[str], data: st.DataObject) -> None:
    ends = st.sampled_from(elements)
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(["Requires", "Defines", "Leads"]), ends, ends), max_size=12))
    dependencies = list(dict.fromkeys(f"{relation}({a}, {b})" for relation, a, b in pairs))
    found = laid_out(elements, dependencies)
    boxes = [
        (n["x"] - n["w"] / 2, n["y"] - n["h"] / 2, n["x"] + n["w"] / 2, n["y"] + n["h"] / 2) for n in found["nodes"]
    ]
    for left, top, right, bottom in boxes:
        assert 0 <= left < right <= found["width"] + 1
        assert 0 <= top < bottom <= found["height"] + 1
    for one, other in combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
    entities = [entity for node in found["nodes"] for entity in node["entities"]]
    assert sorted(entities) == list(range(len(elements)))
    placed = [edge["dependency"] for edge in found["edges"]] + found["lost"]
    assert sorted(placed) == list(range(len(dependencies)))


def test_arrows_point_down_and_cycle_returns_up() -> None:
    found = laid_out(["egg", "chick", "hen"], ["Leads(egg, chick)", "Leads(chick, hen)", "Leads(hen, egg)"])
    egg, chick, hen = found["nodes"]
    assert egg["y"] < chick["y"] < hen["y"]
    assert [(edge["from"], edge["to"]) for edge in found["edges"]] == [(0, 1), (1, 2), (2, 0)]


def test_long_arrow_passes_beside_boxes_between() -> None:
    found = laid_out(["a", "b", "c"], ["Leads(a, b)", "Leads(b, c)", "Leads(a, c)"])
    (long,) = [edge for edge in found["edges"] if (edge["from"], edge["to"]) == (0, 2)]
    middle = found["nodes"][1]
    _, first, _ = long["path"].split("C")
    x, y = (float(word) for word in first.split()[-2:])
    assert abs(y - middle["y"]) < middle["h"]
    assert abs(x - middle["x"]) > middle["w"] / 2


def test_layout_handles_two_way_lost_and_duplicate_items() -> None:
    found = laid_out(["Salt", "salt", "Water"], ["Defines(salt, water)", "Leads(sugar, water)", "no relation at all"])
    assert [node["entities"] for node in found["nodes"]] == [[0, 1], [2]]
    assert [(edge["both"], edge["dependency"]) for edge in found["edges"]] == [(True, 0)]
    assert found["lost"] == [1, 2]


def test_site_view_contains_graphs_of_sample() -> None:
    for question in exams.read(exams.resolve("sample/mmmg")).questions:
        assert view(exams.kind("mmmg"), question) == {"graph": graph(question)}
