"""A study on PostgreSQL: made, answered, killed, exported and brought in as on SQLite."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

pytest.importorskip("starlette", reason="servers come with limner[web]")

from limner.core.redaction import csrf_token
from limner.serve.base import CSRF
from limner.store import Store
from limner.store.markings import load_markings, load_ratings
from limner.study.exchange import answer_rows, write_answers
from limner.study.import_answers import import_answers
from limner.study.open import open_study, places_of
from limner.study.records import load_answers, load_raters
from tests.study.made import answer, fill, make
from tests.study.page.serving import StudyServer

pytestmark = pytest.mark.slow


def test_a_study_is_made_served_killed_exported_and_brought_in(postgres: str, tmp_path: Path) -> None:
    with Store(postgres) as store:
        fill(store, "genexam", questions=4, judges=())
        made = make(store, raters=["anna", "ben"], changes={"raters": 2, "attention": 0, "repeats": 0.0})
        study = open_study(store, "pilot")
        token = made.links["anna"]
        own = {CSRF: csrf_token(token)}
        with StudyServer(postgres, tmp_path) as server, httpx2.Client(timeout=30) as client:
            link = f"{server.address}/r/{token}"
            assert client.post(f"{link}/consent", data=own).status_code == 303
            place = places_of(load_raters(store, "pilot")[0])[0]
            for n, one in enumerate(study.form(place), 1):
                click = {"id": str(n), "n": 1, "field": one.name, "value": one.values[0][0]}
                got = client.post(f"{link}/answers", json={"answers": [click]}, headers=own)
                assert [each["id"] for each in got.json()["saved"]] == [str(n)]
                if n == 3:
                    server.kill()
                    assert len(load_answers(store, "pilot")) == 3
                    server.start()
            assert client.get(f"{link}/1").status_code == 200
            server.kill()
        assert len(load_answers(store, "pilot")) == len(study.form(place))
        assert len([one for one in load_markings(store, "genexam") if one.origin == "study"]) == 1
        answer(store)
        file = tmp_path / "answers.csv"
        file.write_text(write_answers(answer_rows(study), False, "csv"), "utf-8")
        report = import_answers(store, "elsewhere", file)
        assert report.partial == 0
        found = {name: sorted((r.drawing, r.value or 0) for r in load_ratings(store, "genexam", name)) for name in
                 ("pilot", "elsewhere")}  # fmt: skip
        assert found["pilot"] == found["elsewhere"]
        assert len(found["pilot"]) == 2 * len(study.items)
