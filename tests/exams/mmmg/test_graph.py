"""The released scorer's graphs and distance: every quirk that was found by running it."""

from __future__ import annotations

import itertools

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.exams.mmmg.graph import (
    ReleaseGraph,
    ScorerError,
    build,
    distance,
    edge_ends,
    similarity,
    to_networkx,
    why_scorer_stops,
)
from tests.exams.mmmg.cases import RELATIONS, graphs

ALL = True


def built(elements: list[str], *dependencies: str) -> ReleaseGraph:
    return build(dict.fromkeys(elements, ALL), dict.fromkeys(dependencies, ALL))


def test_names_differing_only_in_case_are_one_node() -> None:
    assert built(["Cell", "cell", "CELL wall"]).nodes == ("cell", "cell wall")
    assert build({"Cell": False, "cell": True}, {}).nodes == ("cell",)


@pytest.mark.parametrize("relation", ["Causes", "Contains", "Entails", "TemporalOrder", "Invented", " Requires"])
def test_most_relations_point_from_first_to_second(relation: str) -> None:
    assert built(["a", "b"], f"{relation}(a, b)").edges == {("a", "b")}


@pytest.mark.parametrize("word", ["Requires", "requires", "REQUIRES"])
def test_requires_points_from_second_to_first(word: str) -> None:
    assert built(["a", "b"], f"{word}(a, b)").edges == {("b", "a")}


@pytest.mark.parametrize("word", ["Defines", "defines"])
def test_defines_counts_as_two_edges(word: str) -> None:
    assert built(["a", "b"], f"{word}(a, b)").edges == {("a", "b"), ("b", "a")}


def test_dependencies_over_same_pair_share_one_edge() -> None:
    both = {"Causes(a, b)": True, "Entails(a, b)": False}
    assert build({"a": True, "b": True}, both).edges == {("a", "b")}
    assert len(built(["a", "b"], "Causes(a, b)", "Entails(a, b)", "Requires(b, a)").edges) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Causes(a, b", [("a", "b")]),
        ("Causes(a, b))", [("a", "b)")]),
        ("Contains(salt, fine, sea)", [("salt", "fine, sea")]),
        ("Causes(Change(X), b)", [("x", "b")]),
        ("Causes(change(x), change(y z))", [("x", "y z")]),
        ("Causes(a, change(change(x)))", [("a", "x")]),
        ("Causes(increase(x), decrease(y))", [("increase(x)", "decrease(y)")]),
        ("a causes b", []),
        ("", []),
    ],
)
def test_dependency_is_split_like_release(text: str, expected: list[tuple[str, str]]) -> None:
    assert edge_ends(text) == expected


@pytest.mark.parametrize("text", ["Causes(a,b)", "Causes(a)", "Causes()", "Causes("])
def test_malformed_dependency_stops_released_scorer(text: str) -> None:
    with pytest.raises(ScorerError, match="no two arguments"):
        build({"a": True, "b": True}, {text: True})
    assert (
        why_scorer_stops(["Causes(a, b)", text])
        == f"{text!r} has no two arguments with a comma and a blank between them"
    )
    # Only what is judged yes is looked at; but the reference always is.
    assert build({"a": True, "b": True}, {text: False}).edges == frozenset()
    assert why_scorer_stops(["Causes(a, b)", "no bracket"]) is None


def test_endpoints_match_by_containment() -> None:
    assert built(["water vapour", "sun"], "Causes(sun, vapour)").edges == {("sun", "water vapour")}
    assert built(["water", "sun"], "Causes(sun, warm water)").edges == {("sun", "water")}
    assert built(["water", "sun"], "Causes(sun, waters)").edges == frozenset(), "no blank in it"
    assert built(["cell wall", "cell core", "sun"], "Causes(sun, cell)").edges == frozenset(), "two candidates"
    assert built(["cell", "cell wall", "sun"], "Causes(sun, Cell)").edges == {("sun", "cell")}, "an exact name wins"
    assert built(["sun"], "Causes(sun, moon)").edges == frozenset()


def test_fewer_nodes_can_make_endpoint_unambiguous() -> None:
    elements, dependency = {"cell wall": True, "cell core": False, "sun": True}, "Causes(sun, cell)"
    assert build(elements, {dependency: True}).edges == {("sun", "cell wall")}
    assert built(list(elements), dependency).edges == frozenset()


