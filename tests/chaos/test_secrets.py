"""Logins and queries in URLs are secrets: they are sent, but appear in no store, message or table."""

from __future__ import annotations

import base64
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from limner.calls import Fault
from limner.core.errors import UsageError
from limner.core.redaction import join_path, redact, without_secrets
from limner.core.settings import Provider
from limner.store import Store
from tests.chaos.asking import SHAPES, ask, fault_of, paint
from tests.fakes.misbehaving import Answer, Misbehaving, Seen, chat_reply, says
from tests.support import picture

LOGIN, QUERY = "painter:hunter2-of-the-lake", "subscription=QzXvKwJyGhTnRbLm"
WORDS = ("hunter2-of-the-lake", "QzXvKwJyGhTnRbLm", base64.b64encode(LOGIN.encode()).decode()[:-4])


def address(server: Misbehaving) -> str:
    return f"http://{LOGIN}@{server.host}/v1?{QUERY}"


def stored(store: Store) -> bytes:
    assert store.file is not None
    files = [file for file in store.file.parent.rglob("*") if file.is_file()]
    return b"".join(file.read_bytes() for file in files)


def test_missing_key_message_hides_login_and_query() -> None:
    provider = Provider(base_url=f"https://{LOGIN}@host/v1?{QUERY}", key_env="NO_SUCH_KEY_HERE")
    with pytest.raises(UsageError) as caught:
        provider.key()
    assert str(caught.value) == "https://host/v1 needs a key: set the environment variable NO_SUCH_KEY_HERE"


def repeats(seen: Seen) -> str:
    """What a careless service says: where it was asked, and how."""
    return f"{seen.path} {seen.headers.get('authorization', '')} {LOGIN}"


def good(seen: Seen, url: str) -> Answer:
    """An answer for every wire format, with all secrets in it."""
    image, text = base64.b64encode(picture(3)).decode(), repeats(seen)
    path = seen.path.partition("?")[0]
    if path == "/files/1":
        return Answer(picture(3), media="image/png")
    link = f"{url}/files/1"
    if "get_result" in path:
        return says({"id": "7", "status": "Ready", "result": {"sample": link}, "said": text})
    if "/tasks/" in path:
        return says({"output": {"task_status": "SUCCEEDED", "results": [{"url": link}]}, "said": text})
    if "aigc" in path:
        return says({"output": {"task_id": "7", "task_status": "PENDING"}, "said": text})
    if "generateContent" in path:
        parts = [{"inlineData": {"data": image}}]
        return says({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}], "said": text})
    if path.endswith("/images/generations"):
        return says({"data": [{"b64_json": image}], "said": text})
    if path.endswith("/chat/completions"):
        message = {"content": text, "images": [{"image_url": {"url": f"data:image/png;base64,{image}"}}]}
        return says({**chat_reply(), "choices": [{"message": message, "finish_reason": "stop"}]})
    return says({"id": "7", "said": text})


PATHS = {
    "chat": ["/v1/chat/completions"],
    "openai-images": ["/v1/images/generations"],
    "chat-images": ["/v1/chat/completions"],
    "gemini": ["/v1/models/m:generateContent"],
    "dashscope": ["/v1/api/v1/services/aigc/text2image/image-synthesis", "/v1/api/v1/tasks/7"],
    "bfl": ["/v1/v1/m", "/v1/v1/get_result?id=7"],
}


@pytest.mark.parametrize("client", ["chat", *SHAPES])
def test_query_and_login_are_sent_with_every_request_but_never_stored(
    store: Store, client: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with Misbehaving(lambda seen: good(seen, server.url)) as server:
        if client == "chat":
            assert "***" in ask(store, address(server))
        else:
            assert paint(store, address(server), client) == picture(3)
        sent = [seen for seen in server.seen if not seen.path.startswith("/files")]
    expected = []
    for path in PATHS[client]:
        way, _, own = path.partition("?")
        expected.append(f"{way}?{QUERY}" + (f"&{own}" if own else ""))
    assert [seen.path for seen in sent] == expected
    login = base64.b64encode(LOGIN.encode()).decode()
    assert {seen.headers["authorization"] for seen in sent} == {f"Basic {login}"}
    data = stored(store)
    assert b"***" in data
    assert [word for word in WORDS if word.encode() in data] == []
    assert [word for word in WORDS if word in caplog.text] == []


@pytest.mark.parametrize(
    ("client", "status"),
    [("chat", 200), ("chat", 307), ("chat", 500), *((client, 400) for client in ("chat", *SHAPES))],
)
def test_faults_do_not_repeat_login_or_query(store: Store, client: str, status: int) -> None:
    def behave(seen: Seen) -> Answer:
        text = repeats(seen)
        body: Any = {"error": {"message": text, "code": 500}, "message": text, "code": text}
        return says(body, status, location=f"http://{LOGIN}@{server.host}/x?{QUERY}")

    with Misbehaving(behave) as server:
        fault = fault_of(store, address(server), client)
    text = str(fault).encode() + stored(store)
    assert [word for word in WORDS if word.encode() in text] == []


def test_network_fault_hides_login_and_query(store: Store) -> None:
    fault = fault_of(store, f"http://{LOGIN}@127.0.0.1:9/v1?{QUERY}", "chat")
    assert fault.kind == "network"
    assert not any(word in str(fault) for word in WORDS)


def test_asterisks_in_data_are_kept_and_masked_keys_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    text = "stars **** and sk-0***cdef and sk-0123456789abcdef"
    assert without_secrets([text]) == ["stars **** and *** and ***"]
    assert redact("a word****here") == "a ***"


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        ("https://h/v1/", "/chat", "https://h/v1/chat"),
        ("https://u:p@h:8/v1?k=a&b=c", "/jobs?id=1", "https://u:p@h:8/v1/jobs?k=a&b=c&id=1"),
        ("https://h/v1#part", "/chat", "https://h/v1/chat"),
    ],
)
def test_paths_are_joined_to_base_url(base: str, path: str, url: str) -> None:
    assert join_path(base, path) == url


def test_exported_rows_are_redacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limner.report.tables.export import write_rows

    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    write_rows([{"id": "q", "detail": "with sk-0123456789abcdef"}], "jsonl", tmp_path / "rows.jsonl")
    assert json.loads((tmp_path / "rows.jsonl").read_text())["detail"] == "with ***"


def test_every_fault_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    assert Fault("server", "no sk-0123456789abcdef").detail == "no ***"
