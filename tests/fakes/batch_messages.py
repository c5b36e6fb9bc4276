"""What the fake of Anthropic's batches refuses, and what it makes of one row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.fakes.batch_plan import BatchPlan
from tests.fakes.checks import check
from tests.fakes.faults import choose
from tests.fakes.refusals import RefusedError
from tests.fakes.replies import reply
from tests.fakes.tally import Turn

Json = dict[str, Any]
VERSIONS = ("2023-06-01", "2026-10-21")
FIELDS = {
    "model", "max_tokens", "messages", "system", "temperature", "top_k", "top_p", "stop_sequences", "output_config",
    "thinking", "metadata",
}  # fmt: skip
ERRORS = {"http_500": "api_error", "http_429": "rate_limit_error", "moderation": "invalid_request_error"}


def problem(message: str, type: str = "invalid_request_error") -> Json:
    """An error body."""
    return {"type": "error", "error": {"type": type, "message": message}, "request_id": "req_1"}


def wrong(body: Json, headers: Mapping[str, str], plan: BatchPlan) -> tuple[int, Json] | None:
    """Status and body of the refusal of a batch; None for a good one."""
    if headers.get("anthropic-version") not in VERSIONS:
        return 400, problem("anthropic-version: header is required")
    if not (headers.get("x-api-key") or headers.get("Authorization", "").startswith("Bearer ")):
        return 401, problem("x-api-key header is required", "authentication_error")
    rows = body.get("requests")
    if set(body) != {"requests"} or not isinstance(rows, list) or not 1 <= len(rows) <= plan.most_calls:
        return 400, problem("requests: expected between 1 and 100000 items")
    ids = [row.get("custom_id") for row in rows]
    if not all(isinstance(id, str) and re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in ids):
        return 400, problem("requests.0.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
    if len(set(ids)) != len(ids) or any(set(row) != {"custom_id", "params"} for row in rows):
        return 400, problem("requests: custom_id must be unique")
    return None


def message(params: Json, plan: BatchPlan, turn: Turn) -> Json:
    """The result of a row: a message, or an error."""
    try:
        if set(params) - FIELDS or not isinstance(params.get("max_tokens"), int) or params["max_tokens"] < 1:
            return {"type": "errored", "error": problem(f"fields {sorted(set(params) - FIELDS)}, or max_tokens")}
        ask = check(_as_chat(params), models=plan.models)
        said = reply(ask, plan, choose(ask, replace(plan, faults={}), turn), turn).body
    except RefusedError as refused:
        return {"type": "errored", "error": problem(str(refused.body))}
    assert isinstance(said, dict)
    choice, usage = said["choices"][0], said["usage"]
    told = {"id": f"msg_{turn.id}", "type": "message", "role": "assistant", "model": params["model"]}
    told |= {"content": [{"type": "text", "text": choice["message"]["content"]}], "stop_sequence": None}
    told["stop_reason"] = {"stop": "end_turn", "length": "max_tokens"}[choice["finish_reason"]]
    counts = {"input_tokens": usage["prompt_tokens"], "output_tokens": usage["completion_tokens"]}
    more = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "service_tier": "batch"}
    return {"type": "succeeded", "message": told | {"usage": counts | more}}


def _as_chat(params: Json) -> Json:
    """A row as the chat service would have got it, so that it marks by the same truth."""
    talk = [{"role": "system", "content": params["system"]}] if "system" in params else []
    for one in params["messages"]:
        parts = one["content"] if isinstance(one["content"], list) else [{"type": "text", "text": one["content"]}]
        talk.append({"role": one["role"], "content": [_part(part) for part in parts]})
    return {"model": params["model"], "messages": talk, "max_tokens": params["max_tokens"]}


def _part(part: Json) -> Json:
    if part["type"] != "image":
        return part
    source = part["source"]
    return {"type": "image_url", "image_url": {"url": f"data:{source['media_type']};base64,{source['data']}"}}
