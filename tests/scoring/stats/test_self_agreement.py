"""How steady a judge is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.scoring.stats import flips, wilson

MARKS = st.lists(
    st.tuples(st.sampled_from("qrs"), st.lists(st.sampled_from([0.0, 1.0, None]), max_size=4)), max_size=10
)


@given(MARKS, st.randoms(use_true_random=False))
def test_neither_marks_nor_repeats_have_an_order(marks: list[tuple[str, list[float | None]]], random: Any) -> None:
    found = flips(marks)
    assert flips(random.sample([(question, given[::-1]) for question, given in marks], len(marks))) == found
    if found.n:
        assert 0 <= (found.rate.value or 0) <= (found.ever.value or 0) <= 1
    else:
        assert found.reason is not None


@pytest.mark.slow
def test_the_rate_does_not_grow_with_repeats() -> None:
    """A judge that gives a mark with chance 0.2 the other way flips between two repeats with chance 0.32."""
    generator = np.random.default_rng(9)
    for repeats in (2, 5):
        marks = [(str(n), generator.binomial(1, 0.2, repeats).tolist()) for n in range(2000)]
        found = flips(marks)
        assert found.rate.value == pytest.approx(2 * 0.2 * 0.8, abs=0.03)
        assert found.ever.value == pytest.approx(1 - 0.8**repeats - 0.2**repeats, abs=0.03)


def test_nothing_was_repeated() -> None:
    found = flips([("q", [1.0]), ("r", [None, 1.0])])
    assert (found.n, found.rate.value) == (0, None)
    assert "more than once" in (found.reason or "")
