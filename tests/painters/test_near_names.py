from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.painters.near_names import near_names

NAMES = st.lists(st.text(alphabet="abAB_-1/ 20é", max_size=8), max_size=12)


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("Biology_12", "biology-12"),
        ("Biology_12", "Biology/Biology_12"),
        ("Biology_12", "gpt-image_Biology_12_v2"),
        ("Biology_12", "Bioloy_12"),
        ("Straße", "strasse"),
    ],
)
def test_what_is_meant(id: str, name: str) -> None:
    assert near_names([id], [name]) == {name: id}


@pytest.mark.parametrize(
    ("id", "name"),
    [
        ("Biology_1", "Biology_11"),
        ("Biology_1", "Music_1"),
        ("", "_"),
    ],
)
def test_what_is_not(id: str, name: str) -> None:
    assert near_names([id], [name]) == {}


def test_two_answers_are_none() -> None:
    assert near_names(["Q_1"], ["q-1", "q.1"]) == {}
    assert near_names(["Q_1", "q-1"], ["q 1"]) == {}
    # The plainer one goes first, and what it takes stands in nobody's way.
    assert near_names(["Q_1", "Q_1b"], ["q-1", "q-1-b"]) == {"q-1": "Q_1", "q-1-b": "Q_1b"}


@given(NAMES, NAMES)
def test_nobody_is_meant_twice(ids: list[str], names: list[str]) -> None:
    found = near_names(ids, names)
    assert set(found) <= set(names)
    assert set(found.values()) <= set(ids)
    assert len(set(found.values())) == len(found)


@given(st.lists(st.integers(0, 999), unique=True, max_size=20), st.sampled_from(["q{}", "x/Q_{}", "Q-{:04}", "Qq_{}"]))
def test_a_folder_named_by_another_rule_is_wholly_understood(numbers: list[int], rule: str) -> None:
    found = near_names([f"Q_{n}" for n in numbers], [rule.format(n) for n in numbers])
    if rule != "Qq_{}":
        assert found == {rule.format(n): f"Q_{n}" for n in numbers}
    else:  # Too short to tell a slip from another word.
        assert found == {}
