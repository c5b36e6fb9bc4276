"""Where markings differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limner.site.judge_data import UNDECIDED
from limner.site.pages_data import agreement, differing

value = st.sampled_from([0, 1, 2, UNDECIDED])


@st.composite
def markings(draw: st.DrawFn) -> list[tuple[int, int, bytes]]:
    count = draw(st.integers(0, 5))
    places = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5, unique=True))
    return [(way, repeat, bytes(draw(st.lists(value, min_size=count, max_size=count)))) for way, repeat in places]


@given(markings(), st.randoms())
def test_what_differs_does_not_depend_on_the_order_of_markings(
    found: list[tuple[int, int, bytes]], chance: object
) -> None:
    other = found[::-1]
    assert differing(found) == differing(other)


def test_repeats_that_differ_alike_are_no_difference_between_judges() -> None:
    split = [(0, 0, b"\x00"), (0, 1, b"\x01"), (1, 0, b"\x00"), (1, 1, b"\x01")]
    assert differing(split) == (1, [0], False, True)
    assert differing([(0, 0, b"\x00"), (1, 0, b"\x01")]) == (1, [0], True, False)
    assert differing([(0, 0, b"\x00"), (1, 0, b"\xff")]) == (0, [], False, False)
    assert differing([]) == (0, [], False, False)


def test_agreement_is_counted_for_judges_repeat_by_repeat_and_within_a_judge() -> None:
    many = {
        0: [(0, 0, b"\x01\x00"), (0, 1, b"\x01\x01"), (1, 0, b"\x01\xff"), (1, 1, b"\x00\x00")],
        1: [(0, 0, b"\x02\x02")],
    }
    assert agreement(many, {0: [1, 1], 1: [2, 2]}) == [
        {"ways": [0, 0], "both": 2, "alike": 1, "kappa": 0.0},
        {"ways": [0, 1], "both": 3, "alike": 1, "kappa": 0.0},
        {"ways": [1, 1], "both": 1, "alike": 0, "kappa": 0.0},
    ]
