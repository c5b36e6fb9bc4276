"""Chat models: what is sent, what is read from replies, and the kind of every failure."""

from __future__ import annotations

import asyncio
import hashlib
import json
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from limner.calls import Calls, Fault
from limner.calls.turns import Unusable
from limner.core import settings
from limner.core.asks import Picture, Text
from limner.core.errors import UsageError
from limner.core.images import Preparer
from limner.core.settings import Settings
from limner.models import ChatModel, Context, open_model
from limner.models.chat import from_gemini, to_gemini, unsayable
from limner.store import Store
from limner.store.schema import attempts, calls
from tests.fakes import ChatServer
from tests.fakes.misbehaving import Answer, Misbehaving, says
from tests.support import KEY_VARIABLE, picture, sent

CONTEXT = Context("genexam", "q1", "mine", "mark")
CANARY = "sk-canary-0123456789abcdef"
Turn = tuple[str, str, float | None]


def model(store: Store, base_url: str, key: bool = False, **args: Any) -> ChatModel:
    provider = {"base_url": base_url, "timeout_s": 20, **({"key_env": KEY_VARIABLE} if key else {})}
    priced = {"fake/judge": {"input_price": 2.0, "output_price": 8.0}}
    settings = Settings.model_validate({"providers": {"fake": provider}, "models": priced})
    return ChatModel("fake", "judge", args, settings, Preparer(store.blobs.get))


def ask(chat: ChatModel, store: Store, *shown: Text | Picture, earlier: Any = (), context: Context = CONTEXT) -> Turn:
    """One turn, tried once."""
    shown = shown or (Text("Mark it."),)
    return asyncio.run(chat.turn(shown, earlier, context, Calls(store, tries=1)))


def fails(chat: ChatModel, store: Store, *shown: Text | Picture) -> Fault:
    try:
        ask(chat, store, *shown)
    except Fault as fault:
        return fault
    except Unusable as error:
        return error.fault
    raise AssertionError("there is no fault")


@pytest.mark.parametrize("effort", ["none", "minimal", "low"])
def test_effort_that_model_does_not_accept_is_refused_before_anything_is_sent(
    effort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    chat = open_model("openai/gpt-6.1-sol", {"reasoning_effort": effort}, settings.load(), Preparer(lambda _: b""))
    if effort == "low":
        chat.check()
        return
    with pytest.raises(UsageError, match=f"reasoning_effort={effort}; use one of low, medium, high, xhigh, max"):
        chat.check()


def test_text_and_images_are_sent_in_chat_format(chat: ChatServer, store: Store) -> None:
    shas = [store.blobs.put(picture(n))[0] for n in (1, 2)]
    shown = (Text("Mark it. Reply in JSON."), Picture(shas[0], 768, "high"), Picture(shas[1]))
    ask(model(store, chat.base_url, reasoning_effort="low", max_completion_tokens=500), store, *shown)
    (body,) = chat.requests()
    urls = []
    # With a limit as JPEG, without one as it is.
    for data, media in ((sent(picture(1)), "image/jpeg"), (picture(2), "image/png")):
        urls.append({"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data), "media": media})
    assert body == {
        "model": "judge",
        "reasoning_effort": "low",
        "max_completion_tokens": 500,
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Mark it. Reply in JSON."},
                    {"type": "image_url", "image_url": {"url": urls[0], "detail": "high"}},
                    {"type": "image_url", "image_url": {"url": urls[1]}},
                ],
            }
        ],
    }


def test_earlier_turns_are_sent_along(chat: ChatServer, store: Store) -> None:
    ask(model(store, chat.base_url), store, earlier=(("One.", "Not so."), ("Two.", "Not so either.")))
    (body,) = chat.requests()
    talk = [(message["role"], message["content"][0]["text"]) for message in body["messages"]]
    assert talk == [
        ("user", "Mark it."),
        ("assistant", "One."),
        ("user", "Not so."),
        ("assistant", "Two."),
        ("user", "Not so either."),
    ]


