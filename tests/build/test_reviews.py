"""Reviews: each stands for a state, agreement settles, nobody overwrites anybody."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from limner.build.records import Build, add_review, load_reviews, save_build
from limner.build.reviews import Review, standing, state_id
from limner.store import Store

BODY = {"prompt": "Draw a cell.", "points": ["a"]}
BASE = state_id(BODY)


def said(reviewer: str, action: str, base: str | None = BASE, **change: object) -> Review:
    return Review("b", "i", reviewer, action, base, dict(change) or None)


def test_agreement_settles() -> None:
    found = standing(BODY, [said("a", "accept"), said("b", "accept")], 3)
    assert (found.verdict, found.body) == ("open", BODY)
    found = standing(BODY, [said("a", "accept"), said("b", "accept"), said("c", "accept")], 3)
    assert (found.verdict, found.body) == ("accepted", BODY)


def test_two_edits_of_one_state_are_both_kept_until_one_is_agreed_on() -> None:
    mine, yours = said("a", "edit", prompt="Draw two."), said("b", "edit", prompt="Draw three.")
    found = standing(BODY, [mine, yours], 2)
    assert found.verdict == "disputed"
    assert sorted(str(body["prompt"]) for body in found.states.values()) == ["Draw a cell.", "Draw three.", "Draw two."]
    joined = said("b", "accept", state_id({**BODY, "prompt": "Draw two."}))
    found = standing(BODY, [mine, yours, joined], 2)
    assert (found.verdict, found.body) == ("accepted", {**BODY, "prompt": "Draw two."})


def test_entries_are_added_behind_those_there() -> None:
    found = standing(BODY, [said("a", "add", points=["b", "c"])], 1)
    assert found.body == {"prompt": "Draw a cell.", "points": ["a", "b", "c"]}


def test_a_dispute_is_settled_and_reopened_by_who_comes_after() -> None:
    two = [said("a", "accept"), said("b", "reject")]
    assert standing(BODY, two, 2).verdict == "disputed"
    settled = [*two, said("boss", "settle", BASE, prompt="Draw one cell.")]
    found = standing(BODY, settled, 2)
    assert (found.verdict, found.body["prompt"]) == ("accepted", "Draw one cell.")
    assert standing(BODY, [*two, said("boss", "settle", None)], 2).verdict == "rejected"
    assert standing(BODY, [*settled, said("c", "reject")], 2).verdict == "disputed"


def test_comments_decide_nothing_and_stale_reviews_are_told() -> None:
    found = standing(BODY, [said("a", "comment"), said("b", "accept", "gone")], 1)
    assert (found.verdict, [one.reviewer for one in found.stale]) == ("open", ["b"])


def test_every_action_is_kept(store: Store) -> None:
    save_build(store, Build("b", "exam"))
    for action in ("accept", "edit", "accept"):
        add_review(store, said("a", action, prompt="x"))
    kept = load_reviews(store, "b")["i"]
    assert [one.action for one in kept] == ["accept", "edit", "accept"]
    assert len({one.id for one in kept}) == 3


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["accept", "edit", "reject", "settle", "comment"]),
                          st.sampled_from([BASE, None, "gone"]), st.sampled_from("xyz")), max_size=12))  # fmt: skip
def test_a_verdict_always_has_a_state(actions: list[tuple[str, str, str | None, str]]) -> None:
    found = standing(BODY, [said(who, what, base, prompt=word) for who, what, base, word in actions], 2)
    assert found.body in list(found.states.values())
    assert found.states[BASE] == BODY
