"""No constant answer wins."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from limner.core.choices import balanced, constants

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


def test_the_rest_falls_on_every_letter() -> None:
    rows = [row(n, 4, "A") for n in range(5)]
    counts = Counter(one["correct_option"] for paper in range(400) for one in balanced(rows, f"paper{paper}"))
    assert max(counts.values()) < 1.15 * min(counts.values()), counts


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
