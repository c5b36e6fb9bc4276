"""Numbers that are worked out when they are looked at, and resamples that are drawn once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.marks import Mark
from limner.scoring.numbers import Later


def test_a_mapping_is_made_once_and_only_when_it_is_looked_into() -> None:
    made: list[int] = []

    def make() -> dict[str, int]:
        made.append(1)
        return {"a": 1}

    found = Later(make)
    assert made == []
    assert found["a"] == 1
    assert (dict(found), len(found), found == {"a": 1}) == ({"a": 1}, 1, True)
    assert made == [1]


MARKS = st.builds(Mark, st.text(max_size=3), st.integers(0, 2), st.text(max_size=5), st.text(max_size=3)) | st.builds(
    Mark.abstain, st.text(max_size=3), st.text(max_size=5)
)


@given(MARKS)
def test_a_mark_comes_back_from_json_as_it_was(mark: Mark) -> None:
    assert Mark.from_json(mark.to_json()) == mark
    assert Mark.from_json({"criterion": "x", "value": 1}) == Mark("x", 1)


def test_a_mark_that_contradicts_itself_is_refused_from_json_too() -> None:
    with pytest.raises(ValueError, match="a value goes with an answer"):
        Mark.from_json({**Mark("x", 1).to_json(), "verdict": "abstain"})
