"""How far two ways of asking agree, as a pure function of their marks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.exams.aibench.agreement import Agreement, agreement
from limner.marks import Mark

VALUES = st.lists(st.sampled_from([0, 1, None]), min_size=1, max_size=8)


def marks(values: list[int | None]) -> list[Mark]:
    levels = ("component", "topology", "phase", "semantics")
    return [
        Mark.unread(f"{levels[n % 4]}/{n}", "?") if value is None else Mark(f"{levels[n % 4]}/{n}", value)
        for n, value in enumerate(values)
    ]


def test_levels_and_all() -> None:
    found = agreement(
        {("q", "x"): marks([1, 0, 1, 1]), ("only", "first"): marks([1])},
        {("q", "x"): marks([1, 1, 1, None])},
    )
    assert found["all"].n == 3
    assert [found["all"].same, found["all"].first, found["all"].second] == pytest.approx([2 / 3, 2 / 3, 1])
    assert found["all"].kappa == pytest.approx(0)
    assert found["topology"] == Agreement(1, 0.0, 0.0, 1.0, 0.0)
    assert "semantics" not in found


def test_nothing_in_common() -> None:
    assert agreement({("q", "x"): marks([1])}, {}) == {"all": Agreement(0, None, None, None, None)}


@given(VALUES)
def test_a_way_agrees_with_itself(values: list[int | None]) -> None:
    found = agreement({("q", "x"): marks(values)}, {("q", "x"): marks(values)})["all"]
    assert found.n == sum(value is not None for value in values)
    assert found.same == (1.0 if found.n else None)
    assert found.kappa in (None, pytest.approx(1.0))


@given(VALUES, VALUES)
def test_order_does_not_matter(one: list[int | None], two: list[int | None]) -> None:
    first, second = {("q", "x"): marks(one)}, {("q", "x"): marks(two)}
    there, back = agreement(first, second)["all"], agreement(second, first)["all"]
    assert (there.n, there.same, there.first, there.second) == (back.n, back.same, back.second, back.first)
