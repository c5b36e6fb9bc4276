"""Nothing that a rater can reach tells of painters, of other raters, of links, or of how drawings are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("starlette", reason="servers come with limner[web]")

from limner.core.redaction import csrf_token
from limner.serve.base import CSRF
from limner.store import Store
from limner.store.records import load_drawings, load_setups, save_drawing
from limner.study.open import open_study
from limner.study.records import load_raters
from tests.study.made import answer, fill, make
from tests.study.page.visiting import agree, crawl, send, visitor

DESIGNS = {"genexam-models": "genexam", "mmmg": "mmmg", "fepbench": "fepbench", "aibench-pairs": "aibench",
           "aibench-aesthetics": "aibench"}  # fmt: skip


def secrets_of(store: Store, exam: str, made: Any, rater: str) -> set[str]:
    """What nobody but the study's keepers may know."""
    drawings, study = list(load_drawings(store, exam)), open_study(store, "pilot")
    words = {str(word) for one in drawings for word in (one.painter, one.label, one.spec, one.id, one.image)}
    # A painter's name without its provider, and each strategy.
    words |= {one.painter.rpartition("/")[2] for one in drawings} | {"control/", "gpt-image", "gemini-3"}
    words |= {token for name, token in made.links.items() if name != rater} | {made.admin, made.join}
    words |= {one.token for one in load_raters(store, "pilot")}
    words |= {one.rater for one in load_raters(store, "pilot") if one.rater != rater}
    words |= {
        name
        for one in load_raters(store, "pilot")
        if one.rater != rater
        for p in one.body["places"]
        for name in p["names"]
    }
    words |= {body["judge"] for body in load_setups(store).values()}
    words |= {study.items[1].stratum} if study.items[1].stratum not in ("all", "") and exam != "mmmg" else set()
    words |= {"only-others-say-this", "probability", "stratum"}
    return words - {"None", "reference", ""}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_rater_cannot_reach_identifying_information(store: Store, design: str) -> None:
    exam = DESIGNS[design]
    fill(store, exam, questions=3, painters=4)
    made = make(
        store, design, raters=["anna-of-munich", "ben-of-oslo"], changes={"raters": 2, "attention": 3, "repeats": 0.2}
    )
    answer(store, only={"ben-of-oslo": 4})
    with visitor(store) as client:
        ben, token = made.links["ben-of-oslo"], made.links["anna-of-munich"]
        agree(client, ben)
        send(client, ben, {"id": "1", "n": 1, "field": "skip", "value": 1, "reason": "only-others-say-this"})
        agree(client, token)
        reached = crawl(client, token)
        sent = send(client, token, {"id": "1", "n": 1, "field": "overall", "value": 5}, {"id": "2", "n": 77777})
        more = [
            client.post(f"/r/{token}/answers", headers={CSRF: csrf_token(token)}, content=b"{"),
            client.get(f"/r/{token}/99999"),
            client.get(f"/r/{token}/image/{'0' * 24}.jpg"),
            client.get(f"/r/{token}/1/reference.jpg"),
            client.put(f"/r/{token}/1"),
        ]
    pictures = [path for path in reached if path.endswith(".jpg")]
    assert len(pictures) >= 12
    assert sum("/r/" in path and "." not in path for path in reached) > 3
    hidden = secrets_of(store, exam, made, "anna-of-munich")
    assert len(hidden) > 20
    for path, got in [*reached.items(), ("answers", sent), *((f"more {n}", one) for n, one in enumerate(more))]:
        head = "\n".join(f"{name}: {value}" for name, value in got.headers.items())
        body = got.content.decode("latin-1") if path.endswith(".jpg") else got.text
        for word in hidden:
            assert word not in path, (path, word)
            assert word not in head, (path, word)
            assert word not in body, (path, word)


def test_reference_is_unavailable_where_original_is_compared(store: Store) -> None:
    fill(store, "aibench", questions=3)
    made = make(store, "aibench-pairs", raters=["anna"])
    with visitor(store) as client:
        agree(client, made.links["anna"])
        assert client.get(f"/r/{made.links['anna']}/1/reference.jpg").status_code == 404


def test_redrawn_picture_does_not_change_what_raters_see(store: Store) -> None:
    fill(store, "genexam", questions=3)
    made = make(store, raters=["anna"], changes={"attention": 0})
    study = open_study(store, "pilot")
    path = f"/r/{made.links['anna']}/image/{load_raters(store, 'pilot')[0].body['places'][0]['names'][0]}.jpg"
    with visitor(store) as client:
        before = client.get(path).content
    drawings = list(study.drawings.values())
    for one in drawings:
        save_drawing(store, replace(one, image=next(d.image for d in drawings if d.image != one.image))).result()
    with visitor(store) as client:
        assert client.get(path).content == before


def test_order_of_painters_differs_between_raters(store: Store) -> None:
    fill(store, "genexam", questions=12, painters=4)
    make(store, "genexam-models", people=4, changes={"raters": 4, "attention": 0, "repeats": 0.0})
    study = open_study(store, "pilot")
    orders = {
        tuple(study.row(study.items[place["item"]].drawings[0]) for place in one.body["places"])
        for one in load_raters(store, "pilot")
    }
    assert len(orders) == 4
