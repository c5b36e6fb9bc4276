"""Evidence from a chat model: its replies are held to their contract, and its values carry its name."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Calls, Fault
from limner.core import settings
from limner.core.asks import Unreadable
from limner.core.evidence import is_paper_backend
from limner.core.images import Preparer
from limner.evidence.backends import open_probe
from limner.evidence.by_model import ModelRating, read_lines, read_rating
from limner.evidence.probe import Finding, Probe
from limner.store import Store
from limner.store.schema import calls as table
from tests.fakes import ChatServer
from tests.support import JUDGE, picture, write_settings

LINE = {"text": "Cell  wall", "box": [100, 500, 300, 600], "confidence": 0.9}


def reply(*lines: dict[str, Any]) -> str:
    return json.dumps({"lines": lines})


def test_boxes_are_converted_to_pixels() -> None:
    (line,) = read_lines(reply(LINE), (400, 200))
    assert (line.text, line.bounds, line.confidence) == ("Cell wall", (40, 100, 120, 120), 0.9)


def test_lines_are_in_reading_order_without_empty_ones() -> None:
    below, blank = {**LINE, "text": "below", "box": [0, 800, 90, 860]}, {**LINE, "text": " "}
    assert [line.text for line in read_lines(reply(below, blank, LINE), (9, 9))] == ["Cell wall", "below"]
    assert read_lines('Here: ```json\n{"lines": []}\n```', (9, 9)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "no JSON object"),
        ('{"lines": {}}', '"lines" must be a list'),
        (reply({**LINE, "text": 3}), "line 1 must be an object with a"),
        (reply(LINE, {**LINE, "box": [1, 2, 3]}), 'line 2: "box" must be four numbers from 0 to 1000'),
        (reply({**LINE, "box": [300, 0, 100, 5]}), "left, top, right, bottom, in this order"),
        (reply({**LINE, "confidence": 1.5}), '"confidence" must be a number from 0 to 1'),
    ],
)
def test_invalid_replies_are_unreadable(text: str, message: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_lines(text, (100, 100))
    assert message in str(caught.value)


BOX = st.tuples(*[st.integers(0, 999)] * 2, *[st.integers(1, 1000)] * 2).map(
    lambda e: [min(e[0], e[2] - 1), min(e[1], e[3] - 1), e[2], e[3]]
)


@given(
    st.lists(st.fixed_dictionaries({"text": st.text(min_size=1), "box": BOX, "confidence": st.floats(0, 1)})),
    st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
)
def test_valid_reply_is_read_with_boxes_inside_image(lines: list[dict[str, Any]], size: tuple[int, int]) -> None:
    found = read_lines(json.dumps({"lines": lines}), size)
    assert len(found) == sum(bool(line["text"].strip()) for line in lines)
    for line in found:
        left, top, right, bottom = line.bounds
        assert 0 <= left < right <= size[0]
        assert 0 <= top < bottom <= size[1]


@given(st.text())
def test_any_text_is_read_or_rejected(text: str) -> None:
    for read in (lambda: read_lines(text, (9, 9)), lambda: [read_rating(text)]):
        try:
            read()
        except Unreadable:
            continue


def test_only_numbers_from_0_to_100_are_ratings() -> None:
    assert read_rating('{"reason": "even", "rating": 63}') == 63.0
    for wrong in ('{"rating": 101}', '{"rating": "63"}', '{"rating": true}', '{"score": 5}', "63"):
        with pytest.raises(Unreadable):
            read_rating(wrong)


@pytest.fixture
def prepared(tmp_path: Path, chat: ChatServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A fake service that is known, and an image in the store."""
    monkeypatch.chdir(tmp_path)
    write_settings(tmp_path, chat.base_url)
    data = picture(1, size=(400, 200))
    store.blobs.put(data)
    return data


def measure(probe: Probe, data: bytes, store: Store, **how: Any) -> Finding:
    async def run() -> Finding:
        async with Calls(store, **how) as calls:
            return await probe.measure(data, calls)

    return asyncio.run(run())


def rater(store: Store, word: str = f"model:{JUDGE}") -> Probe:
    return open_probe("aesthetics", word, settings.load(), Preparer(store.blobs.get))


def test_model_reads_text_once(prepared: bytes, chat: ChatServer, store: Store) -> None:
    chat.configure(reply=reply(LINE))
    probe = open_probe("ocr", JUDGE, settings.load(), Preparer(store.blobs.get))
    found = measure(probe, prepared, store)
    assert [(line.text, line.bounds) for line in found.lines] == [("Cell wall", (40, 100, 120, 120))]
    assert found.backend == probe.name
    assert probe.name.startswith(f"model:{JUDGE} prompt=")
    (body,) = [record["body"] for record in chat.records(10)]
    text, image = body["messages"][0]["content"]
    assert "numbers from 0 to 1000" in text["text"]
    assert image["type"] == "image_url"
    assert measure(probe, prepared, store).value == found.value
    assert len(chat.records(10)) == 1, "asked once"


def test_model_rating_is_stored_under_model_name(prepared: bytes, chat: ChatServer, store: Store) -> None:
    chat.configure(reply='{"reason": "plain", "rating": 41.5}')
    probe = rater(store)
    assert isinstance(probe, ModelRating)
    assert rater(store, JUDGE).name == probe.name
    found = measure(probe, prepared, store)
    assert (found.value, found.backend) == (41.5, probe.name)
    assert "unipercept" not in probe.name.casefold()
    assert not is_paper_backend("aesthetics", probe.name)
    with store.reading() as connection:
        (row,) = connection.execute(sa.select(table))
    assert (row.kind, row.target, row.key) == ("chat", JUDGE, found.call)


def test_unusable_reply_is_retried(prepared: bytes, chat: ChatServer, store: Store) -> None:
    chat.configure(reply='{"rating": 400}')
    with pytest.raises(Fault, match=r'unreadable: image [0-9a-f]{12}: .+"rating" must be a number from 0 to 100'):
        measure(rater(store), prepared, store)
    assert len(chat.records(10)) == 3
    chat.configure(reply='{"reason": "", "rating": 40}')
    with pytest.raises(Fault, match="unreadable"):
        measure(rater(store), prepared, store)
    assert len(chat.records(10)) == 3, "a later run does not pay again unless it is told to"
    assert measure(rater(store), prepared, store, retry_failed=True).value == 40.0
    assert len(chat.records(10)) == 4


def test_missing_key_is_reported(prepared: bytes, store: Store, tmp_path: Path, chat: ChatServer) -> None:
    assert rater(store).unpriced() is None
    write_settings(tmp_path, chat.base_url, key=True)
    with pytest.raises(Exception, match="needs a key"):
        rater(store).check()
