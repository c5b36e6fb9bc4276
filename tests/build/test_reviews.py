"""Reviews: each stands for a state, agreement settles, nobody overwrites anybody."""

from __future__ import annotations

import asyncio
import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.build.engine import Spending, open_build
from limner.build.records import load_reviews, load_rows, save_rows
from limner.build.review_files import read_review, review_items, write_review
from limner.build.review_page import add_if_unchanged, describe_change
from limner.build.reviews import (
    Review,
    Reviewer,
    load_reviewers,
    read_hints,
    review_standing,
    save_reviewer,
    state_id,
    why_not_saved,
)
from limner.core.errors import DataError, UsageError
from limner.store import Store
from tests.build.review_page.conftest import store as store

BODY = {"prompt": "Draw a cell.", "points": ["a"]}
BASE = state_id(BODY)


def said(reviewer: str, action: str, base: str | None = BASE, **change: object) -> Review:
    return Review("b", "i", reviewer, action, base, dict(change) or None)


def test_concurrent_edits_are_kept_until_one_is_agreed() -> None:
    mine, yours = said("a", "edit", prompt="Draw two."), said("b", "edit", prompt="Draw three.")
    found = review_standing(BODY, [mine, yours], 2)
    assert found.verdict == "disputed"
    assert sorted(str(body["prompt"]) for body in found.states.values()) == ["Draw a cell.", "Draw three.", "Draw two."]
    joined = said("b", "accept", state_id({**BODY, "prompt": "Draw two."}))
    found = review_standing(BODY, [mine, yours, joined], 2)
    assert (found.verdict, found.body) == ("accepted", {**BODY, "prompt": "Draw two."})


def test_added_entries_are_appended() -> None:
    found = review_standing(BODY, [said("a", "add", points=["b", "c"])], 1)
    assert found.body == {"prompt": "Draw a cell.", "points": ["a", "b", "c"]}


def test_dispute_is_settled_and_reopened_by_later_review() -> None:
    two = [said("a", "accept"), said("b", "reject")]
    assert review_standing(BODY, two, 2).verdict == "disputed"
    settled = [*two, said("boss", "settle", BASE, prompt="Draw one cell.")]
    found = review_standing(BODY, settled, 2)
    assert (found.verdict, found.body["prompt"]) == ("accepted", "Draw one cell.")
    assert review_standing(BODY, [*two, said("boss", "settle", None)], 2).verdict == "rejected"
    assert review_standing(BODY, [*settled, said("c", "reject")], 2).verdict == "disputed"


def test_comments_and_reviews_of_unknown_states_are_no_votes() -> None:
    found = review_standing(BODY, [said("a", "comment"), said("b", "accept", "gone")], 1)
    assert (found.verdict, found.votes) == ("open", {})


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["accept", "edit", "reject", "settle", "comment"]),
                          st.sampled_from([BASE, None, "gone"]), st.sampled_from("xyz")), max_size=12))  # fmt: skip
def test_verdict_always_has_known_state(actions: list[tuple[str, str, str | None, str]]) -> None:
    found = review_standing(BODY, [said(who, what, base, prompt=word) for who, what, base, word in actions], 2)
    assert found.body in list(found.states.values())
    assert found.states[BASE] == BODY


ONE, TWO = "CVPR_2025/paper1", "CVPR_2025/paper2"


