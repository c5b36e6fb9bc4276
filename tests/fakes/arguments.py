"""The fields of a chat request beside its messages: which there are, and what each may hold."""

from __future__ import annotations

from typing import Any

from tests.fakes.refusals import choice_message, need

Json = dict[str, Any]

FIELDS = {
    "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs", "max_completion_tokens",
    "max_tokens", "messages", "metadata", "modalities", "model", "moderation", "n", "parallel_tool_calls",
    "prediction", "presence_penalty", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention",
    "reasoning_effort", "response_format", "safety_identifier", "seed", "service_tier", "stop", "store", "stream",
    "stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "verbosity",
    "web_search_options",
}  # fmt: skip


def check_arguments(body: Json) -> int | None:
    """Refuses values a service would refuse; returns the limit on output tokens."""
    heat = body.get("temperature", 0)
    need(0 <= heat <= 2, "Invalid 'temperature': want 0 to 2.", "temperature", "decimal_out_of_range")
    for name, only in (("stream", False), ("n", 1)):
        need(
            body.get(name) in (None, only),
            f"This fake service takes only {name}={only}.",
            name,
            "invalid_value",
        )
    _response_format(body.get("response_format"), body["messages"])
    return body.get("max_completion_tokens") or body.get("max_tokens")


def _response_format(value: Any, messages: list[Json]) -> None:
    if value is None:
        return
    kinds = ("json_object", "json_schema", "text")
    kind = value.get("type") if isinstance(value, dict) else None
    need(kind in kinds, choice_message(kind, kinds), "response_format.type", "invalid_value")
    if kind == "json_object":
        message = "'messages' must contain the word 'json' to use 'response_format' of type 'json_object'."
        need("json" in _texts(messages).lower(), message, "messages")
    if kind == "json_schema":
        schema = value.get("json_schema")
        name = "response_format.json_schema.name"
        named = isinstance(schema, dict) and isinstance(schema.get("name"), str)
        need(named, f"Missing required parameter: '{name}'.", name, "missing_required_parameter")


def _texts(messages: list[Json]) -> str:
    contents = [m.get("content") or "" for m in messages]
    parts = [[c] if isinstance(c, str) else [p.get("text", "") for p in c] for c in contents]
    return "\n".join(text for part in parts for text in part)
