from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.scoring.compare.two import MarkedSide, differences
from limner.scoring.parts import RowParts
from limner.scoring.stats import as_parts, paired

PROTOCOL: Any = exams.kind("genexam").protocol


def side(values: dict[str, float], abstained: bool = False, decided: str = "ab") -> MarkedSide:
    rows = tuple(RowParts(q, q, {"strict": (value, 1.0)} if value >= 0 else {}) for q, value in values.items())
    met = {(q, q, criterion): [abs(value) / 100] for q, value in values.items() for criterion in decided}
    return MarkedSide(rows, met, abstained)


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=12))
def test_the_difference_is_that_of_painters_who_are_compared(pairs: list[tuple[int, int]]) -> None:
    names = [f"q{n:02}" for n in range(len(pairs))]
    one, other = ({name: float(pair[at]) for name, pair in zip(names, pairs, strict=True)} for at in (0, 1))
    found = differences(side(one), side(other), PROTOCOL, ["strict"])["strict"]
    wanted = paired(as_parts([*one.values()]), as_parts([*other.values()]), top=100)
    assert found.one == pytest.approx(np.mean([*one.values()]))
    assert found.difference.value == pytest.approx(wanted.difference.value)
    assert (found.difference.low is None) == (len(pairs) < 5)
    if found.difference.low is not None:
        assert found.difference.low == pytest.approx(wanted.difference.low)
        assert found.difference.high == pytest.approx(wanted.difference.high)
    turned = differences(side(other), side(one), PROTOCOL, ["strict"])["strict"]
    assert turned.difference.value == pytest.approx(-wanted.difference.value if wanted.difference.value else 0)


def test_only_questions_of_both_count() -> None:
    one = side({"a": 100.0, "b": 0.0, "only mine": 100.0})
    found = differences(one, side({"a": 0.0, "b": 0.0, "only yours": 100.0}), PROTOCOL, ["strict"])
    assert found["strict"].difference.value == 50
    assert found["strict"].difference.n == 2


def test_a_score_that_abstaining_leaves_open_is_none_and_criteria_of_both_remain() -> None:
    whole, partly = side({"a": 100.0, "b": 60.0}), side({"a": 50.0, "b": -50.0}, abstained=True, decided="b")
    found = differences(whole, partly, PROTOCOL, ["strict"])
    assert [*found] == ["met"]
    assert found["met"].one == pytest.approx(80)
    assert found["met"].other == pytest.approx(50)


def test_nothing_in_common_is_no_difference() -> None:
    assert differences(side({"a": 1.0}), side({"b": 1.0}), PROTOCOL, ["strict"]) == {}
