"""Exactly so many zeros and ones: taken in any wrapping, refused in any other number or value."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.core.asks import Reply, Unreadable
from limner.core.protocol import READINGS
from limner.exams.rubric.replies import read_flags
from limner.exams.worldgenbench import WORLDGENBENCH
from tests.exams.worldgenbench.replies import FORMS, MARKS, WRONG, question

PROTOCOL = WORLDGENBENCH.protocol


@pytest.mark.parametrize("form", FORMS)
@given(marks=MARKS)
def test_every_wrapping_gives_list(form: str, marks: list[int]) -> None:
    assert read_flags(FORMS[form](marks), len(marks)) == marks


@pytest.mark.parametrize("form", WRONG)
@given(marks=MARKS.filter(lambda marks: len(marks) > 1))
def test_invalid_reply_is_unread_and_never_zero(form: str, marks: list[int]) -> None:
    text, asked = WRONG[form](marks), question(len(marks))
    with pytest.raises(Unreadable):
        read_flags(text, len(marks))
    for reading in READINGS:
        found = PROTOCOL.marks(asked, [Reply("mark", text)], reading)
        assert [mark.verdict for mark in found] == ["unread"] * len(marks)
        assert PROTOCOL.scores(asked, found, {}) == {"checklist": None}


@given(text=st.text(st.sampled_from("[]01,2 \n`{}\"'a</think>-.:;#\\"), max_size=60), count=st.integers(1, 5))
def test_any_text_gives_expected_number_of_marks_or_is_unreadable(text: str, count: int) -> None:
    try:
        found = read_flags(text, count)
    except Unreadable:
        return
    assert len(found) == count
    assert set(found) <= {0, 1}
    # Nothing is guessed: the very list stands in the reply.
    assert ",".join(map(str, found)) in re.sub(r"#[^\n]*|//[^\n]*|\s", "", text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 0]", "the list has 2 values; the checklist has 3 items"),
        ("[1, 0, 2]", "value 3 must be 0 or 1, not 2"),
        ("yes, no, yes", "no list of 3 zeros and ones found"),
        ("[1, 0, 0] [1, 0, 1]", "the reply holds different lists"),
        ("<think>[1, 0, 1]", "ends inside its thinking"),
        ("1" * 500_000, "longer than"),
    ],
)
def test_unreadable_error_explains_problem(text: str, message: str) -> None:
    with pytest.raises(Unreadable, match=message):
        read_flags(text, 3)


@pytest.mark.slow
def test_hostile_brackets_are_read_quickly() -> None:
    for text in ("[" * 200_000, "[1," * 100_000, "[a]" * 100_000, "```" * 100_000):
        with pytest.raises(Unreadable):
            read_flags(text, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 0]", "no JSON object found"),
        ('{"answers": [1, 0]}', 'each entry of "answers" must be an object'),
        ('{"answers": [{"mark": 1}, {"reason": "x"}]}', '"mark" must be a whole number'),
        ('{"answers": [{"mark": 1}, {"mark": true}]}', '"mark" must be a whole number'),
        ('{"answers": [{"mark": 1}]}', '"answers" has 1 entries; it must have 2 to 2'),
    ],
)
def test_invalid_reasons_are_unread(text: str, message: str) -> None:
    found = PROTOCOL.marks(question(2), [Reply("explain", text)], "careful")
    assert [(mark.verdict, message in mark.reason) for mark in found] == [("unread", True), ("unread", True)]


def test_exactly_one_reply_is_expected() -> None:
    for replies in ([], [Reply("mark", "[1, 0]")] * 2):
        found = PROTOCOL.marks(question(2), replies, "careful")
        assert [mark.reason for mark in found] == [f"expected one reply, not {len(replies)}"] * 2
