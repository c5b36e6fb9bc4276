"""The study's page: consent, answers, resuming, the panel, the admin page."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest

pytest.importorskip("starlette", reason="servers come with limner[web]")

from PIL import Image

from limner.core.errors import UsageError
from limner.core.redaction import csrf_token, new_token
from limner.serve.base import CSRF, WebLimits
from limner.store import Store
from limner.store.markings import load_ratings
from limner.study.new import new_link
from limner.study.open import SIZE_STEP, open_study, places_of
from limner.study.page import _parse_click, study_app
from limner.study.records import load_answers, load_rater, load_raters, load_study
from tests.study.made import answer, fill, make
from tests.study.page.visiting import agree, crawl, first_link, send, visitor


@pytest.fixture
def pilot(store: Store) -> Any:
    fill(store, "genexam", questions=5)
    return make(store, raters=["anna", "ben"], changes={"repeats": 0.2, "attention": 3, "raters": 2})


def test_consent_is_required_first_and_stored(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        page = client.get(f"/r/{token}")
        assert "I agree" in page.text
        assert client.get(f"/r/{token}/1").url.path == f"/r/{token}"
        assert send(client, token, {"id": "1", "n": 1, "field": "overall", "value": 5}).status_code == 409
        agree(client, token)
        assert client.get(f"/r/{token}").url.path == f"/r/{token}/1"
    assert load_rater(store, "pilot", "anna").body["consent"] > 0
    assert "consent" not in load_rater(store, "pilot", "ben").body


def test_answer_is_stored_before_it_is_acknowledged(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        agree(client, token)
        n = next(n for n, p in enumerate(places_of(load_raters(store, "pilot")[0]), 1) if p.check is None)
        sent = {"id": "a", "n": n, "field": "overall", "value": 8, "seconds": 2.5}
        for _ in range(2):  # Sent again, it is one answer.
            got = send(client, token, sent)
            assert got.json() == {"saved": [{"id": "a", "n": n, "done": False}], "refused": []}
            assert [(one.field, one.value, one.seconds) for one in load_answers(store, "pilot")] == [
                ("overall", 8, 2.5)
            ]
        assert [one.value for one in load_ratings(store, "genexam", "pilot")] == [8.0]
        assert re.search(r'value="8"[^>]* checked', client.get(f"/r/{token}/{n}").text)


def test_second_device_resumes_where_first_stopped(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    answer(store, only={"anna": 2})
    with visitor(store) as client:
        agree(client, token)
        got = client.get(f"/r/{token}")
        assert got.url.path == f"/r/{token}/3"
        assert 'data-done="2"' in got.text


def test_last_page_links_back_to_panel(store: Store) -> None:
    fill(store, "genexam", questions=4)
    made = make(store, raters=["anna"], completion="https://panel.example/done?cc=ABC")
    _, token = first_link(made)
    with visitor(store) as client:
        agree(client, token)
        assert "https://panel.example" not in client.get(f"/r/{token}/end").text
        answer(store)
        assert "https://panel.example/done?cc=ABC" in client.get(f"/r/{token}").text


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b'{"answers": 1}',
        b"[" * 100_000,
        b"\xff",
        json.dumps({"answers": [{"n": 1, "field": "overall", "value": 99}]}).encode(),
        json.dumps({"answers": [{"n": 999, "field": "overall", "value": 5}]}).encode(),
        json.dumps({"answers": [{"n": 1, "field": "nothing", "value": 5, "at": "x", "seconds": []}]}).encode(),
        b'{"answers": [{"n": 1, "field": "overall", "value": 5, "at": NaN, "seconds": Infinity}' + b"]" * 3,
    ],
)
def test_malformed_answers_are_rejected_and_not_stored(store: Store, pilot: Any, bad: bytes) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        agree(client, token)
        got = client.post(f"/r/{token}/answers", content=bad, headers={CSRF: csrf_token(token)})
        assert got.status_code in (200, 400)
        if got.status_code == 200:
            assert got.json()["saved"] == []
    assert load_answers(store, "pilot") == []


def test_refused_answer_does_not_block_others(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    place = next(n for n, p in enumerate(places_of(load_raters(store, "pilot")[0]), 1) if p.check is None)
    with visitor(store) as client:
        agree(client, token)
        got = send(
            client,
            token,
            {"id": "bad", "n": place, "field": "overall", "value": 0},
            {"id": "good", "n": place, "field": "overall", "value": 9},
        ).json()
    assert [one["id"] for one in got["saved"]] == ["good"]
    assert [one["id"] for one in got["refused"]] == ["bad"]
    assert [one.value for one in load_answers(store, "pilot")] == [9]


def test_unknown_links_are_not_found_and_rate_limited(store: Store, pilot: Any) -> None:
    with visitor(store, limits=WebLimits(wrong=20)) as client:
        for path in ("/r/x", f"/r/{new_token()}", f"/admin/{new_token()}", f"/join/{new_token()}", "/", "/r/", "/api"):
            assert client.get(path).status_code == 404
        seen = [client.get(f"/r/{new_token()}").status_code for _ in range(40)]
        # A rater behind the same address is not locked out.
        assert client.get(f"/r/{first_link(pilot)[1]}").status_code == 200
    assert seen[-1] == 429


def test_rater_link_and_admin_link_are_not_interchangeable(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        for word in (token, pilot.join):
            assert client.get(f"/admin/{word}").status_code == 404
            assert client.post(f"/admin/{word}/close", headers={CSRF: csrf_token(word)}).status_code == 404
        for word in (pilot.admin, pilot.join):
            assert client.get(f"/r/{word}").status_code == 404
    assert load_study(store, "pilot").status == "open"


def test_picture_name_is_valid_for_its_rater_only(store: Store, pilot: Any) -> None:
    anna, ben = load_raters(store, "pilot")
    name = next(place for place in places_of(anna) if place.names).names[0]
    with visitor(store) as client:
        assert client.get(f"/r/{pilot.links['anna']}/image/{name}.jpg").status_code == 200
        assert client.get(f"/r/{pilot.links['ben']}/image/{name}.jpg").status_code == 404
    assert {n for p in places_of(anna) for n in p.names}.isdisjoint(n for p in places_of(ben) for n in p.names)


def test_pictures_share_headers_format_and_size(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        agree(client, token)
        got = [found for path, found in crawl(client, token).items() if path.endswith(".jpg")]
    assert len(got) > 5
    heads = {tuple(sorted((k, v) for k, v in one.headers.items() if k != "content-length")) for one in got}
    assert len(heads) == 1
    for one in got:
        assert len(one.content) % SIZE_STEP == 0
        with Image.open(io.BytesIO(one.content)) as image:
            assert (image.format, image.size, image.mode) == ("JPEG", (1536, 1536), "RGB")
            assert not image.getexif()
            assert image.info.keys() <= {"jfif", "jfif_version", "jfif_unit", "jfif_density", "comment"}


def test_panel_visitors_get_one_place_each_and_can_return(store: Store) -> None:
    fill(store, "genexam", questions=5)
    study = make(store, people=2, changes={"raters": 2})

    def come(client: Any, who: str) -> Any:
        return client.get(f"/join/{study.join}", params={"PROLIFIC_PID": who, "STUDY_ID": "s", "SESSION_ID": "t"})

    with visitor(store) as client, visitor(store) as second:
        assert client.get(f"/join/{study.join}").status_code == 400
        one, other = come(client, "p1"), come(second, "p2")
        assert one.url.path != other.url.path
        assert {"I agree" in one.text, "I agree" in other.text} == {True}
        assert come(client, "p3").status_code == 409
        agree(client, one.url.path.split("/")[2])
        again = come(client, "p1")
        assert again.url.path.endswith("/1")
        # The page that is open elsewhere can still send what it has.
        assert client.get(one.url.path).status_code == 200
        # Who only knows the id of another visitor does not get the place.
        assert come(second, "p1").status_code == 403
    found = {one.body["panel"]["PROLIFIC_PID"]: one for one in load_raters(store, "pilot")}
    assert found.keys() == {"p1", "p2"}
    assert found["p1"].body["panel"] == {"PROLIFIC_PID": "p1", "STUDY_ID": "s", "SESSION_ID": "t"}
    for token in study.links.values():
        assert token not in str(found)


def test_panel_link_gives_no_place_of_a_named_rater(store: Store, pilot: Any) -> None:
    with visitor(store) as client:
        assert client.get(f"/join/{pilot.join}", params={"PROLIFIC_PID": "p1"}).status_code == 409


def test_new_link_replaces_old_one(store: Store, pilot: Any) -> None:
    fresh = new_link(store, "pilot", "anna")
    with visitor(store) as client:
        assert client.get(f"/r/{pilot.links['anna']}").status_code == 404
        assert client.get(f"/r/{fresh}").status_code == 200


def test_only_hashes_of_links_are_stored(store: Store, pilot: Any) -> None:
    store.close()
    assert store.file is not None
    everything = b"".join(file.read_bytes() for file in store.file.parent.glob("limner.db*"))
    for token in (*pilot.links.values(), pilot.admin, pilot.join):
        assert token.encode() not in everything


def test_admin_sees_progress_and_agreement_and_closes_study(store: Store, pilot: Any) -> None:
    answer(store)
    with visitor(store) as client:
        page = client.get(f"/admin/{pilot.admin}")
        assert "anna" in page.text
        assert "Krippendorff" in page.text
        assert "overall" in page.text
        _, token = first_link(pilot)
        agree(client, token)
        assert client.post(f"/admin/{pilot.admin}/close").status_code == 403
        own = {CSRF: csrf_token(pilot.admin)}
        assert "Open it again" in client.post(f"/admin/{pilot.admin}/close", data=own).text
        assert "This study is closed" in client.get(f"/r/{token}").text
        assert send(client, token, {"id": "1", "n": 1, "field": "overall", "value": 5}).status_code == 409
        client.post(f"/admin/{pilot.admin}/open", data=own)
        assert load_study(store, "pilot").status == "open"
        assert client.post(f"/admin/{pilot.admin}/other", data=own).status_code == 404


@pytest.mark.parametrize("design", ["mmmg", "fepbench", "aibench-pairs", "aibench-aesthetics"])
def test_every_design_renders_its_page(store: Store, design: str) -> None:
    exam = "aibench" if design.startswith("aibench") else design
    fill(store, exam, questions=3)
    _, token = first_link(make(store, design, changes={"attention": 0}))
    with visitor(store) as client:
        agree(client, token)
        page = client.get(f"/r/{token}/1")
        assert page.status_code == 200
        study = open_study(store, "pilot")
        place = places_of(load_raters(store, "pilot")[0])[0]
        for one in study.form(place):
            assert f'data-field="{one.name}"' in page.text
        assert ("<svg" in page.text) == (design == "mmmg")
        assert page.text.count("/image/") == 2 * len(place.order)


def test_imported_study_has_no_page(store: Store, tmp_path: Any) -> None:
    from limner.study.exchange import answer_rows, write_answers
    from limner.study.import_answers import import_answers

    fill(store, "genexam", questions=3)
    make(store, changes={"attention": 0})
    (tmp_path / "a.csv").write_text(write_answers(answer_rows(answer(store)), False, "csv"), "utf-8")
    import_answers(store, "elsewhere", tmp_path / "a.csv")
    with pytest.raises(UsageError, match="no page to serve"):
        study_app(store, "elsewhere")


def test_page_needs_no_inline_script_or_style(store: Store, pilot: Any) -> None:
    _, token = first_link(pilot)
    with visitor(store) as client:
        agree(client, token)
        for path, got in crawl(client, token).items():
            if got.headers["content-type"].startswith("text/html"):
                assert not re.search(r"<script(?![^>]*src=)|<style| style=| on\w+=", got.text), path


@pytest.mark.parametrize(
    ("seconds", "kept"), [(2.5, 2.5), (-1, 0.0), (10**400, 1e10), (float("inf"), None), (True, None)]
)
def test_time_of_answer_is_bounded(seconds: float, kept: float | None) -> None:
    assert _parse_click({"n": 1, "field": "a", "value": 1, "seconds": seconds})[1].seconds == kept
