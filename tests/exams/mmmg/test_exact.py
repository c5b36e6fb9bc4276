"""The exact fidelity: the least distance, whatever the order, and never lower for one more yes."""

from __future__ import annotations

import random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.exams.mmmg import graph
from limner.exams.mmmg.graph import exact_similarity, resolve_graph
from tests.exams.mmmg.cases import graphs

Case = tuple[dict[str, bool], dict[str, bool]]


def of(elements: dict[str, bool], dependencies: dict[str, bool]) -> float:
    reference = resolve_graph(tuple(elements), tuple(dependencies))
    return exact_similarity(reference, list(elements.values()), list(dependencies.values()))


@given(graphs(most=5, loops=True))
def test_similarity_equals_networkx_full_search(case: Case) -> None:
    elements, dependencies = case
    reference = graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    generated = graph.build(elements, dependencies)
    least = nx.graph_edit_distance(graph.to_networkx(reference), graph.to_networkx(generated))
    assert of(elements, dependencies) == pytest.approx(1 - least / (reference.size + generated.size))


@given(graphs(), st.randoms())
def test_similarity_is_independent_of_order(case: Case, chance: random.Random) -> None:
    shuffled = [dict(chance.sample(list(part.items()), len(part))) for part in case]
    assert of(*case) == of(*shuffled)


@given(graphs(loops=True), st.data())
def test_additional_yes_never_lowers_similarity(case: Case, data: st.DataObject) -> None:
    items = [(part, name) for part in case for name, yes in part.items() if not yes]
    before = of(*case)
    if items:
        part, name = data.draw(st.sampled_from(items))
        part[name] = True
        assert of(*case) >= before


@given(graphs())
def test_exact_similarity_is_never_below_release(case: Case) -> None:
    elements, dependencies = case
    reference = graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    assert of(*case) >= graph.similarity(reference, graph.build(elements, dependencies)) - 1e-12


@given(graphs(loops=True))
def test_similarity_reaches_ends_of_scale(case: Case) -> None:
    elements, dependencies = case
    assert of(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True)) == 1
    assert of(dict.fromkeys(elements, False), dict.fromkeys(dependencies, True)) == 0
    assert exact_similarity(resolve_graph((), ()), [], []) == 0


def test_endpoints_are_resolved_in_full_graph() -> None:
    """An endpoint that two entities could mean stays open, even where only one of them is shown."""
    elements = {"cell wall": True, "cell core": False, "sun": True}
    assert resolve_graph(tuple(elements), ("Causes(sun, cell)",)).edges == ((),)
    assert of(elements, {"Causes(sun, cell)": True}) == pytest.approx(2 * 2 / (2 + 3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Contains(salt,sea water)", ((0, 1),)),
        ("Contains( Salt ,  SEA water )", ((0, 1),)),
        ("contains (salt, sea water)", ((0, 1),)),
        ("Requires(salt,sea water)", ((1, 0),)),
        ("Defines(salt, sea water)", ((0, 1), (1, 0))),
        ("Causes(change(salt), change(sea water))", ((0, 1),)),
        ("Causes(salt, water)", ((0, 1),)),
        ("Causes(fish, whole, salt)", ((2, 0),)),
        ("Causes(salt, fish, whole)", ((0, 2),)),
        ("Causes(salt)", ()),
        ("Causes(salt, moon)", ()),
        ("salt causes water", ()),
        ("Causes(", ()),
        ("", ()),
    ],
)
def test_dependencies_unreadable_to_release_are_resolved(text: str, expected: tuple[tuple[int, int], ...]) -> None:
    assert resolve_graph(("salt", "Sea Water", "fish, whole"), (text,)).edges == (expected,)


def both(elements: dict[str, bool], dependencies: dict[str, bool]) -> tuple[float, float]:
    """The exact fidelity and the release's."""
    whole = graph.build(dict.fromkeys(elements, True), dict.fromkeys(dependencies, True))
    return of(elements, dependencies), graph.similarity(whole, graph.build(elements, dependencies))


def test_exact_similarity_and_release_can_differ_either_way() -> None:
    # The release splits the name at its comma and cannot tell which water is meant, so it asks for less.
    seen = dict.fromkeys(("water, warm", "water, cold", "salt"), True)
    assert both(seen, {"Contains(water, warm, salt)": False}) == (6 / 7, 1.0)
    # The first distance that is found need not be the least.
    seen = {"a": False, "b": True, "c": True}
    exact, release = both(seen, {"Causes(b, c)": True, "Causes(c, a)": False})
    assert exact > release


@given(
    st.lists(st.text(alphabet="ab ,()", max_size=8), min_size=1, max_size=4), st.text(alphabet="ab ,()C", max_size=14)
)
def test_any_text_resolves_to_valid_endpoints(names: list[str], text: str) -> None:
    found = resolve_graph(tuple(names), (text,))
    assert all(0 <= end < len(names) for edges in found.edges for edge in edges for end in edge)
