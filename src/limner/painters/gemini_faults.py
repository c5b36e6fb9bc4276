"""What Gemini says when it does not draw, as faults with a kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..calls import Fault, Kind
from ..models.openai_faults import retry_after
from .http import said

REFUSALS = frozenset(
    {
        "SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE",
        "RECITATION", "IMAGE_RECITATION",
    }
)  # fmt: skip
"""Reasons to finish by which the model will not draw this."""

_STATUSES: dict[str, Kind] = {
    "INVALID_ARGUMENT": "bad_request", "NOT_FOUND": "bad_request", "FAILED_PRECONDITION": "auth",
    "UNAUTHENTICATED": "auth", "PERMISSION_DENIED": "auth", "DEADLINE_EXCEEDED": "timeout", "UNAVAILABLE": "server",
}  # fmt: skip
_BAD_KEY = re.compile(r"api_key_invalid|api key (not valid|not found|expired)")
_SPENT = re.compile(r"per[_ ]?day|limit: 0\b(?!\.)|prepayment|spending cap|enable billing")
_RETRY_IN = re.compile(r"retry in ([\d.]+)s")


def fault_of(fault: Fault) -> Fault:
    """The fault of an exchange told by Google's error object, where the reply has one.

    The same 429 stands for a limit per minute, which passes, and for a day's quota or a balance used up, which do not.
    """
    error = (fault.result or {}).get("error")
    if not isinstance(error, dict):
        return fault
    status, words = error.get("status"), str(error).casefold()
    wait = _delay(error) or fault.retry_after
    kind = _STATUSES.get(str(status), fault.kind)
    if _BAD_KEY.search(words):
        kind = "auth"
    elif status == "RESOURCE_EXHAUSTED" or "enable billing" in words:
        unexplained = "current quota" in words and "perminute" not in words and wait is None
        kind = "credits" if unexplained or _SPENT.search(words) else "rate_limit"
    detail = f"{error.get('code')} {status}: {said(error)}"
    return Fault(kind, detail, retry_after=wait, cost=fault.cost, result=fault.result)


def why_no_image(reply: Mapping[str, Any], candidate: Mapping[str, Any], text: str) -> tuple[Kind, str]:
    """The kind of fault behind a reply without an image, and what was said."""
    feedback, reason = reply.get("promptFeedback") or {}, candidate.get("finishReason")
    if blocked := feedback.get("blockReason"):
        return "refusal", f"the prompt is blocked ({blocked}): {feedback.get('blockReasonMessage') or ''}".rstrip(": ")
    text = " ".join(text.split())[:300]
    detail = ": ".join(word for word in (reason, candidate.get("finishMessage") or text) if word)
    if reason in REFUSALS:
        return "refusal", detail
    if reason == "MAX_TOKENS":
        return "truncated", f"the reply ended before there was an image ({detail})"
    if reason == "NO_IMAGE":
        return "image", f"the model drew nothing ({detail})"
    if text and reason == "STOP":
        return "unreadable", f"text in place of an image: {text}"
    return "server", f"no image in the reply ({detail or 'no word why'})"


def _delay(error: Mapping[str, Any]) -> float | None:
    """Seconds Google asks to wait, such as ``"retryDelay": "34.07s"`` among the details."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and "retryDelay" in detail:
            return retry_after(str(detail["retryDelay"]).removesuffix("s"))
    told = _RETRY_IN.search(str(error.get("message")))
    return retry_after(told[1]) if told else None
