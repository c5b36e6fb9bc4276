"""Marks: an answer has a value, everything else has none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.marks import Criterion, Mark, fill, values

TEXT = st.text(max_size=20)
MARKS = st.one_of(
    st.builds(Mark, TEXT, st.integers(0, 5), TEXT, TEXT),
    st.builds(Mark.abstain, TEXT, TEXT, TEXT),
    st.builds(Mark.unread, TEXT, TEXT, TEXT),
)


@pytest.mark.parametrize(("value", "verdict"), [(None, "answer"), (1, "abstain"), (0, "unread")])
def test_a_value_goes_with_an_answer_alone(value: int | None, verdict: str) -> None:
    with pytest.raises(ValueError, match="mark point/1: a value goes with an answer"):
        Mark("point/1", value, verdict=verdict)  # type: ignore[arg-type]


@given(MARKS)
def test_json_and_back(mark: Mark) -> None:
    assert Mark.from_json(mark.to_json()) == mark


def test_values_leave_out_what_is_not_decided() -> None:
    assert values([Mark("a", 0), Mark.abstain("b", "why"), Mark.unread("c", "why"), Mark("d", 2)]) == {"a": 0, "d": 2}


@given(st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 4)), max_size=8), st.booleans())
def test_filling_answers_everything_and_changes_no_answer(given_: list[tuple[int, int | None]], best: bool) -> None:
    criteria = [Criterion(f"c{n}", "?", "kind", top) for n, (top, _) in enumerate(given_)]
    marks = [
        Mark.abstain(f"c{n}", "why") if value is None else Mark(f"c{n}", min(value, top))
        for n, (top, value) in enumerate(given_)
    ]
    filled = fill(marks, criteria, best)
    assert [mark.criterion for mark in filled] == [criterion.id for criterion in criteria]
    for mark, old, criterion in zip(filled, marks, criteria, strict=True):
        assert mark.value == (old.value if old.value is not None else criterion.top if best else 0)
