"""What the openai client raises, as faults with a kind."""

from __future__ import annotations

from typing import Any

from ..calls import Fault, Kind

REFUSALS = ("content_policy", "content_filter", "moderation", "safety", "sensitive")
CREDITS = ("insufficient_quota", "billing", "credit", "exceeded your current quota")


def fault_of(error: Exception) -> Fault:
    """Classify by what the body says first, by status second."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout", "no reply within the time limit", cost=None)
    if isinstance(error, openai.APIStatusError):
        wait = retry_after(error.response.headers.get("retry-after"))
        return Fault(kind_of(error.status_code, error.body), _said(error), retry_after=wait)
    if isinstance(error, openai.APIResponseValidationError):
        return Fault("server", f"the reply does not fit the API: {error}"[:500], cost=None)
    if isinstance(error, openai.APIConnectionError):
        return Fault("network", f"{error}: {error.__cause__!r}", cost=None)
    if isinstance(error, ValueError):
        return Fault("server", f"the reply is not JSON: {error}"[:500], cost=None)
    raise error


def kind_of(status: int, body: object) -> Kind:
    """The kind of fault behind an HTTP status and what its body says."""
    said = str(body).casefold()
    if status == 402 or any(word in said for word in CREDITS):
        return "credits"
    if status in (400, 403, 422) and any(word in said for word in REFUSALS):
        return "refusal"
    if status in (401, 403):
        return "auth"
    if status == 408:
        return "timeout"
    if status in (409, 425, 429):
        return "rate_limit"
    return "server" if status >= 500 else "bad_request"


def _said(error: Any) -> str:
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return f"{error.status_code}: {message or error.message}"[:500]


def retry_after(text: str | None) -> float | None:
    """Seconds a service asks to wait; None when it does not say."""
    try:
        return min(600.0, max(0.0, float(text))) if text else None
    except ValueError:
        return None