def test_full_reply_is_stored_with_its_cost(chat: ChatServer, store: Store) -> None:
    chat.configure(reply="fine")
    text, key, cost = ask(model(store, chat.base_url), store)
    with store.reading() as connection:
        row = connection.execute(sa.select(attempts).where(attempts.c.call == key)).one()
    usage = row.result["raw"]["usage"]
    assert (text, row.result["text"], row.result["raw"]["choices"][0]["message"]["content"]) == ("fine",) * 3
    assert cost == row.cost == (usage["prompt_tokens"] * 2.0 + usage["completion_tokens"] * 8.0) / 1e6


def test_cost_without_known_price_is_none(chat: ChatServer, store: Store) -> None:
    settings = Settings.model_validate({"providers": {"fake": {"base_url": chat.base_url}}})
    _, _, cost = ask(ChatModel("fake", "judge", {}, settings, Preparer(store.blobs.get)), store)
    assert cost is None


def test_call_key_depends_on_all_request_content(chat: ChatServer, store: Store) -> None:
    sha, other = (store.blobs.put(picture(n))[0] for n in (1, 2))
    base = model(store, chat.base_url)
    asked: list[tuple[ChatModel, tuple[Text | Picture, ...], Any, Context]] = [
        (base, (Text("a"), Picture(sha, 768, "high")), (), CONTEXT),
        (base, (Text("b"), Picture(sha, 768, "high")), (), CONTEXT),
        (base, (Text("a"), Picture(other, 768, "high")), (), CONTEXT),
        (base, (Text("a"), Picture(sha, 512, "high")), (), CONTEXT),
        (base, (Text("a"), Picture(sha, 768, "low")), (), CONTEXT),
        (base, (Picture(sha, 768, "high"), Text("a")), (), CONTEXT),
        (base, (Text("a"), Picture(sha, 768, "high")), (("x", "y"),), CONTEXT),
        (base, (Text("a"), Picture(sha, 768, "high")), (), Context("genexam", "q1", "mine", "mark", repeat=1)),
        (base, (Text("a"), Picture(sha, 768, "high")), (), Context("genexam", "q1", "mine", "mark", round=1)),
        (model(store, chat.base_url, temperature=0), (Text("a"), Picture(sha, 768, "high")), (), CONTEXT),
    ]
    keys = [
        ask(chosen, store, *shown, earlier=earlier, context=context)[1] for chosen, shown, earlier, context in asked
    ]
    assert len(set(keys)) == len(asked) == chat.counts()["total"]
    # Neither the question's name nor the painter's matters: the same picture and words are the same call.
    same = Context("other", "q2", "yours", "another")
    assert ask(base, store, *asked[0][1], context=same)[1] == keys[0]
    assert chat.counts()["total"] == len(asked)


def test_api_key_is_sent_but_never_stored(chat: ChatServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, CANARY)
    chat.configure(api_key=CANARY, reply=f"Your key is {CANARY}.")
    text, _, _ = ask(model(store, chat.base_url, key=True), store)
    assert (text, chat.counts()["answered"]) == ("Your key is ***.", 1)
    with store.reading() as connection:
        stored = [connection.execute(sa.select(table)).all() for table in (calls, attempts)]
    assert "Your key is" in repr(stored)
    assert CANARY not in repr(stored)


def test_missing_key_is_reported_before_any_request(chat: ChatServer, store: Store) -> None:
    with pytest.raises(UsageError, match=f"set the environment variable {KEY_VARIABLE}"):
        model(store, chat.base_url, key=True).check()
    assert chat.counts()["total"] == 0


