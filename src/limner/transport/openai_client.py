"""The openai client: one chat completion, and what the errors of services that speak alike mean."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ..calls import Fault, Kind
from ..core.redaction import without_key
from ..core.settings import Provider

if TYPE_CHECKING:
    from openai import AsyncOpenAI

REFUSALS = ("content_policy", "content_filter", "content filter", "moderation", "safety", "sensitive")
CREDITS = ("insufficient_quota", "billing", "credit", "exceeded your current quota")


@lru_cache(maxsize=16)
def _client(_loop: asyncio.AbstractEventLoop, url: str, key: str | None, timeout: float) -> AsyncOpenAI:
    """The client of one event loop: its connections are of no use to another."""
    from openai import AsyncOpenAI

    # Retries are the journal's: the client must make exactly one request per attempt.
    return AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0, timeout=timeout)


async def chat_completion(provider: Provider, model: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Make one request; the reply comes without the key, should the service repeat it.

    Args:
        provider: Where to ask, and with which key.
        model: Whom to ask.
        body: All else that is sent.

    Raises:
        Fault: By kind.
    """
    key = provider.key()
    client = _client(asyncio.get_running_loop(), provider.base_url, key, provider.timeout_s)
    try:
        # As extra body: the client would otherwise walk through every message to convert what needs no converting.
        reply = await client.chat.completions.create(model=model, messages=[], extra_body=dict(body))
    except Exception as error:
        raise fault_of(error, key) from error
    if not hasattr(reply, "model_dump"):
        raise Fault("server", without_key(f"the reply is not JSON: {reply}", key)[:500], cost=None)
    raw: dict[str, Any] = reply.model_dump(mode="json", exclude_none=True, warnings=False)
    if key:
        said = json.dumps(raw)
        # Complaints about a key show its ends around asterisks; in a reply asterisks are the model's own.
        clean = without_key(said, key) if raw.get("error") else said.replace(key, "***")
        raw = raw if clean == said else json.loads(clean)
    return raw


def fault_of(error: Exception, key: str | None = None) -> Fault:
    """Classify by what the body says first, by status second; the key is taken out of what is said."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout", "no reply within the time limit", cost=None)
    if isinstance(error, openai.APIStatusError):
        wait = retry_after(error.response.headers.get("retry-after"))
        return Fault(
            kind_of(error.status_code, error.body), without_key(_status_message(error), key)[:500], retry_after=wait
        )
    if isinstance(error, openai.APIResponseValidationError):
        return Fault("server", f"the reply does not fit the API: {error}"[:500], cost=None)
    if isinstance(error, openai.APIConnectionError):
        return Fault("network", without_key(f"{error}: {error.__cause__!r}", key), cost=None)
    if isinstance(error, ValueError):
        return Fault("server", f"the reply is not JSON: {error}"[:500], cost=None)
    raise error


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


def _status_message(error: Any) -> str:
    message = error.body.get("message") if isinstance(error.body, dict) else None
    return f"{error.status_code}: {message or error.message}"


def retry_after(text: str | None) -> float | None:
    """Seconds a service asks to wait, given as a number or as a date; None when it does not say."""
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(text).timestamp() - time.time()
        except ValueError:
            return None
    return min(600.0, max(0.0, seconds))
