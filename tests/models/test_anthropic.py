"""Claude through the Messages API, in the shape of its documentation."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import pytest

from limner.calls import Calls, Fault
from limner.calls.turns import Unusable
from limner.core.asks import Picture, Text
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import Context, open_model
from limner.store import Store
from tests.fakes.wire_server import Answer, Asked, WireServer, wire_server
from tests.needs import sdk
from tests.support import picture

KEY = "sk-ant-canary-7Gh2Lq9z"
SCHEMA = {"type": "object", "properties": {"score": {"type": "integer"}}, "additionalProperties": False}
_LOOP = asyncio.Runner()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def message(text: str = '{"score": 1}', reason: str = "end_turn", **more: Any) -> dict[str, Any]:
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 1000, "output_tokens": 200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    made = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    return made | {"content": content, "stop_reason": reason, "usage": usage} | more


def model(service: WireServer, store: Store, **args: Any) -> Any:
    provider = {"base_url": service.root + "/v1", "key_env": "ANTHROPIC_API_KEY", "shape": "anthropic"}
    facts = {"input_price": 4.0, "output_price": 20.0, "max_output_tokens": 128000}
    data = {"providers": {"anthropic": provider | {"structured": "json_schema"}}, "models": {"anthropic/claude": facts}}
    return open_model("anthropic/claude", args, Settings.model_validate(data), Preparer(store.blobs.get, 2**20))


def turn(chat: Any, store: Store, *shown: Any, earlier: tuple[tuple[str, str], ...] = (), **context: Any) -> Any:
    async def run() -> Any:
        async with Calls(store, tries=2) as calls:
            calls._wait = lambda _tries: 0.0
            about = Context("exam", "q", "p", "ask", **context)
            return await chat.turn(shown or (Text("Mark it."),), earlier, about, calls)

    return _LOOP.run(run())


def test_request_has_expected_body_headers_and_cost(store: Store) -> None:
    sha256 = store.blobs.put(picture(3))[0]
    with wire_server(lambda _service, _asked: (200, message())) as service:
        chat = model(service, store, temperature=0, max_completion_tokens=900)
        shown = (Text("Mark it."), Picture(sha256))
        text, _, cost = turn(chat, store, *shown, earlier=(("bad", "again"),), schema=SCHEMA, system="You mark.")
        (asked,) = service.asked
    assert (text, cost) == ('{"score": 1}', pytest.approx((1000 * 4 + 200 * 20) / 1e6))
    assert asked.path == "/v1/messages"
    assert (asked.headers["x-api-key"], asked.headers["anthropic-version"]) == (KEY, "2023-06-01")
    assert "authorization" not in asked.headers
    image = asked.body["messages"][0]["content"].pop()
    assert image["type"] == "image"
    assert image["source"]["type"] == "base64"
    assert image["source"]["media_type"].startswith("image/")
    assert base64.b64decode(image["source"]["data"])
    assert asked.body == {
        "model": "claude",
        "max_tokens": 900,
        "temperature": 0,
        "system": [{"type": "text", "text": "You mark."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Mark it."}]},
            {"role": "assistant", "content": [{"type": "text", "text": "bad"}]},
            {"role": "user", "content": [{"type": "text", "text": "again"}]},
        ],
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


@pytest.mark.slow
def test_official_client_sends_same_body_and_reads_same_reply(store: Store) -> None:
    """The client differs only in sending the key as a bearer token and asking for a newer API version."""
    package = sdk("anthropic", "anthropic")
    sha256 = store.blobs.put(picture(3))[0]

    def answer(_service: WireServer, asked: Asked) -> Answer:
        fields = {"model", "max_tokens", "messages", "system", "temperature", "output_config"}
        known = KEY in (asked.headers.get("x-api-key"), asked.headers.get("authorization", "").removeprefix("Bearer "))
        version = asked.headers["anthropic-version"]
        fits = known and asked.path == "/v1/messages" and not set(asked.body) - fields
        fits = fits and (version == "2023-06-01" or (version == "2026-10-21" and "temperature" not in asked.body))
        error = {"type": "invalid_request_error", "message": "unexpected"}
        return (200, message()) if fits else (400, {"type": "error", "error": error})

    with wire_server(answer) as service:
        chat = model(service, store, max_completion_tokens=900)
        turn(chat, store, Text("Mark it."), Picture(sha256), schema=SCHEMA, system="You mark.")
        (ours,) = service.asked
        client = package.Anthropic(api_key=KEY, base_url=service.root, max_retries=0)
        reply = client.messages.create(**ours.body)
        theirs = service.asked[1]
    assert [(part.type, part.text) for part in reply.content[1:]] == [("text", '{"score": 1}')]
    assert (reply.usage.input_tokens, reply.stop_reason) == (1000, "end_turn")
    assert theirs.body == ours.body


def test_every_request_limits_reply_length(store: Store) -> None:
    with wire_server(lambda _service, _asked: (200, message())) as service:
        chat = model(service, store)
        assert chat.unpriced() is None
        turn(chat, store)
        assert service.sent()[0]["max_tokens"] == 4 * 2500 + 8192


def test_unsupported_schema_is_left_out(store: Store) -> None:
    def answer(_service: WireServer, asked: Asked) -> Answer:
        error = {"type": "invalid_request_error", "message": "output_config.format.schema: minimum is not supported"}
        return (400, {"type": "error", "error": error}) if "output_config" in asked.body else (200, message())

    with wire_server(answer) as service:
        assert turn(model(service, store), store, schema=SCHEMA)[0] == '{"score": 1}'
        assert len(service.asked) == 2


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ((200, message("", "refusal", stop_details={"type": "refusal", "category": "bio"})), "refusal"),
        ((200, message("{", "max_tokens")), "truncated"),
        ((200, {"type": "error", "error": {"type": "api_error", "message": "x"}}), "server"),
        ((401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}), "auth"),
        ((529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}), "server"),
        (
            (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "no such field"}}),
            "bad_request",
        ),
        (
            (429, {"error": {"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}}),
            "credits",
        ),
    ],
)
def test_failed_replies_raise_fault_of_expected_kind(store: Store, answer: Answer, kind: str) -> None:
    with wire_server(lambda _service, _asked: answer) as service, pytest.raises((Fault, Unusable)) as raised:
        turn(model(service, store), store)
    fault = raised.value.fault if isinstance(raised.value, Unusable) else raised.value
    assert isinstance(fault, Fault)
    assert fault.kind == kind
