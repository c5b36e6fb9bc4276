"""The page of a review: whose link, what is shown when, what is kept, and that nobody overwrites anybody."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from limner.build.engine import Spending, open_build
from limner.build.records import load_reviews
from limner.build.review_page import ReviewDesk
from limner.store import Store
from tests.build.review_page.conftest import Visitor
from tests.build.review_page.desk import TOKENS, question

ONE = "CVPR_2025/paper1"


def edited(page: dict[str, Any], words: str) -> dict[str, Any]:
    first, *rest = page["state"]["checklist"]
    return {"checklist": [{**first, "question": words}, *rest]}


def outcome(store: Store) -> tuple[dict[str, Any], list[Any]]:
    """What the build has after its review, and the counts."""
    open_build(store, "mine").run(Spending())
    counts, items = open_build(store, "mine").look()
    return {id: item.body["checklist"] for id, item in items.items()}, counts


def test_unknown_link_is_not_found(client: TestClient, store: Store) -> None:
    for path in ("", f"item/{ONE}", f"data/{ONE}", f"picture/{'0' * 64}/{ONE}"):
        answer = client.get(f"/r/{TOKENS['anna'][:-1]}/{path}")
        assert answer.status_code == 404
        assert "paper1" not in answer.text
    assert client.get("/").status_code == 404


def test_tokens_are_stored_as_hashes_only(store: Store) -> None:
    with store.reading() as connection:
        dump = "\n".join(connection.connection.dbapi_connection.iterdump())  # type: ignore[union-attr]
    assert not any(token in dump for token in TOKENS.values())


def test_item_list_shows_counts_and_has_csp_header(anna: Visitor) -> None:
    page = anna.get("")
    assert page.status_code == 200
    assert "<strong>2</strong> of 2 are waiting for you. 2 reviewers must agree" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]


def test_item_list_shows_thumbnails_titles_and_warnings(anna: Visitor, store: Store) -> None:
    text = anna.get("").text
    assert text.count('class="thumb"') == 2
    assert [text.count(f">{id}</a>") for id in ("CVPR_2025/paper1", "CVPR_2025/paper2", "Method")] == [1, 1, 0]
    assert "<p>the arrow is cut off</p><p>denied on the picture: Is Part 2 there?</p>" in text
    assert anna.data("CVPR_2025/paper2")["warnings"] == [
        "the arrow is cut off", "denied on the picture: Is Part 2 there?"
    ]  # fmt: skip


def test_changes_require_csrf_token(client: TestClient, anna: Visitor, store: Store) -> None:
    page = anna.data(ONE)
    body = {"action": "accept", "base": page["base"], "seen": None}
    assert client.post(f"/r/{anna.token}/act/{ONE}", json=body).status_code == 403
    assert load_reviews(store, "mine") == {}


def test_item_is_accepted_when_two_reviewers_agree(anna: Visitor, ben: Visitor, store: Store) -> None:
    for visitor in (anna, ben):
        assert visitor.act(ONE, "accept", visitor.data(ONE)).status_code == 200
    assert anna.data(ONE)["verdict"] == "accepted"
    done, counts = outcome(store)
    assert done.keys() == {ONE}
    assert counts[-1].waiting == 1
    assert [(one.reviewer, one.action) for one in load_reviews(store, "mine")[ONE]] == [
        ("anna", "accept"), ("ben", "accept")
    ]  # fmt: skip


def test_reviewers_see_other_reviews_only_after_their_own(anna: Visitor, ben: Visitor) -> None:
    page = anna.data(ONE)
    assert (
        anna.act(ONE, "save", page, state=edited(page, "Is Part 1 there at all?"), comment="secret").status_code == 200
    )
    before = ben.data(ONE)
    assert (before["others"], before["history"], before["verdict"]) == ([], [], "open")
    assert "Part 1 there at all" not in str(before)
    ben.act(ONE, "accept", before)
    after = ben.data(ONE)
    assert after["verdict"] == "disputed"
    assert [other["by"] for other in after["others"]] == [["anna"]]
    assert {one["who"] for one in after["history"]} == {"anna", "ben"}
    assert after["history"][0]["comment"] == "secret"


def test_two_edits_are_kept_as_two_versions(anna: Visitor, ben: Visitor, carla: Visitor, store: Store) -> None:
    first, second = anna.data(ONE), ben.data(ONE)
    assert anna.act(ONE, "save", first, state=edited(first, "Anna's question?!")).status_code == 200
    assert ben.act(ONE, "save", second, state=edited(second, "Ben's question?!!")).status_code == 200
    page = carla.data(ONE)
    assert page["verdict"] == "disputed"
    versions = {other["by"][0]: other for other in page["others"]}
    assert versions.keys() == {"anna", "ben"}
    assert carla.act(ONE, "settle", page, base=versions["ben"]["base"], comment="Ben's is clearer").status_code == 200
    done, _ = outcome(store)
    assert done[ONE][0]["question"] == "Ben's question?!!"
    kept = load_reviews(store, "mine")[ONE]
    assert [(one.reviewer, one.action) for one in kept] == [("anna", "edit"), ("ben", "edit"), ("carla", "settle")]
    assert all(one.created > 0 for one in kept)


def test_reviewer_can_accept_version_of_another(anna: Visitor, ben: Visitor, store: Store) -> None:
    page = anna.data(ONE)
    anna.act(ONE, "save", page, state=edited(page, "Anna's question?!"))
    ben.act(ONE, "accept", ben.data(ONE))
    now = ben.data(ONE)
    theirs = next(other for other in now["others"] if other["by"] == ["anna"])
    assert ben.act(ONE, "accept", now, base=theirs["base"]).status_code == 200
    done, _ = outcome(store)
    assert done[ONE][0]["question"] == "Anna's question?!"


def test_questions_are_added(anna: Visitor, ben: Visitor, store: Store) -> None:
    page = anna.data(ONE)
    more = {
        "checklist": [*page["state"]["checklist"], question(4, "Level 2: Local Topology", "What comes next to it?")]
    }
    assert anna.act(ONE, "save", page, state=more).status_code == 200
    (kept,) = load_reviews(store, "mine")[ONE]
    assert (kept.action, len((kept.body or {})["checklist"])) == ("add", 1)
    ben.act(ONE, "accept", ben.data(ONE))
    now = ben.data(ONE)
    ben.act(ONE, "accept", now, base=now["others"][0]["base"])
    done, _ = outcome(store)
    assert [row["id"] for row in done[ONE]] == [1, 2, 3, 4]


def test_a_rejection_needs_agreement(anna: Visitor, ben: Visitor, store: Store) -> None:
    anna.act(ONE, "reject", anna.data(ONE), comment="the figure is wrong")
    done, counts = outcome(store)
    assert done == {}
    assert counts[-1].waiting == 2
    ben.act(ONE, "reject", ben.data(ONE))
    _, counts = outcome(store)
    assert counts[-1].dropped == {"rejected in review": 1}


def test_stale_page_is_reported_and_overwrites_nothing(anna: Visitor, store: Store) -> None:
    old = anna.data(ONE)
    assert anna.act(ONE, "reject", old).status_code == 200
    # The same reviewer in another window, opened before.
    answer = anna.act(ONE, "accept", old)
    assert answer.status_code == 409
    assert "Nothing was overwritten" in answer.json()["error"]
    assert answer.json()["now"]["mine"] == "rejected"
    assert [one.action for one in load_reviews(store, "mine")[ONE]] == ["reject"]


def test_adjudicator_must_reload_after_new_review(anna: Visitor, ben: Visitor, carla: Visitor) -> None:
    anna.act(ONE, "accept", anna.data(ONE))
    page = carla.data(ONE)
    ben.act(ONE, "reject", ben.data(ONE))
    assert carla.act(ONE, "settle", page).status_code == 409
    assert carla.act(ONE, "settle", carla.data(ONE)).status_code == 200


def test_only_adjudicators_can_settle(anna: Visitor, store: Store) -> None:
    assert anna.act(ONE, "settle", anna.data(ONE)).status_code == 403
    assert load_reviews(store, "mine") == {}


def test_state_invalid_for_exam_is_refused_on_save(anna: Visitor, store: Store) -> None:
    page = anna.data(ONE)
    rows = page["state"]["checklist"]
    for broken, message in (
        ({"checklist": [{**rows[0], "correct_option": "C"}, *rows[1:]]}, "not one of the options"),
        ({"checklist": [*rows, rows[0]]}, "have the id"),
        ({"checklist": [*rows, "and one more"]}, "must be an object"),
        ({"checklist": "all of them"}, "must be a list"),
        ({}, "is missing"),
    ):
        answer = anna.act(ONE, "save", page, state=broken)
        assert answer.status_code == 422, broken
        assert message in answer.json()["error"]
    assert load_reviews(store, "mine") == {}


def test_comments_do_not_affect_verdict(anna: Visitor, store: Store) -> None:
    assert anna.act(ONE, "comment", anna.data(ONE), comment="look at this again").status_code == 200
    assert anna.act(ONE, "comment", anna.data(ONE), comment="  ").status_code == 422
    assert anna.data(ONE)["mine"] is None
    assert [one.comment for one in load_reviews(store, "mine")[ONE]] == ["look at this again"]


def test_pictures_are_served_for_their_item_only(anna: Visitor, store: Store) -> None:
    sha256 = anna.data(ONE)["pictures"][0]
    answer = anna.get(f"picture/{sha256}/{ONE}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    other = store.blobs.put(answer.content[:-1] + answer.content[-1:])[0]
    assert other == sha256
    assert anna.get(f"picture/{'0' * 64}/{ONE}").status_code == 404
    assert anna.get("picture/../../etc/passwd").status_code == 404


def test_svg_drawings_are_sanitised(anna: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = anna.get(f"drawing/graph_svg/{ONE}")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    assert "Gauge Encoder" in answer.text
    assert anna.get(f"drawing/method/{ONE}").status_code == 404
    bad = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>'
    monkeypatch.setattr(ReviewDesk, "drawing", lambda *_: bad)
    assert "alert" not in anna.get(f"drawing/graph_svg/{ONE}").text


def test_invalid_actions_are_refused(client: TestClient, anna: Visitor, store: Store) -> None:
    page = anna.data(ONE)
    for action, more, status in (
        ("burn", {}, 403), ("accept", {"base": None}, 400), ("accept", {"comment": ["x"]}, 400),
        ("save", {"state": [1]}, 400), ("accept", {"comment": "x" * 20_000}, 400), ("accept", {"seen": 5}, 400),
    ):  # fmt: skip
        assert anna.act(ONE, action, page, **more).status_code == status, (action, more)
    assert anna.act("no/such", "accept", page).status_code == 404
    assert load_reviews(store, "mine") == {}
