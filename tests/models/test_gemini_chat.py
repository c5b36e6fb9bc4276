"""Chat requests in Gemini's words, and replies in OpenAI's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limner.models.chat import from_gemini, to_gemini, unsayable

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}


def body(**args: Any) -> dict[str, Any]:
    text = {"type": "text", "text": "Mark it."}
    said = {"role": "assistant", "content": [{"type": "text", "text": "No."}]}
    system = {"role": "system", "content": [{"type": "text", "text": "You mark."}]}
    return {
        "model": "gemini-3.8-flash",
        "messages": [system, {"role": "user", "content": [text, PICTURE]}, said],
        **args,
    }


def test_a_request_says_the_same() -> None:
    schema = {"type": "object"}
    shape = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": True}}
    told = to_gemini(
        body(temperature=0, max_completion_tokens=9, reasoning_effort="low", stop="x", response_format=shape)
    )
    assert told["systemInstruction"] == {"parts": [{"text": "You mark."}]}
    first, second = told["contents"]
    assert first == {
        "role": "user",
        "parts": [{"text": "Mark it."}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}],
    }
    assert second == {"role": "model", "parts": [{"text": "No."}]}
    assert told["generationConfig"] == {
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


def test_arguments_that_a_batch_cannot_have_are_named() -> None:
    assert unsayable("g/m", {"temperature": 1}) is None
    assert unsayable("g/m", {"temperature": 1, "logit_bias": 1}) == (
        "g/m takes no logit_bias in a batch: leave it out, or leave --batch out"
    )


def test_a_reply_reads_as_a_chat_completion() -> None:
    parts = [{"text": "thinking", "thought": True}, {"text": "yes"}]
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}
    candidate = {"content": {"parts": parts}, "finishReason": "STOP"}
    told = from_gemini({"candidates": [candidate], "usageMetadata": usage, "responseId": "r"})
    assert told["choices"][0]["message"]["content"] == "yes"
    assert told["choices"][0]["finish_reason"] == "stop"
    assert told["usage"] == {"prompt_tokens": 5, "completion_tokens": 5}


@pytest.mark.parametrize(("reason", "word"), [("MAX_TOKENS", "length"), ("SAFETY", "content_filter")])
def test_why_a_reply_ended(reason: str, word: str) -> None:
    assert from_gemini({"candidates": [{"finishReason": reason}]})["choices"][0]["finish_reason"] == word


def test_a_blocked_prompt_is_a_refusal_and_nothing_is_no_answer() -> None:
    (choice,) = from_gemini({"promptFeedback": {"blockReason": "SAFETY"}})["choices"]
    assert (choice["finish_reason"], "blocked (SAFETY)" in choice["message"]["refusal"]) == ("content_filter", True)
    assert from_gemini({})["choices"] == []
    assert from_gemini({})["usage"]["completion_tokens"] is None


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=20)), min_size=1, max_size=6))
def test_no_word_is_lost(said: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in said]
    told = to_gemini({"model": "m", "messages": messages})["contents"]
    back = [("assistant" if one["role"] == "model" else "user", one["parts"][0]["text"]) for one in told]
    assert back == said
