"""Panels: how members' marks become one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from limner.core.marks import Mark
from limner.core.panels import PanelFacts, Rule, combined, divided


def _one(rule: Rule, *votes: int | None, weights: list[float] | None = None) -> Mark:
    given = {f"m{n}": [Mark("x", v) if v is not None else Mark.abstain("x", "")] for n, v in enumerate(votes)}
    (found,) = combined(given, rule, weights or [1.0] * len(votes), ["x"])
    return found


def test_the_majority_decides_and_the_votes_are_told() -> None:
    found = _one("majority", 1, 0, 1)
    assert (found.value, found.source, found.reason) == (1, "panel", "m0 1, m1 0, m2 1")


def test_a_tie_decides_nothing() -> None:
    found = _one("majority", 1, 0)
    assert (found.value, found.verdict, found.reason) == (None, "abstain", "m0 1, m1 0")
    assert _one("majority", 0, 1, 2).verdict == "abstain"


def test_the_median_is_the_middle_or_the_lower_of_two() -> None:
    assert _one("median", 0, 2, 1).value == 1
    assert _one("median", 0, 2).value == 0
    assert _one("median", 2, 2, 0, 0, 1).value == 1


def test_weights_decide() -> None:
    assert _one("weights", 1, 0, 0, weights=[3.0, 1.0, 1.0]).value == 1
    assert _one("weights", 1, 0, 0, weights=[1.5, 1.0, 1.0]).value == 0


def test_who_abstains_has_no_vote_and_half_must_decide() -> None:
    assert _one("majority", 1, None).value == 1
    assert _one("majority", 1, None, None).verdict == "abstain"
    assert _one("majority", None, None).reason == "m0 abstain, m1 abstain"


def test_what_one_of_three_found_beyond_the_criteria_is_dropped() -> None:
    extra, plain = [Mark("x", 1), Mark("too/much", 0)], [Mark("x", 1)]
    assert [m.criterion for m in combined({"a": extra, "b": plain, "c": plain}, "majority", [1] * 3, ["x"])] == ["x"]
    both = combined({"a": extra, "b": extra, "c": plain}, "majority", [1] * 3, ["x"])
    assert [m.criterion for m in both] == ["x", "too/much"]


def test_members_that_differ_are_counted() -> None:
    marks = [
        _one("majority", 1, 0, 1),
        _one("majority", 1, 1, 1),
        _one("majority", 1, None, None),
        _one("median", 0, 2),
    ]
    assert divided(marks) == (2, 3)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=7))
def test_whoever_all_agree_with_wins_and_the_mark_is_somebodys(votes: list[int]) -> None:
    for rule in ("majority", "median"):
        found = _one(rule, *votes)
        assert found.value in {*votes, None}
        if len(set(votes)) == 1:
            assert found.value == votes[0]
        if max(votes.count(value) for value in votes) > len(votes) / 2:
            assert found.value == max(votes, key=votes.count)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"members": ["ocr"]}, "at least 2"),
        ({"members": ["ocr", "ocr"]}, "named twice"),
        ({"members": ["ocr", "panel/x"]}, "cannot be a member of a panel"),
        ({"members": ["a/b", "c/d"], "rule": "weights"}, "weights go with"),
        ({"members": ["a/b", "c/d"], "weights": [1, 2]}, "weights go with"),
        ({"members": ["a/b", "c/d"], "rule": "weights", "weights": [1]}, "one weight above 0"),
        ({"members": ["a/b", "c/d"], "rule": "weights", "weights": "luck"}, "not 'luck'"),
        ({"members": ["a/b", "c/d"], "rule": "lottery"}, "majority"),
    ],
)
def test_what_does_not_hold_together_is_refused(body: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        PanelFacts.model_validate(body)