def test_dependency_without_its_entity_adds_no_edge() -> None:
    assert build({"a": True, "b": False}, {"Causes(a, b)": True}) == ReleaseGraph(("a",), frozenset())


def first_value(reference: ReleaseGraph, generated: ReleaseGraph) -> int:
    return int(next(nx.optimize_graph_edit_distance(to_networkx(reference), to_networkx(generated))))


@given(graphs())
def test_distance_is_first_value_yielded_by_networkx(case: tuple[dict[str, bool], dict[str, bool]]) -> None:
    elements, dependencies = case
    reference = build(dict.fromkeys(elements, ALL), dict.fromkeys(dependencies, ALL))
    generated = build(elements, dependencies)
    assert distance(reference, generated) == first_value(reference, generated)


@given(graphs(loops=True))
def test_distance_with_loops_is_first_value_of_networkx(case: tuple[dict[str, bool], dict[str, bool]]) -> None:
    elements, dependencies = case
    reference = build(dict.fromkeys(elements, ALL), dict.fromkeys(dependencies, ALL))
    generated = build(elements, dependencies)
    assert distance(reference, generated) == first_value(reference, generated)


@given(st.data())
def test_distance_supports_generated_edge_missing_from_reference(data: st.DataObject) -> None:
    names = [f"n{i}" for i in range(data.draw(st.integers(2, 6)))]
    edges = st.frozensets(st.tuples(st.sampled_from(names), st.sampled_from(names)).filter(lambda e: e[0] != e[1]))
    kept = tuple(name for name in names if data.draw(st.booleans()))
    free = frozenset(edge for edge in data.draw(edges) if set(edge) <= set(kept))
    reference, generated = ReleaseGraph(tuple(names), data.draw(edges)), ReleaseGraph(kept, free)
    assert distance(reference, generated) == first_value(reference, generated)


def star(*shown: str, order: str = "abcd") -> float:
    """What is left of a star around d, by the order of the names."""
    dependencies = {f"Contains(d, {name})": name in shown for name in "abc"}
    reference = build(dict.fromkeys(order, ALL), dict.fromkeys(dependencies, ALL))
    return similarity(reference, build({name: name in shown or name == "d" for name in order}, dependencies))


def test_release_distance_overshoots_depending_on_entity_order() -> None:
    values = {star("b", "c", order="".join(order)) for order in itertools.permutations("abcd")}
    assert {round(value, 4) for value in values} == {0.5, 0.8333}


def test_additional_correct_answer_can_lower_release_similarity() -> None:
    elements = {"a": True, "b": True, "c": True, "d": False}
    reference = build(dict.fromkeys(elements, ALL), {"Causes(a, b)": True, "Causes(a, c)": True})
    one, two = (
        similarity(reference, build(elements, {"Causes(a, b)": more, "Causes(a, c)": True})) for more in (False, True)
    )
    assert two < one


def test_complete_answer_scores_one_and_empty_graphs_zero() -> None:
    full = built(["a", "b", "c"], "Causes(a, b)", "Defines(b, c)")
    assert similarity(full, full) == 1
    assert similarity(full, ReleaseGraph((), frozenset())) == 0
    assert similarity(ReleaseGraph((), frozenset()), ReleaseGraph((), frozenset())) == 0


@given(graphs())
def test_release_distance_is_minimal_or_overshoots_evenly(case: tuple[dict[str, bool], dict[str, bool]]) -> None:
    """With no entity missing, or no edge shown; otherwise it overshoots by an even number of edits."""
    elements, dependencies = case
    reference = build(dict.fromkeys(elements, ALL), dict.fromkeys(dependencies, ALL))
    generated = build(elements, dependencies)
    least = reference.size - generated.size
    over = distance(reference, generated) - least
    assert over >= 0
    assert over % 2 == 0
    if len(generated.nodes) == len(reference.nodes) or not generated.edges:
        assert over == 0


def test_all_relations_of_paper_are_known() -> None:
    assert {len(edge_ends(f"{relation}(a, b)")) for relation in RELATIONS if relation != "Defines"} == {1}