@pytest.mark.parametrize("key", [CANARY, "sk-short"])
def test_refused_key_is_redacted_from_error(
    chat: ChatServer, store: Store, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    chat.configure(api_key="another")
    fault = fails(model(store, chat.base_url, key=True), store)
    assert fault.kind == "auth"
    assert fault.detail.startswith("401: Incorrect API key provided: ***. (POST http://127.0.0.1:")


@pytest.mark.parametrize(
    ("fault", "kind", "charged"),
    [
        ("http_401", "auth", 0.0),
        ("http_402", "credits", 0.0),
        ("http_403", "refusal", 0.0),
        ("http_429_retry_after", "rate_limit", 0.0),
        ("http_429_quota", "credits", 0.0),
        ("http_500", "server", 0.0),
        ("content_policy", "refusal", 0.0),
        ("error_in_200", "server", None),
        ("drop", "network", None),
    ],
)
def test_service_failures_raise_fault_of_expected_kind(
    chat: ChatServer, store: Store, fault: str, kind: str, charged: float | None
) -> None:
    chat.configure(faults={fault: 1.0}, retry_after=7)
    raised = fails(model(store, chat.base_url), store)
    assert (raised.kind, raised.cost) == (kind, charged)
    assert chat.counts()["total"] == 1  # The client itself tries nothing again.


def test_refused_and_truncated_replies_are_charged(chat: ChatServer, store: Store) -> None:
    for fault, kind in (("refusal", "refusal"), ("length", "truncated")):
        chat.configure(faults={fault: 1.0})
        raised = fails(model(store, chat.base_url), store, Text(fault))
        assert raised.kind == kind
        assert raised.cost is not None
        assert raised.cost > 0
        with store.reading() as connection:
            row = connection.execute(sa.select(attempts).where(attempts.c.call == raised.calls[0])).one()
        assert row.result["choices"]


def test_hanging_service_is_timeout(chat: ChatServer, store: Store) -> None:
    chat.configure(faults={"hang": 1.0})
    settings = Settings.model_validate({"providers": {"fake": {"base_url": chat.base_url, "timeout_s": 0.2}}})
    fault = fails(ChatModel("fake", "judge", {}, settings, Preparer(store.blobs.get)), store)
    assert (fault.kind, fault.cost) == ("timeout", None)


def test_missing_or_broken_image_fails_only_its_call(chat: ChatServer, store: Store) -> None:
    chosen = model(store, chat.base_url)
    fault = fails(chosen, store, Picture("0" * 64))
    assert (fault.kind, "not among the blobs" in fault.detail) == ("missing", True)
    sha256, _ = store.blobs.put(picture(1, "JPEG", (64, 64))[:-30])
    assert fails(chosen, store, Picture(sha256)).kind == "image"
    assert chat.counts()["total"] == 0


@pytest.mark.parametrize(
    ("body", "media"),
    [
        (b"<html>Please log in to the hotel's network.</html>", "text/html"),
        (b"not json", "application/json"),
        ([], "application/json"),
        ({"choices": None}, "application/json"),
        ({"choices": [{"message": "words"}]}, "application/json"),
        ({"choices": [{"message": {"content": ["words"]}}]}, "application/json"),
        ({"choices": [{"finish_reason": "error", "error": {"code": 500, "message": "x"}}]}, "application/json"),
    ],
)
def test_malformed_replies_are_server_faults(store: Store, body: object, media: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    with Misbehaving(lambda _seen: Answer(data, media=media)) as server:
        assert fails(model(store, server.url), store).kind == "server"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"code": 401, "message": "No auth credentials found"}, "auth"),
        ({"code": 429, "message": "Slow down"}, "rate_limit"),
        ({"code": 403, "message": "Your input was flagged by moderation"}, "refusal"),
        ("words", "server"),
    ],
)
def test_error_in_200_reply_gets_kind_from_its_content(store: Store, error: object, kind: str) -> None:
    with Misbehaving(lambda _seen: says({"error": error})) as server:
        assert fails(model(store, server.url), store).kind == kind


def test_text_parts_are_joined_and_lone_surrogates_replaced(store: Store) -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two \ud800"}]
    reply = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    with Misbehaving(lambda _seen: says(reply)) as server:
        text, _, cost = ask(model(store, server.url), store)
    assert (text, cost) == ("one two ?", None)
    assert text.encode()


