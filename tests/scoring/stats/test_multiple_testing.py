"""Holm's correction."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.stats import holm

P_VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12)


def test_a_textbook_example() -> None:
    """Holm's own steps: four tests, the smallest times four, the next times three, and so on."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_never_below_the_raw_and_in_the_same_order(p_values: list[float | None]) -> None:
    found = holm(p_values)
    pairs = sorted((p, q) for p, q in zip(p_values, found, strict=True) if p is not None and q is not None)
    assert [p is None for p in p_values] == [q is None for q in found]
    assert all(p <= q <= 1 for p, q in pairs)
    assert all(one[1] <= other[1] for one, other in pairwise(pairs))


@given(P_VALUES)
def test_order_does_not_matter(p_values: list[float | None]) -> None:
    turned = holm(p_values[::-1])[::-1]
    assert [None if p is None else round(p, 12) for p in turned] == [
        None if p is None else round(p, 12) for p in holm(p_values)
    ]


def test_one_test_stays_as_it_is() -> None:
    assert holm([0.02, None]) == [0.02, None]
    assert holm([]) == []
