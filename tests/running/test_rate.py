"""`limner rate`: a model's numbers and choices, asked once each, priced, resumed, in both orders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from limner.scoring.preferences import preferences
from limner.store import Store
from limner.store.markings import load_comparisons, load_ratings
from limner.store.records import evaluator_kinds, load_drawings, load_setups
from limner.store.schema import attempts
from tests.cli.invoke import limner
from tests.fakes.json_server import json_server
from tests.support import picture, write_exam

MODEL = "fake/judge"
Seen = list[tuple[str, dict[str, Any], str | None]]


def pictures_of(body: dict[str, Any]) -> list[str]:
    """What stands for each picture of a request, in the order of showing."""
    parts = body["messages"][0]["content"]
    return [hashlib.sha256(p["image_url"]["url"].encode()).hexdigest() for p in parts if p["type"] == "image_url"]


@contextmanager
def service(folder: Path, say: Callable[[dict[str, Any]], str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Seen]:
    """A chat service that says what a function says of the request's body."""

    def reply(_: str, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": say(body)}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}

    with json_server(reply) as (root, seen):
        (folder / "limner.toml").write_text(
            f'[providers.fake]\nbase_url = "{root}"\n[models."{MODEL}"]\ninput_price = 2.0\noutput_price = 10.0\n'
            "max_output_tokens = 1000\n"
        )
        monkeypatch.chdir(folder)
        yield seen


@pytest.fixture
def drawn(tmp_path: Path) -> Path:
    """Four questions as three painters drew them; the folder has the store."""
    small = write_exam(tmp_path, 4)
    painters = []
    for at, name in enumerate(("one", "two", "three")):
        folder = tmp_path / name
        folder.mkdir()
        for n, id in enumerate(small.ids):
            (folder / f"{id}.png").write_bytes(picture(100 * at + n, size=(9, 9)))
        painters += ["--painter", f"{name}=folder/{folder}"]
    limner("draw", "genexam", *painters, "--data", small.data, "--store", tmp_path / "limner-store")
    return tmp_path


def spent(store: Store) -> tuple[int, float]:
    with store.reading() as connection:
        row = connection.execute(sa.select(sa.func.count(), sa.func.sum(attempts.c.cost))).one()
    return int(row[0]), float(row[1] or 0)


@pytest.mark.slow
def test_each_drawing_is_scored_once(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(drawn, lambda _: '{"reason": "so", "rating": 7.5}', monkeypatch) as seen:
        body = limner("rate", "genexam", "--as", "score", "--judge", MODEL, "--format=json").json()
        assert (body["done"], body["failed"], len(seen)) == (12, 0, 12)
        assert body["spent"] == pytest.approx(12 * (1000 * 2 + 100 * 10) / 1e6)
        assert all("rubric" not in json.dumps(each[1]) and len(pictures_of(each[1])) == 1 for each in seen)
        limner("rate", "genexam", "--as", "score", "--judge", MODEL)
        assert len(seen) == 12, "what was answered is not asked again"
    with Store(drawn / "limner-store") as store:
        rows = list(load_ratings(store, "genexam"))
        assert {(row.scale, row.value) for row in rows} == {("vlm-score", 7.5)}
        assert len(rows) == 12
        (setup,) = {row.setup for row in rows}
        assert evaluator_kinds(store)[setup] == "metric"
        assert load_setups(store)[setup]["judge"] == f"metric/vlm-score:{MODEL}"


@pytest.mark.slow
def test_arena_asks_in_both_orders(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with service(drawn, lambda _: '{"reason": "so", "choice": "first"}', monkeypatch) as seen:
        limner("rate", "genexam", "--as", "arena", "--judge", MODEL)
        orders = [tuple(pictures_of(body)) for _, body, _ in seen]
        assert len(orders) == len(set(orders)) == 4 * 3 * 2
        assert {tuple(reversed(order)) for order in orders} == set(orders)
    with Store(drawn / "limner-store") as store:
        rows = list(load_comparisons(store, "genexam"))
        assert len(rows) == 24
        assert {(row.shown_first, row.choice, row.repeat) for row in rows} == {
            ("first", "first", 0),
            ("second", "second", 1),
        }
        (preference,) = preferences("genexam", store=store)
        assert set(preference.rates.values()) == {0.5}, "a judge that takes what comes first prefers nobody"
        assert preference.shown_first.value == 1.0
        assert "no finite strength" in str(preference.reason)


@pytest.mark.slow
def test_arena_records_same_preference_in_both_orders(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service prefers by what it sees, whatever the order."""

    def say(body: dict[str, Any]) -> str:
        first, second = pictures_of(body)
        return json.dumps({"reason": "so", "choice": "first" if first < second else "second"})

    with service(drawn, say, monkeypatch) as seen:
        limner("rate", "genexam", "--as", "arena", "--judge", MODEL)
        better = {min(pictures_of(body)) for _, body, _ in seen}
    assert better
    with Store(drawn / "limner-store") as store:
        by_pair: dict[tuple[str, str], set[str | None]] = {}
        for row in load_comparisons(store, "genexam"):
            by_pair.setdefault((row.first, row.second), set()).add(row.choice)
        assert all(len(choices) == 1 for choices in by_pair.values()), "the same one wins in both orders"


@pytest.mark.slow
def test_unreadable_rating_has_no_value_and_is_retried_on_request(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = ["I like it."]
    with service(drawn, lambda _: replies[-1], monkeypatch) as seen:
        words = ("rate", "genexam", "--as", "score", "--judge", MODEL, "--painter", "one", "--limit", "1")
        assert limner(*words, "--format=json", code=3).json()["failures"] == {"unreadable": 1}
        assert len(seen) == 3
        limner(*words, code=3)
        assert len(seen) == 3
        with Store(drawn / "limner-store") as store:
            (row,) = load_ratings(store, "genexam")
            assert row.value is None
            assert "unreadable" in str(row.reason)
        replies.append('{"rating": 3}')
        limner(*words, "--retry-failed")
        assert len(seen) == 4
    with Store(drawn / "limner-store") as store:
        (row,) = load_ratings(store, "genexam")
        assert (row.value, row.reason) == (3, None)


@pytest.mark.slow
def test_rating_stops_at_budget_and_resumes_later(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("rate", "genexam", "--as", "score", "--judge", MODEL, "--concurrency", "1")
    with service(drawn, lambda _: '{"rating": 3}', monkeypatch) as seen:
        output = limner(*words, "--dry-run").out
        assert "12 requests" in output
        assert "$" in output
        assert not seen
        limner(*words, "--budget", "0.02", code=4)
        some = len(seen)
        assert 0 < some < 12
        limner(*words)
        assert len(seen) == 12
    with Store(drawn / "limner-store") as store:
        count, dollars = spent(store)
        assert count == 12
        assert dollars == pytest.approx(12 * 0.003)


@pytest.mark.slow
def test_replaced_drawing_is_rated_again(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("rate", "genexam", "--as", "score", "--judge", MODEL, "--painter", "one")
    with service(drawn, lambda body: json.dumps({"rating": len(pictures_of(body))}), monkeypatch) as seen:
        limner(*words)
        with Store(drawn / "limner-store") as store:
            id = next(each.question_id for each in load_drawings(store, "genexam"))
        (drawn / "one" / f"{id}.png").write_bytes(picture(999, size=(9, 9)))
        limner("draw", "genexam", "--painter", f"one=folder/{drawn / 'one'}", "--data", drawn / "data")
        limner(*words)
        assert len(seen) == 5


def test_replayed_replies_give_preferences(drawn: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(drawn)
    with Store(drawn / "limner-store") as store:
        ids = sorted({each.question_id for each in load_drawings(store, "genexam")})
    lines = [{"id": id, "painter": "one | two", "reply": {"choice": "first"}} for id in ids]
    lines += [{"id": id, "painter": "two | one", "reply": {"choice": "tie"}} for id in ids]
    (drawn / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    limner(
        "rate", "genexam", "--as", "arena", "--judge", "replay/replies.jsonl", "--painter", "one", "--painter", "two"
    )
    with Store(drawn / "limner-store") as store:
        (preference,) = preferences("genexam", store=store)
        assert preference.rates == {"one": 0.75, "two": 0.25}