def test_models_are_opened_by_name(store: Store) -> None:
    settings = Settings.model_validate({"providers": {"fake": {"base_url": "http://127.0.0.1:9"}}})
    images = Preparer(store.blobs.get)
    assert open_model("fake/some/model", {}, settings, images).name == "fake/some/model"
    for spec in ("fake", "fake/", "/model", ""):
        with pytest.raises(UsageError):
            open_model(spec, {}, settings, images)
    with pytest.raises(UsageError, match="no provider 'other'; known: fake"):
        open_model("other/model", {}, settings, images)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}


def body(**args: Any) -> dict[str, Any]:
    text = {"type": "text", "text": "Mark it."}
    earlier = {"role": "assistant", "content": [{"type": "text", "text": "No."}]}
    system = {"role": "system", "content": [{"type": "text", "text": "You mark."}]}
    return {
        "model": "gemini-3.8-flash",
        "messages": [system, {"role": "user", "content": [text, PICTURE]}, earlier],
        **args,
    }


def test_request_is_translated_to_gemini() -> None:
    schema = {"type": "object"}
    shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}
    request = to_gemini(
        body(temperature=0, max_completion_tokens=9, reasoning_effort="low", stop="x", response_format=shape)
    )
    assert request["systemInstruction"] == {"parts": [{"text": "You mark."}]}
    first, second = request["contents"]
    assert first == {
        "role": "user",
        "parts": [{"text": "Mark it."}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}],
    }
    assert second == {"role": "model", "parts": [{"text": "No."}]}
    assert request["generationConfig"] == {
        "temperature": 0,
        "maxOutputTokens": 9,
        "stopSequences": ["x"],
        "thinkingConfig": {"thinkingLevel": "low"},
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    older = to_gemini({**body(reasoning_effort="high"), "model": "gemini-2.5-pro"})
    assert older["generationConfig"] == {"thinkingConfig": {"thinkingBudget": 24576}}
    assert "generationConfig" not in to_gemini(body())


def test_arguments_unsupported_in_batch_are_named() -> None:
    assert unsayable("g/m", {"temperature": 1}) is None
    assert unsayable("g/m", {"temperature": 1, "logit_bias": 1}) == (
        "g/m does not accept logit_bias in a batch: leave it out, or leave out --batch"
    )


def test_gemini_reply_is_read_as_chat_completion() -> None:
    parts = [{"text": "thinking", "thought": True}, {"text": "yes"}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    completion = from_gemini({"candidates": [candidate], "usageMetadata": usage, "responseId": "r"})
    assert completion["choices"][0]["message"]["content"] == "yes"
    assert completion["choices"][0]["finish_reason"] == "stop"
    assert completion["usage"] == {"prompt_tokens": 5, "completion_tokens": 5}


@pytest.mark.parametrize(("reason", "word"), [("MAX_TOKENS", "length"), ("SAFETY", "content_filter")])
def test_gemini_finish_reason_is_translated(reason: str, word: str) -> None:
    assert from_gemini({"candidates": [{"finishReason": reason}]})["choices"][0]["finish_reason"] == word


def test_blocked_prompt_is_refusal_and_empty_reply_has_no_choices() -> None:
    (choice,) = from_gemini({"promptFeedback": {"blockReason": "SAFETY"}})["choices"]
    assert (choice["finish_reason"], "blocked (SAFETY)" in choice["message"]["refusal"]) == ("content_filter", True)
    assert from_gemini({})["choices"] == []
    assert from_gemini({})["usage"]["completion_tokens"] is None


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=20)), min_size=1, max_size=6))
def test_all_messages_survive_translation_to_gemini(earlier: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in earlier]
    contents = to_gemini({"model": "m", "messages": messages})["contents"]
    back = [("assistant" if one["role"] == "model" else "user", one["parts"][0]["text"]) for one in contents]
    assert back == earlier
