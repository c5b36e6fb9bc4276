"""The ways the fake service goes wrong, each in the shape a real service gives it.

Shapes follow OpenAI's public documentation; `error_in_200`, `http_402` and `http_403` follow OpenRouter's.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tests.fakes.truth import draw

if TYPE_CHECKING:
    from tests.fakes.checks import Ask
    from tests.fakes.plan import BasePlan, Plan
    from tests.fakes.tally import Turn

Json = dict[str, Any]


def error(message: str, type: str, param: str | None = None, code: str | None = None) -> Json:
    """OpenAI's error object."""
    return {"error": {"message": message, "type": type, "param": param, "code": code}}


_RATE = error(
    "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 1s.",
    "requests",
    code="rate_limit_exceeded",
)
_FLAGGED: Json = {
    "code": 403,
    "message": "Input was flagged by the provider's moderation.",
    "metadata": {"reasons": ["violence"], "flagged_input": "...", "provider_name": "fake"},
}

HTTP: dict[str, tuple[int, Json | str]] = {
    "http_401": (401, error("Incorrect API key provided.", "invalid_request_error", code="invalid_api_key")),
    "http_402": (
        402,
        {"error": {"code": 402, "message": "Insufficient credits. Add more credits and retry."}},
    ),
    "http_403": (403, {"error": _FLAGGED}),
    "http_404": (
        404,
        error(
            "The model does not exist or you do not have access to it.", "invalid_request_error", code="model_not_found"
        ),
    ),
    "http_429": (429, _RATE),
    "http_429_retry_after": (429, _RATE),
    "http_429_quota": (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            code="insufficient_quota",
        ),
    ),
    "http_500": (500, error("The server had an error while processing your request.", "server_error")),
    "http_502": (502, "<html><body><h1>502 Bad Gateway</h1></body></html>"),
    "http_503": (503, error("The engine is currently overloaded, please try again later.", "server_error")),
    "content_policy": (
        400,
        error(
            "Your request was rejected as a result of our safety system.",
            "invalid_request_error",
            code="content_policy_violation",
        ),
    ),
    "error_in_200": (
        200,
        {"error": {"code": 502, "message": "Provider returned error", "metadata": {"provider_name": "fake"}}},
    ),
}


def _prose(verdict: Json) -> str:
    return f"{verdict['description']} It looks good to me overall, with small slips in the labels."


def _truncated(verdict: Json) -> str:
    text = json.dumps(verdict)
    return text[: len(text) * 2 // 3]


def _wrong_count(verdict: Json) -> str:
    answers = verdict["answers"]
    return json.dumps({**verdict, "answers": answers[:-1] or [{"reasoning": "One too many.", "answer": 1}] * 2})


def _out_of_range(verdict: Json) -> str:
    changed = copy.deepcopy(verdict)
    if changed["answers"]:
        changed["answers"][-1]["answer"] = 2
    else:
        changed["global_evaluation"]["Spelling"]["score"] = 3
    return json.dumps(changed)


def _empty(verdict: Json) -> str:
    return ""


MALFORMED: dict[str, Callable[[Json], str]] = {
    "prose": _prose,
    "truncated": _truncated,
    "wrong_count": _wrong_count,
    "out_of_range": _out_of_range,
    "empty": _empty,
}
# drop: the connection closes without a reply. hang: no reply for as long as the client waits.
KINDS = frozenset(HTTP) | frozenset(MALFORMED) | {"drop", "hang", "refusal", "length"}


def choose(ask: Ask, plan: Plan, turn: Turn) -> str | None:
    """The fault a chat request meets, or None."""
    fault = drawn(plan, turn)
    if fault is None and ask.turn < plan.malformed_until_turn:
        kinds = plan.malformed_kinds
        return kinds[int(draw(plan.seed, "malformed", turn.key) * len(kinds))]
    return fault


def drawn(plan: BasePlan, turn: Turn) -> str | None:
    """The fault drawn for a request by the plan's probabilities, or None."""
    if plan.faults and (plan.fault_first is None or turn.attempt < plan.fault_first):
        on: object = {"attempt": f"{turn.key}/{turn.attempt}", "key": turn.key, "ordinal": turn.ordinal}[plan.fault_by]
        rest = draw(plan.seed, "fault", on)
        for kind, probability in plan.faults.items():
            if rest < probability:
                return kind
            rest -= probability
    return None
