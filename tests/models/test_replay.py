"""Stored replies in place of a model: found by question, narrowed down by painter, ask and repeat."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Calls, Fault
from limner.core.errors import DataError, UsageError
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import Context, ReplayModel, open_model
from limner.store import Store

Line = dict[str, Any]


def write(tmp_path: Path, *lines: Line) -> ReplayModel:
    path = tmp_path / "replies.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n\n", "utf-8")
    return ReplayModel(path)


def ask(model: ReplayModel, store: Store, *said: str, **context: Any) -> str:
    fields = {"exam": "genexam", "question": "q1", "painter": "mine", "ask": "mark", **context}
    turns = tuple((reply, "again") for reply in said)
    text, _, cost = asyncio.run(model.turn((), turns, Context(**fields), Calls(store)))
    assert cost == 0.0
    return text


def test_a_reply_is_text_or_an_object(tmp_path: Path, store: Store) -> None:
    model = write(tmp_path, {"id": "q1", "reply": "words"}, {"id": "q2", "reply": {"größe": [1, None]}})
    assert ask(model, store) == "words"
    assert ask(model, store, question="q2") == '{"größe": [1, null]}'


def test_replies_are_given_in_order_until_none_is_left(tmp_path: Path, store: Store) -> None:
    model = write(tmp_path, {"id": "q1", "replies": ["one", {"n": 2}]})
    assert [ask(model, store), ask(model, store, "one")] == ["one", '{"n": 2}']
    with pytest.raises(Fault, match="no reply for q1 after 2 unreadable") as caught:
        ask(model, store, "one", "two")
    assert caught.value.kind == "missing"


def test_last_matching_line_is_used(tmp_path: Path, store: Store) -> None:
    model = write(
        tmp_path,
        {"id": "q1", "reply": "any"},
        {"id": "q1", "painter": "yours", "reply": "yours"},
        {"id": "q1", "ask": "caption", "reply": "caption"},
        {"id": "q1", "repeat": 1, "reply": "second"},
    )
    assert ask(model, store) == "any"
    assert ask(model, store, painter="yours") == "yours"
    assert ask(model, store, ask="caption") == "caption"
    assert ask(model, store, repeat=1) == "second"
    assert ask(model, store, painter="yours", repeat=1) == "second"


def test_every_reply_goes_through_the_journal_once(tmp_path: Path, store: Store) -> None:
    model = write(tmp_path, {"id": "q1", "reply": "x"})
    for _ in range(2):
        ask(model, store)

    async def again() -> bool:
        calls = Calls(store)
        await model.turn((), (), Context("genexam", "q1", "mine", "mark"), calls)
        return (calls.tally.made, calls.tally.stored) == (0, 1)

    assert asyncio.run(again())


def test_changed_reply_is_new_call(tmp_path: Path, store: Store) -> None:
    assert ask(write(tmp_path, {"id": "q1", "reply": "x"}), store) == "x"
    changed = write(tmp_path, {"id": "q1", "reply": "y"})
    assert ask(changed, store) == "y"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "replies.jsonl:2: not JSON"),
        ("[1]", 'replies.jsonl:2: a line must be an object with a text "id"'),
        ('{"id": "q2"}', 'replies.jsonl:2: id q2: "reply" or a list "replies" is missing'),
        ('{"id": "q2", "replies": "x"}', 'replies.jsonl:2: id q2: "reply" or a list "replies" is missing'),
        ("[" * 100_000, "replies.jsonl:2: not JSON"),
    ],
)
def test_invalid_lines_are_reported_with_line_number(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "replies.jsonl").write_bytes(b'{"id": "q1", "reply": "x"}\n' + line.encode("latin-1"))
    with pytest.raises(DataError) as caught:
        ReplayModel(tmp_path / "replies.jsonl")
    assert message in str(caught.value)


def test_missing_file_is_usage_error(tmp_path: Path, store: Store) -> None:
    settings = Settings.model_validate({"providers": {}})
    with pytest.raises(UsageError, match="cannot be read"):
        open_model(f"replay/{tmp_path}/none.jsonl", {}, settings, Preparer(store.blobs.get))
