"""What the errors of services mean, and how long they ask to wait."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from ..calls import Kind

REFUSALS = ("content_policy", "content_filter", "content filter", "moderation", "safety", "sensitive")
CREDITS = ("insufficient_quota", "billing", "credit", "exceeded your current quota")
LONGEST_WAIT_S = 600.0
"""A service that asks for more is asked again after this."""


def kind_of(status: int, body: object) -> Kind:
    """The kind of fault behind an HTTP status and what its body says."""
    said = _body_words(body)
    # A mere rate limit may say where to buy a higher one.
    if status == 402 or (any(word in said for word in CREDITS) and "rate_limit" not in said):
        return "credits"
    if status in (400, 403, 422) and any(word in said for word in REFUSALS):
        return "refusal"
    if status in (401, 403):
        return "auth"
    if status in (404, 405) or (status == 400 and "model_not_found" in said):
        return "setup"
    if status == 408:
        return "timeout"
    if status in (409, 425, 429):
        return "rate_limit"
    return "server" if status >= 500 else "bad_request"


def _body_words(body: object) -> str:
    """What a body says, for a look at its words; of an error about a named field, its code and type alone.

    Such an error repeats the field's name, and there are fields called ``moderation`` and ``safety_identifier``.
    """
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if isinstance(error, Mapping) and error.get("param"):
        return f"{error.get('code')} {error.get('type')}".casefold()
    return str(body).casefold()


def error_message(body: Any) -> str:
    """The message in an error body, in one short line."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else None
    return " ".join(str(message or inner).split())[:400]


def retry_after(text: str | None) -> float | None:
    """Seconds a service asks to wait, given as a number or as a date; None when it does not say.

    Never more than `LONGEST_WAIT_S`, and never less than none.
    """
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
    return None if math.isnan(seconds) else min(LONGEST_WAIT_S, max(0.0, seconds))
