"""What the fake image service answers, in the images shape and in the chat shape."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from tests.fakes.images_checks import Ask
from tests.fakes.images_plan import BROKEN, HTTP, LINKS, TALK, ImagePlan
from tests.fakes.images_truth import picture, revised
from tests.fakes.service import Reply
from tests.fakes.tally import Turn

Json = dict[str, Any]
Link = Callable[[str | None, bytes], str]
"""Puts a file up, with the fault its fetching meets, and returns its address."""

OUTPUT_TOKENS, DOLLARS = 1056, 0.0387
TEXTS = {
    "text_only": "Here is the picture you asked for: a cell with its nucleus in the middle.",
    "refusal_text": "I'm sorry, but I can't generate that image.",
    "length": "Let me think about the picture first",
}


def reply_images(ask: Ask, plan: ImagePlan, fault: str | None, turn: Turn, link: Link) -> Reply:
    """The reply in the images shape."""
    assert fault not in TALK, f"{fault} is a fault of chats"

    def good(image: str, linked: bool) -> Json:
        first = {"url" if linked else "b64_json": image}
        if plan.revise:
            first["revised_prompt"] = revised(ask.prompt)
        usage = {
            "input_tokens": ask.tokens,
            "output_tokens": OUTPUT_TOKENS,
            "total_tokens": ask.tokens + OUTPUT_TOKENS,
            "input_tokens_details": {
                "text_tokens": ask.tokens - ask.picture_tokens,
                "image_tokens": ask.picture_tokens,
            },
        }
        return {"created": 1754524800, "data": [] if fault == "empty" else [first], "usage": usage}

    return _reply(ask, plan, fault, turn, link, good)


def reply_chat(ask: Ask, plan: ImagePlan, fault: str | None, turn: Turn, link: Link) -> Reply:
    """The reply in the chat shape."""

    def good(image: str, linked: bool) -> Json:
        url = image if linked else f"data:image/{ask.kind};base64,{image}"
        shown = [{"type": "image_url", "image_url": {"url": url}, "index": 0}]
        message: Json = {"role": "assistant", "content": "Here it is.", "refusal": None, "images": shown}
        finish, native = {
            "content_filter": ("content_filter", "content_filter"),
            "image_safety": ("stop", "IMAGE_SAFETY"),
            "no_image": ("stop", "NO_IMAGE"),
            "length": ("length", "MAX_TOKENS"),
            "choice_error": ("error", "error"),
        }.get(fault or "", ("stop", "STOP"))
        if fault in TALK:
            del message["images"]
            message["content"] = TEXTS.get(fault, "")
        if fault == "refusal":
            message |= {"content": None, "refusal": "This request cannot be fulfilled."}
        choice: Json = {"index": 0, "message": message, "finish_reason": finish, "native_finish_reason": native}
        if fault == "choice_error":
            choice["error"] = {"code": 502, "message": "The provider went away."}
        usage: Json = {"prompt_tokens": ask.tokens, "completion_tokens": OUTPUT_TOKENS}
        usage["total_tokens"] = ask.tokens + OUTPUT_TOKENS
        if plan.billed:
            usage |= {"cost": DOLLARS, "is_byok": False, "cost_details": {"upstream_inference_cost": None}}
        choices = [] if fault == "empty" else [choice]
        return {
            "id": f"gen-{turn.id}",
            "object": "chat.completion",
            "model": ask.model,
            "choices": choices,
            "usage": usage,
        }

    return _reply(ask, plan, fault, turn, link, good)


def _reply(
    ask: Ask, plan: ImagePlan, fault: str | None, turn: Turn, link: Link, good: Callable[[str, bool], Json]
) -> Reply:
    outcome = fault or "answered"
    if fault in HTTP:
        return Reply.listed(HTTP, fault, plan)
    which = turn.attempt if ask.seed is None else ask.seed
    data = picture(ask.prompt, which, ask.size, ask.kind, ask.pictures)
    if ask.linked or fault in LINKS:
        return Reply(outcome, 200, good(link(fault, data), True))
    if fault in BROKEN:
        data = {"truncated_image": data[: len(data) * 2 // 3], "not_an_image": b"no image at all"}.get(fault, data)
    text = base64.b64encode(data).decode()
    if fault == "truncated_base64":
        text = text[: len(text) // 8 * 4 + 1]
    body = good(text, False)
    if fault == "html":
        return Reply(outcome, 200, "<html><body>One moment, please.</body></html>")
    if fault == "malformed_json":
        whole = json.dumps(body)
        return Reply(outcome, 200, whole[: len(whole) // 2], media="application/json")
    if fault == "odd_shape":
        return Reply(outcome, 200, {"data": body, "choices": body})
    return Reply(outcome, 200, body)
