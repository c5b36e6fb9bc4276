"""What the fake service answers: a chat completion object with its usage."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.fakes.checks import Ask
from tests.fakes.faults import HTTP, MALFORMED
from tests.fakes.plan import Plan
from tests.fakes.service import Reply
from tests.fakes.tally import Turn
from tests.fakes.truth import count_points, verdict

Json = dict[str, Any]
REASONING_TOKENS = {
    "none": 0,
    "minimal": 0,
    "low": 64,
    "medium": 256,
    "high": 1024,
    "xhigh": 2048,
    "max": 4096,
}


def reply(ask: Ask, plan: Plan, fault: str | None, turn: Turn) -> Reply:
    """The reply to a request that meets this fault, or none."""
    if fault in HTTP:
        return Reply.listed(HTTP, fault, plan)
    if fault == "refusal":
        return Reply(fault, 200, _completion(ask, turn.id, refusal="I'm sorry, I can't assist with that request."))
    if plan.reply is not None and fault is None:
        text = plan.reply
    else:
        points = count_points(ask.text, plan.points_regex, plan.points_heading)
        truth = verdict(ask.text, ask.image, points, plan.seed)
        shape = MALFORMED["truncated" if fault == "length" else fault] if fault else json.dumps
        text = shape(truth)
    reasoning = REASONING_TOKENS[ask.effort]
    # A bill above the limit the client set would break any budget it keeps.
    if ask.limit is not None and reasoning + _tokens(text) > ask.limit:
        reasoning = min(reasoning, ask.limit)
        text, fault = text[: 4 * (ask.limit - reasoning)], "length"
    finish = "length" if fault == "length" else "stop"
    return Reply(fault or "answered", 200, _completion(ask, turn.id, text, reasoning=reasoning, finish=finish))


def models(names: list[str] | None) -> Json:
    """The list of models."""
    data = [{"id": n, "object": "model", "created": 1754524800, "owned_by": "fake"} for n in names or ["fake-judge"]]
    return {"object": "list", "data": data}


def _completion(
    ask: Ask,
    id: str,
    content: str | None = None,
    *,
    refusal: str | None = None,
    reasoning: int = 0,
    finish: str = "stop",
) -> Json:
    spent = reasoning + _tokens(content or refusal or "")
    return {
        "id": f"chatcmpl-{id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": ask.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal, "annotations": []},
                "logprobs": None,
                "finish_reason": finish,
            }
        ],
        "usage": {
            "prompt_tokens": ask.prompt_tokens,
            "completion_tokens": spent,
            "total_tokens": ask.prompt_tokens + spent,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        },
        "service_tier": "default",
        "system_fingerprint": None,
    }


def _tokens(text: str) -> int:
    return -(-len(text) // 4)
