"""Gemini's native image output: one generateContent call with the image in the reply; and its errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ...calls import Fault, Kind
from ...calls.batch_services import GEMINI_ENDPOINT
from ...calls.http import error_message, retry_after
from ...core.images import PreparedImage
from ..base import Aspect, PaintRequest
from ..service import Service, ServiceImage
from ..service_calls import OneReplyPainter, part_of

RATIOS: dict[Aspect, str] = {"square": "1:1", "landscape": "3:2", "portrait": "2:3"}
THINKING = {"thinking_level": "thinkingLevel", "thinking_budget": "thinkingBudget"}
REFUSALS = frozenset(
    {
        "SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE",
        "RECITATION", "IMAGE_RECITATION",
    }
)  # fmt: skip
"""Finish reasons that mean a refusal."""

_STATUSES: dict[str, Kind] = {
    "INVALID_ARGUMENT": "bad_request", "NOT_FOUND": "setup", "FAILED_PRECONDITION": "auth",
    "UNAUTHENTICATED": "auth", "PERMISSION_DENIED": "auth", "DEADLINE_EXCEEDED": "timeout", "UNAVAILABLE": "server",
}  # fmt: skip
_BAD_KEY = re.compile(r"api_key_invalid|api key (not valid|not found|expired)")
_SPENT = re.compile(r"per[_ ]?day|limit: 0\b(?!\.)|prepayment|spending cap|enable billing")
_RETRY_IN = re.compile(r"retry in ([\d.]+)s")


class Gemini(OneReplyPainter):
    """A Gemini model that draws. Its sizes are aspect ratios, such as 3:2; with ``auto`` the model chooses.

    ``image_size`` is 1K, 2K or 4K. Models that think take either ``thinking_level`` or ``thinking_budget``.
    """

    most_pictures = 14
    known = frozenset({"size", "image_size", "temperature", *THINKING})
    sizes = RATIOS

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the body of generateContent."""
        ratio = self.size(request)
        image = {} if ratio == "auto" else {"aspectRatio": ratio}
        if "image_size" in self.given:
            image["imageSize"] = self.given["image_size"]
        config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"], **self.seed(request)}
        if image:
            config["imageConfig"] = image
        config |= self.options_of(["temperature"])
        if thinking := {THINKING[name]: value for name, value in self.options_of(THINKING).items()}:
            config["thinkingConfig"] = thinking
        parts = [*({"inlineData": picture} for picture in self.pictures(request)), {"text": request.prompt}]
        return {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}

    def headers(self, *, submit: bool = True) -> dict[str, str]:
        """Return the header with the key."""
        return self.provider.key_headers("x-goog-api-key: {key}")

    def write_picture(self, image: PreparedImage) -> dict[str, str]:
        """Return a picture as inline data."""
        media, data = image.packed
        return {"mimeType": media, "data": data}

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path of the model's generateContent."""
        return f"/models/{quote(self.model)}:generateContent"

    def batch_endpoint(self, *, edits: bool) -> str | None:
        """Return the endpoint of Gemini's batches."""
        return GEMINI_ENDPOINT

    async def batch_body(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body as it is sent outside a batch."""
        return dict((await self.encode(body))["body"])

    def batch_fault(self, status: int, body: dict[str, Any]) -> Fault:
        """Return the fault by Google's error object."""
        return google_fault(super().batch_fault(status, body))

    async def ask(self, body: dict[str, Any]) -> dict[str, Any]:
        """Make the request; faults are classified by Google's error object."""
        try:
            return await super().ask(body)
        except Fault as fault:
            raise google_fault(fault) from fault

    def error(self, reply: dict[str, Any]) -> Fault:
        """Return the fault in the form that `google_fault` classifies."""
        return Fault("server", error_message(reply), cost=None, result=reply)

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the last image that is not a draft, with token counts."""
        usage = part_of(reply, "usageMetadata")
        made = usage.get("candidatesTokenCount", 0) if usage else None
        counts: dict[str, Any] = {"tokens_in": usage.get("promptTokenCount"), "tokens_out": made}
        drawn = replace(drawn, **counts, thought_tokens=usage.get("thoughtsTokenCount"))
        candidate = (reply.get("candidates") or [{}])[0]
        # Images among the model's thoughts are drafts.
        parts = [p for p in (candidate.get("content") or {}).get("parts") or [] if not p.get("thought")]
        images = [p["inlineData"]["data"] for p in parts if "inlineData" in p]
        if images and candidate.get("finishReason") not in REFUSALS:
            # As a data URL, so that a reply cannot pass off a link as an image.
            return "data:," + images[-1], drawn
        kind, detail = why_no_image(reply, candidate, " ".join(p["text"] for p in parts if p.get("text")))
        # There is no image, but the tokens read and written may still be billed.
        raise self.paid_fault(kind, detail, drawn, drew=False)


def google_fault(fault: Fault) -> Fault:
    """Return a fault reclassified by Google's error object, if the reply has one.

    A 429 may be a limit per minute, which passes, or an exhausted daily quota or balance, which does not.
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
    detail = f"{error.get('code')} {status}: {error_message(error)}"
    return Fault(kind, detail, retry_after=wait, cost=fault.cost, result=fault.result)


def why_no_image(reply: Mapping[str, Any], candidate: Mapping[str, Any], text: str) -> tuple[Kind, str]:
    """Return the kind of fault behind a reply without an image, and the model's words."""
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
    return "server", f"no image in the reply ({detail or 'no reason given'})"


def _delay(error: Mapping[str, Any]) -> float | None:
    """Return the seconds Google asks to wait, such as ``"retryDelay": "34.07s"`` among the details."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and "retryDelay" in detail:
            return retry_after(str(detail["retryDelay"]).removesuffix("s"))
    match = _RETRY_IN.search(str(error.get("message")))
    return retry_after(match[1]) if match else None


SERVICE = Service("Gemini's generateContent", Gemini)
