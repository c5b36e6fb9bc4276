"""None"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner import exams
from limner.core.choices import balanced, constants
from limner.core.exam import Selection, shares, stratified
from limner.running.setup import load_exam_or_data

SIZES = st.dictionaries(st.text(max_size=4), st.integers(0, 60), max_size=9)
Item = tuple[int, str, str]
ITEMS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), max_size=60).map(
    lambda pairs: [(n, *pair) for n, pair in enumerate(pairs)]
)


def pick(items: list[Item], n: int, seed: int = 0) -> list[Item]:
    return stratified(items, n, seed, [lambda one: one[1], lambda one: one[2]], lambda one: str(one[0]))


@given(SIZES, st.integers(0, 400))
def test_shares_are_whole_numbers_next_to_the_exact_ones(sizes: dict[str, int], n: int) -> None:
    found, whole = shares(sizes, n), sum(sizes.values())
    assert sum(found.values()) == min(n, whole)
    for name, size in sizes.items():
        assert 0 <= found[name] <= size
        if whole:
            assert abs(found[name] - Fraction(size * min(n, whole), whole)) < 1


@given(ITEMS, st.integers(0, 80), st.integers(), st.randoms())
def test_a_sample_is_as_large_as_asked_for_and_does_not_hang_on_the_order(
    items: list[Item], n: int, seed: int, chance: object
) -> None:
    found = pick(items, n, seed)
    assert len(found) == min(n, len(items))
    assert found == sorted(set(found))  # In the order of the exam, none twice.
    mixed = list(items)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert sorted(pick(mixed, n, seed)) == found


@given(ITEMS, st.integers(0, 80), st.integers())
def test_groups_and_the_groups_within_them_keep_their_shares(items: list[Item], n: int, seed: int) -> None:
    found = pick(items, n, seed)
    taken = Counter(one[1] for one in found)
    assert +taken == +Counter(shares(Counter(one[1] for one in items), n))
    for outer, room in taken.items():
        inner = Counter(one[2] for one in found if one[1] == outer)
        assert +inner == +Counter(shares(Counter(one[2] for one in items if one[1] == outer), room))


@pytest.mark.parametrize("sample", ["genexam", "mmmg", "worldgenbench", "fepbench", "aibench"])
def test_every_exam_says_what_it_is_spread_over(sample: str) -> None:
    named, whole = load_exam_or_data(f"sample/{sample}", None, "nowhere")
    breakdowns = exams.kind(named.kind).protocol.breakdowns
    assert breakdowns
    assert len(whole.select(Selection(sample=3), breakdowns).questions) == 3


LETTERS = "ABCD"


def row(id: int, size: int, right: str) -> dict[str, Any]:
    return {
        "id": id,
        "options": {letter: f"{letter.lower()}{id}" for letter in LETTERS[:size]},
        "correct_option": right,
    }


ROWS = st.lists(st.integers(2, 4).flatmap(lambda size: st.tuples(st.just(size), st.sampled_from(LETTERS[:size]))),
                max_size=30).map(lambda found: [row(n, *one) for n, one in enumerate(found)])  # fmt: skip


@given(ROWS, st.text(max_size=5))
def test_letters_are_even_and_answers_stay(rows: list[dict[str, Any]], key: str) -> None:
    done = balanced(rows, key)
    for before, after in zip(rows, done, strict=True):
        assert after["options"][after["correct_option"]] == before["options"][before["correct_option"]]
        assert sorted(after["options"].values()) == sorted(before["options"].values())
        assert list(after["options"]) == sorted(after["options"])
    for size in (2, 3, 4):
        counts = Counter(one["correct_option"] for one in done if len(one["options"]) == size)
        if counts:
            assert max(counts.values()) - min(counts[letter] for letter in LETTERS[:size]) <= 1
    assert balanced(done, key) == done, "what is even stays"
    assert balanced(rows, key) == done


def test_constants_are_measured() -> None:
    rows = [
        {"id": 1, "options": {"A": "Yes", "B": "No"}, "correct_option": "A"},
        {"id": 2, "options": {"A": "Yes", "B": "No"}, "correct_option": "A"},
        {"id": 3, "options": {"A": "No", "B": "Yes, it is"}, "correct_option": "A"},
        {"id": 4, "options": {"A": "a", "B": "b", "C": "c", "D": "the longest"}, "correct_option": "D"},
    ]
    found = constants(rows)
    assert found["A of 2"] == {"right": 1.0, "n": 3, "chance": 0.5}
    assert found["D of 4"] == {"right": 1.0, "n": 1, "chance": 0.25}
    assert found["yes"]["right"] == 2 / 3
    assert found["no"]["right"] == 1 / 3
    assert found["longest"]["right"] == 3 / 4
