"""A chat request in Gemini's own words, and its reply in OpenAI's: batches take the one, everything else the other.

The names are those of Google's Python package google-genai 3.1. What an effort of reasoning stands for is not confirmed
by a page of Google's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SAMPLING = {
    "temperature": "temperature", "top_p": "topP", "max_completion_tokens": "maxOutputTokens",
    "max_tokens": "maxOutputTokens", "seed": "seed", "n": "candidateCount", "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
}  # fmt: skip
"""Arguments that have another name, and the same value."""
EFFORTS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking that an effort stands for with models that count them."""
COUNTING = "gemini-2.5"
KNOWN = {*SAMPLING, "stop", "reasoning_effort", "response_format"}
REASONS = {"STOP": "stop", "MAX_TOKENS": "length"}
"""Why a reply ended; for any other reason it was not let through."""


def unsayable(name: str, args: Mapping[str, Any]) -> str | None:
    """What is said of arguments that a batch cannot have; None where there is none."""
    strange = [arg for arg in args if arg not in KNOWN]
    if not strange:
        return None
    return f"{name} takes no {', '.join(strange)} in a batch: leave it out, or leave --batch out"


def to_gemini(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a generateContent request that asks for the same."""
    told: dict[str, Any] = {"contents": []}
    for message in body["messages"]:
        parts = [_part(part) for part in message["content"]]
        if message["role"] == "system":
            told["systemInstruction"] = {"parts": parts}
        else:
            role = "model" if message["role"] == "assistant" else "user"
            told["contents"].append({"role": role, "parts": parts})
    config: dict[str, Any] = {SAMPLING[name]: value for name, value in body.items() if name in SAMPLING}
    if (stop := body.get("stop")) is not None:
        config["stopSequences"] = [stop] if isinstance(stop, str) else list(stop)
    if (effort := body.get("reasoning_effort")) is not None:
        counted = str(body["model"]).startswith(COUNTING)
        config["thinkingConfig"] = (
            {"thinkingBudget": EFFORTS.get(str(effort), -1)} if counted else {"thinkingLevel": str(effort)}
        )
    if isinstance(shape := body.get("response_format"), Mapping):
        config["responseMimeType"] = "application/json"
        if "json_schema" in shape:
            config["responseJsonSchema"] = shape["json_schema"]["schema"]
    return told | ({"generationConfig": config} if config else {})


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"text": part["text"]}
    media, _, data = str(part["image_url"]["url"]).removeprefix("data:").partition(";base64,")
    return {"inlineData": {"mimeType": media, "data": data}}


def from_gemini(reply: Mapping[str, Any]) -> dict[str, Any]:
    """A reply of generateContent as chat/completions would have given it."""
    choices = [_choice(n, candidate) for n, candidate in enumerate(reply.get("candidates") or [])]
    if blocked := (reply.get("promptFeedback") or {}).get("blockReason"):
        message = {"role": "assistant", "refusal": f"the prompt is blocked ({blocked})"}
        choices = [{"index": 0, "message": message, "finish_reason": "content_filter"}]
    usage = reply.get("usageMetadata") or {}
    counts: dict[str, Any] = {"prompt_tokens": usage.get("promptTokenCount")}
    written, thought = usage.get("candidatesTokenCount", 0), usage.get("thoughtsTokenCount", 0)
    # What is no number is passed on as it is, to be found incredible where usage is checked.
    added = written + thought if isinstance(written, int) and isinstance(thought, int) else written
    counts["completion_tokens"] = added if usage else None
    told = {"id": reply.get("responseId"), "model": reply.get("modelVersion"), "object": "chat.completion"}
    return {**told, "choices": choices, "usage": counts}


def _choice(n: int, candidate: Mapping[str, Any]) -> dict[str, Any]:
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(str(part.get("text", "")) for part in parts if not part.get("thought"))
    reason = REASONS.get(str(candidate.get("finishReason", "STOP")), "content_filter")
    return {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": reason}
