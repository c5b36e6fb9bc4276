"""What the fake Gemini service draws, and the ways it goes wrong."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from tests.fakes.gemini_checks import Ask
from tests.fakes.gemini_errors import HTTP, retry_info
from tests.fakes.images_truth import stamped
from tests.fakes.plan import BasePlan
from tests.fakes.service import Reply
from tests.fakes.tally import Turn

Json = dict[str, Any]
BLOCKS = ("SAFETY", "OTHER", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY")
REFUSALS = (
    "SAFETY", "IMAGE_SAFETY", "PROHIBITED_CONTENT", "IMAGE_PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE",
    "RECITATION", "IMAGE_RECITATION",
)  # fmt: skip
FINISHES = (*REFUSALS, "MAX_TOKENS", "NO_IMAGE", "OTHER", "IMAGE_OTHER")
BROKEN = (
    "malformed_json",
    "not_json",
    "truncated_base64",
    "truncated_image",
    "not_an_image",
    "odd_shape",
    "empty",
    "text",
)
FAULTS = frozenset(
    (*HTTP, *BROKEN, *(f"block_{r}" for r in BLOCKS), *(f"finish_{r}" for r in FINISHES), "drop", "hang")
)
IMAGE_TOKENS, THOUGHT_TOKENS, PICTURE_TOKENS = 1290, 40, 258
SIGNATURE = "c2lnbmF0dXJl"


@dataclass(frozen=True, slots=True)
class GeminiPlan(BasePlan):
    """Everything a test can ask of the fake Gemini service.

    Attributes:
        retry_delay: What RetryInfo says, where a fault has one.
        thoughts: How many drafts the model draws while it thinks.
        images: How many images the reply holds beside drafts; the last one is the truth.
    """

    known_faults: ClassVar[frozenset[str]] = FAULTS

    retry_delay: str = "0.05s"
    thoughts: int = 0
    images: int = 1


def painted(
    prompt: str, seed: int | None, time: int, ratio: str = "1:1", draft: int = 0, shown: tuple[str, ...] = ()
) -> bytes:
    """The one right image for a request.

    Args:
        prompt: The prompt's text parts, joined by line breaks.
        seed: The request's seed, if it has one.
        time: The how-manieth time this very request came, from 1.
        ratio: The aspect ratio asked for.
        draft: Counts images that are not the answer.
        shown: The hashes of the pictures that came with the request.
    """
    wide, high = (8 * int(side) for side in ratio.split(":"))
    text = "\x00".join(map(str, (prompt, seed, time, draft, *shown)))
    return stamped(text, (wide, high))


def reply(ask: Ask, plan: GeminiPlan, fault: str | None, turn: Turn) -> Reply:
    """The reply to a request that meets this fault, or none."""
    if fault in HTTP:
        answer = Reply.listed(HTTP, fault, plan)
        if fault in ("minute_retry_info", "day") and isinstance(answer.body, dict):
            details = [*answer.body["error"]["details"], retry_info(plan.retry_delay)]
            return replace(answer, body={"error": {**answer.body["error"], "details": details}})
        return answer
    body = _answer(ask, plan, fault, turn)
    if fault in ("malformed_json", "not_json"):
        text = json.dumps(body)
        return Reply(fault, 200, text[: len(text) // 2] if fault == "malformed_json" else "<html></html>")
    return Reply(fault or "answered", 200, body)


def _answer(ask: Ask, plan: GeminiPlan, fault: str | None, turn: Turn) -> Json:
    kind, _, reason = (fault or "").partition("_")
    sent = -(-len(ask.prompt) // 4) + PICTURE_TOKENS * len(ask.pictures)
    body: Json = {"modelVersion": "fake-image-1", "responseId": turn.id}
    if kind == "block":
        return {"promptFeedback": {"blockReason": reason}, "usageMetadata": _usage(sent, 0, 0), **body}
    if fault == "empty":
        return {"usageMetadata": _usage(sent, 0, 0), **body}
    if fault == "odd_shape":
        return {"candidates": [{"content": {"parts": "none"}, "finishReason": "STOP"}], **body}
    words = {"text": "Here is your image."}
    parts = [words, *_images(ask, plan, fault, turn.attempt + 1)]
    candidate: Json = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    made = IMAGE_TOKENS * plan.images
    if fault == "text" or kind == "finish":
        candidate["content"]["parts"] = [words] if fault == "text" else []
        candidate["finishReason"], made = reason or "STOP", 6
    if kind == "finish" and reason in REFUSALS:
        candidate["finishMessage"] = "Unable to show the generated image."
    return {"candidates": [candidate], "usageMetadata": _usage(sent, made, THOUGHT_TOKENS * plan.thoughts), **body}


def _images(ask: Ask, plan: GeminiPlan, fault: str | None, time: int) -> list[Json]:
    drafts = plan.thoughts + plan.images - 1
    found = [painted(ask.prompt, ask.seed, time, ask.ratio, draft, ask.pictures) for draft in range(drafts, -1, -1)]
    if fault == "not_an_image":
        found[-1] = b"This is no image at all."
    if fault == "truncated_image":
        found[-1] = found[-1][: len(found[-1]) // 2]
    parts: list[Json] = []
    for n, data in enumerate(found):
        coded = base64.b64encode(data).decode()
        if fault == "truncated_base64":
            coded = coded[: len(coded) // 2 | 1]
        part: Json = {"inlineData": {"mimeType": "image/png", "data": coded}, "thoughtSignature": SIGNATURE}
        parts.append({**part, "thought": True} if n < plan.thoughts else part)
    # A draft may also come last.
    return parts[1:] + parts[:1] if plan.thoughts else parts


def _usage(sent: int, made: int, thought: int) -> Json:
    usage: Json = {"promptTokenCount": sent, "totalTokenCount": sent + made + thought}
    if made:
        usage |= {"candidatesTokenCount": made, "candidatesTokensDetails": [{"modality": "IMAGE", "tokenCount": made}]}
    return usage | ({"thoughtsTokenCount": thought} if thought else {})
