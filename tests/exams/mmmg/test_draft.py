"""Drafted graphs are read, mended where that is safe, and refused with all that is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.asks import Unreadable
from limner.exams.mmmg import graph
from limner.exams.mmmg.draft import RELATIONS, check_graph, read_dependency, read_graph
from tests.needs import shared

NAMES = ["leaf", "Water vapour", "light", "sugar"]


def reply(**changed: Any) -> dict[str, Any]:
    parts = {"elements": NAMES, "dependencies": ["Requires(leaf, light)", "Causes(light, sugar)",
                                                 "Contains(leaf, Water vapour)"]}  # fmt: skip
    known = {"Definitions": "How a leaf makes sugar.", "Element Explanation": ["one"] * 4,
             "Dependency Explanation": ["one", "two", "three"]}  # fmt: skip
    for name, value in changed.items():
        (parts if name in parts else known)[name.replace("_", " ") if name not in parts else name] = value
    return {"Visual Components": parts, "Key Knowledge": known}


def test_valid_graph_is_read_with_explanations() -> None:
    found = read_graph(reply())
    assert found["elements"][1] == {"name": "Water vapour", "why": "one"}
    assert found["dependencies"][2] == {"says": "Contains(leaf, Water vapour)", "why": "three"}
    assert found["links"][0] == ["Requires", "leaf", "light"]
    assert read_graph(found) == found, "as review hands it on"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dependencies": ["Likes(leaf, light)"], "Dependency_Explanation": ["x"]}, "relation: 'Likes'"),
        ({"dependencies": ["Requires(leaf, moon)"], "Dependency_Explanation": ["x"]}, "undeclared: 'moon'"),
        ({"dependencies": ["Requires(leaf, increase(light))"], "Dependency_Explanation": ["x"]}, "undeclared"),
        ({"dependencies": ["Requires(change(change(leaf)), light)"], "Dependency_Explanation": ["x"]}, "undeclared"),
        ({"dependencies": ["Requires(leaf)"], "Dependency_Explanation": ["x"]}, "arity"),
        ({"dependencies": ["leaf needs light"], "Dependency_Explanation": ["x"]}, "form"),
        ({"dependencies": ["Causes(light, change(light))"], "Dependency_Explanation": ["x"]}, "self"),
        ({"dependencies": ["Causes(light, sugar)"], "Dependency_Explanation": ["x"]}, "alone: 'leaf'"),
        ({"Element_Explanation": ["one"] * 3}, 'lengths: "Element Explanation" has 3 entries for 4 elements'),
        ({"Dependency_Explanation": ["one"]}, 'lengths: "Dependency Explanation" has 1 entries for 3'),
        ({"Dependency_Explanation": ["one", "", "three"]}, "empty: dependency 'Causes(light, sugar)'"),
        ({"Definitions": ""}, "empty: there are no definitions"),
        ({"elements": [*NAMES, "LEAF"], "Element_Explanation": ["x"] * 5}, "repeated: the element 'leaf'"),
        ({"elements": "leaf"}, '"elements" must be a list of texts'),
        ({"dependencies": [f"Contains({', '.join(NAMES * 9)})"], "Dependency_Explanation": ["x"]}, "arity"),
    ],
)
def test_invalid_graph_is_rejected_with_rule(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_graph(reply(**changed))
    assert message in str(caught.value)


def test_relation_of_many_is_split_into_pairs() -> None:
    contains = read_dependency("contains( Leaf , light, SUGAR)", NAMES)
    assert [str(link) for link in contains] == ["Contains(leaf, light)", "Contains(leaf, sugar)"]
    order = read_dependency("Temporal Order(light, leaf, change(sugar))", NAMES)
    assert [str(link) for link in order] == ["TemporalOrder(light, leaf)", "TemporalOrder(leaf, change(sugar))"]


def test_name_with_comma_is_read_but_reported_as_unscored() -> None:
    names = ["a b", "b, c"]
    assert [str(link) for link in read_dependency("Requires(b, c, a b)", names)] == ["Requires(b, c, a b)"]
    _, faults = check_graph([(name, "x") for name in names], [("Requires(b, c, a b)", "x")], "d")
    assert [fault.kind for fault in faults] == ["unscored"], "the released scorer cuts at the first comma"


def test_shipped_and_published_graphs_are_valid() -> None:
    graphs = []
    for question in exams.read(exams.resolve("sample/mmmg")).questions:
        annotation = json.loads(question.rubric.annotation)
        elements = list(zip(question.rubric.elements, annotation["Element Explanation"], strict=True))
        graphs.append(
            (elements, list(zip(question.rubric.dependencies, annotation["Dependency Explanation"], strict=True)))
        )
    examples = shared("conformance", "mmmg_worked_examples.jsonl").read_text("utf-8").splitlines()
    for row in {row["figure"]: row for row in map(json.loads, examples)}.values():
        graphs.append(([(name, "x") for name in row["elements"]], [(text, "x") for text in row["dependencies"]]))
    assert len(graphs) == 17
    assert [check_graph(elements, dependencies, "d")[1] for elements, dependencies in graphs] == [[]] * 17


names = st.lists(st.text("abcde xyz", min_size=1, max_size=9).map(lambda text: " ".join(text.split())).filter(bool),
                 min_size=2, max_size=6, unique=True)  # fmt: skip


@given(names, st.data())
def test_accepted_dependency_is_scored_as_intended(elements: list[str], data: st.DataObject) -> None:
    ends = st.lists(st.sampled_from(elements), min_size=2, max_size=4, unique=True)
    relation, chosen = data.draw(st.sampled_from(RELATIONS)), data.draw(ends)
    links = read_dependency(f"{relation.upper()}({','.join(chosen)})", elements)
    assert len(links) == len(chosen) - 1
    for link in links:
        edges = graph.resolve_graph(tuple(elements), (str(link),)).edges[0]
        assert len(edges) == (2 if relation == "Defines" else 1)