def filled(file: Path, **cells: str) -> None:
    """The first row of a table, filled in."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    rows[0] |= cells
    with file.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


def test_review_table_round_trips(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    assert write_review(open_build(store, "mine"), file, "dora") == 2
    with file.open(encoding="utf-8-sig", newline="") as stream:
        state = json.loads(next(csv.DictReader(stream))["state"])
    state["checklist"][0]["question"] = "Is it there at last?"
    filled(file, action="edit", change=json.dumps(state), comment="clearer")
    assert read_review(open_build(store, "mine"), file, "dora") == 1
    filled(file, action="accept", change="")
    (kept,) = load_reviews(store, "mine")[ONE]
    assert (kept.reviewer, kept.action, kept.comment) == ("dora", "edit", "clearer")
    again = tmp_path / "again.csv"
    assert write_review(open_build(store, "mine"), again, "dora") == 1, "what was judged is not written again"
    lines = tmp_path / "emil.jsonl"
    assert write_review(open_build(store, "mine"), lines, "emil") == 2
    row = json.loads(lines.read_text("utf-8").splitlines()[0])
    accepted = {**row, "action": "accept", "base": row["others"][0]["base"]}
    lines.write_text(json.dumps(accepted) + "\n", "utf-8")
    assert read_review(open_build(store, "mine"), lines, "emil") == 1
    open_build(store, "mine").run(Spending())
    _, items = open_build(store, "mine").look()
    assert items[ONE].body["checklist"][0]["question"] == "Is it there at last?"
    assert items[ONE].body["reviewers"] == ["dora", "emil"]


@pytest.mark.parametrize(
    ("cells", "message"),
    [({"action": "burn"}, "action is one of"), ({"action": "edit"}, "change says nothing"),
     ({"action": "edit", "change": "{"}, "change is not valid JSON"),
     ({"action": "accept", "item": ""}, "item is empty"),
     ({"action": "accept", "item": "CVPR_2025/nowhere"}, "the review has no such item"),
     ({"action": "accept", "base": ""}, "base is no version of this item"),
     ({"action": "accept", "base": "0" * 64}, "base is no version of this item"),
     ({"action": "edit", "change": '{"checklist": "none"}'}, "checklist must be a list, not a text"),
     ({"action": "edit", "change": '{"checklist": [{"question": 5}]}'}, "checklist"),
     ({"action": "add", "change": '{"checklist": 5}'}, "change must have lists")],
)  # fmt: skip
def test_errors_in_table_are_reported(store: Store, tmp_path: Path, cells: dict[str, str], message: str) -> None:
    file = tmp_path / "mine.csv"
    write_review(open_build(store, "mine"), file, "dora")
    filled(file, **cells)
    with pytest.raises(DataError, match=message):
        read_review(open_build(store, "mine"), file, "dora")
    assert load_reviews(store, "mine") == {}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_review_of_a_state_that_has_changed_since_is_kept(store: Store, tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"mine.{suffix}"
    write_review(open_build(store, "mine"), file, "dora")
    if suffix == "csv":
        filled(file, action="accept")
    else:
        row = json.loads(file.read_text("utf-8").splitlines()[0])
        file.write_text(json.dumps({**row, "action": "accept"}) + "\n", "utf-8")
    made = load_rows(store, "mine", "made")[ONE]
    assert made.body is not None
    old = made.body["checklist"]
    save_rows(store, [replace(made, body={**made.body, "checklist": old[:2]})]).result()
    assert read_review(open_build(store, "mine"), file, "dora") == 1
    found = review_items(open_build(store, "mine"))[ONE].standing
    assert (len(found.votes), found.states[found.votes["dora"]]["checklist"]) == (1, old)
    assert found.changed == ("checklist",)


def test_table_with_missing_columns_is_reported(store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="no column item, action, base"):
        read_review(open_build(store, "mine"), tmp_path / "x.csv", "dora")


def test_review_file_has_pictures_beside_it(store: Store, tmp_path: Path) -> None:
    write_review(open_build(store, "mine"), tmp_path / "mine.jsonl", "dora")
    rows = [json.loads(line) for line in (tmp_path / "mine.jsonl").read_text("utf-8").splitlines()]
    assert {row["picture"].partition("/")[0] for row in rows} == {"mine-pictures"}
    assert (tmp_path / rows[0]["picture"]).read_bytes().startswith(b"\x89PNG")
    assert rows[0]["warnings"] == []


def test_change_by_an_earlier_step_does_not_undo_reviews() -> None:
    """What people judged counts until they choose the new state."""
    new = {**BODY, "prompt": "Draw a nerve cell."}
    kept = [replace(said(who, "accept"), state=BODY) for who in "ab"]
    found = review_standing(new, kept, 2)
    assert (found.verdict, found.body, found.changed) == ("accepted", BODY, ("prompt",))
    edited = [replace(said(who, "edit", points=["b"]), state=BODY) for who in "ab"]
    assert review_standing(new, edited, 2).body == {**BODY, "points": ["b"]}
    again = [*kept, *(said(who, "accept", state_id(new)) for who in "ab")]
    found = review_standing(new, again, 2)
    assert (found.verdict, found.body, found.changed) == ("accepted", new, ())


def test_reviewers_are_stored_and_listed(store: Store) -> None:
    save_reviewer(store, "mine", Reviewer("dora", "hash"))
    save_reviewer(store, "mine", Reviewer("anna", "newer"))
    found = load_reviewers(store, "mine")
    assert list(found) == ["anna", "ben", "carla", "dora"]
    assert found["anna"].token == "newer"
    assert found["carla"].settles
    with pytest.raises(UsageError, match="is not a valid name"):
        save_reviewer(store, "mine", Reviewer("../x", "hash"))


def test_additions_are_distinguished_from_edits() -> None:
    old = {"a": [1, 2], "b": "x"}
    assert describe_change(old, {"a": [1, 2, 3], "b": "x"}) == ("add", {"a": [3]})
    assert describe_change(old, {"a": [1, 2, 3], "b": "y"}) == ("edit", {"a": [1, 2, 3], "b": "y"})
    assert describe_change(old, {"a": [2], "b": "x"}) == ("edit", {"a": [2]})
    assert describe_change(old, old) == ("edit", {})


def test_changed_data_shapes_are_reported() -> None:
    old = {"a": [{"n": 1}], "b": {"c": "x", "d": 1.5}, "e": True, "f": None}
    assert why_not_saved(old, old) is None
    assert why_not_saved(old, {**old, "b": {"c": "y", "d": 2}, "f": "now a text"}) is None
    assert why_not_saved(old, {**old, "b": {"c": "y"}}) == "b.d is missing"
    assert why_not_saved(old, {**old, "e": 1}) == "e must be true or false, not a number"
    assert why_not_saved(old, {**old, "b": {"c": 5, "d": 2}}) == "b.c must be a text, not a number"
    assert why_not_saved(old, {**old, "a": [{"n": 1}, 5]}) == "a.2 must be an object"


def test_recipe_hints_are_readable(tmp_path: Path) -> None:
    from limner import exams

    for kind in exams.each():
        if kind.recipe is not None:
            assert read_hints(kind.recipe).guide
    assert read_hints(tmp_path).pictures == ("image",)


def test_one_of_concurrent_reviews_by_one_reviewer_is_kept(store: Store) -> None:
    async def all_at_once() -> list[Review | None]:
        reviews = [Review("mine", ONE, "anna", "accept", f"state{n}") for n in range(20)]
        return await asyncio.gather(*(add_if_unchanged(store, one, None, alone=True) for one in reviews))

    found = asyncio.run(all_at_once())
    assert sum(one is not None for one in found) == 1
    assert len(load_reviews(store, "mine")[ONE]) == 1


def test_concurrent_reviews_of_different_reviewers_are_kept(store: Store) -> None:
    async def both() -> list[Review | None]:
        reviews = [Review("mine", ONE, who, "reject") for who in ("anna", "ben")]
        return await asyncio.gather(*(add_if_unchanged(store, one, None, alone=True) for one in reviews))

    assert None not in asyncio.run(both())
    assert {one.reviewer for one in load_reviews(store, "mine")[ONE]} == {"anna", "ben"}
