from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.certify.watch import DRIFT_ALPHA, drift, gold_difference, has_moved, sequential_moves


def test_difference_counts_only_answers_given_both_times() -> None:
    old = {("clean", "a"): True, ("clean", "b"): False, ("clean", "c"): True}
    new = {("clean", "a"): True, ("clean", "b"): True, ("bare", "a"): True}
    assert gold_difference(old, new) == 0.5
    assert gold_difference(old, {}) is None


def test_unchanged_judge_has_not_moved() -> None:
    same = [(f"q{n}", 0.0) for n in range(50)]
    found = drift(same, {"strict": same})
    assert (found.moved, found.after, found.yes.value) == (False, 50, 0.0)
    assert found.evidence == pytest.approx(1.0)
    assert found.scores["strict"].value == 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_clear_drift_is_detected_early_and_measured(sign: int) -> None:
    moved = [(f"q{n}", sign * 0.3) for n in range(50)]
    assert has_moved(moved)[0]
    assert has_moved(moved)[2] < 15
    assert drift(moved).yes.value == pytest.approx(sign * 0.3)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6))
def test_sequential_test_is_martingale_for_even_signs(values: list[float]) -> None:
    """A martingale: over all signs its capital is 1 on average, whatever the sizes of the differences."""
    ends = []
    for signs in range(2 ** len(values)):
        signed = [value if signs >> n & 1 else -value for n, value in enumerate(values)]
        ends.append(list(sequential_moves(signed))[-1])
    assert np.mean(ends) == pytest.approx(1.0)
    assert DRIFT_ALPHA < 0.05
