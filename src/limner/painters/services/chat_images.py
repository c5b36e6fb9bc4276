"""Images from a chat: one call of chat/completions whose reply contains text and the image, as at OpenRouter."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...calls import Fault, Kind
from ..base import Aspect, PaintRequest
from ..service import Service, ServiceImage
from ..service_calls import OneReplyPainter, fault_in_reply, part_of

RATIOS: dict[Aspect, str] = {"square": "1:1", "landscape": "3:2", "portrait": "2:3"}
CONFIG = ("image_size", "quality", "background", "moderation", "output_format", "output_compression")
"""Options that go into ``image_config``."""
NATIVE = ("temperature", "top_p", "max_tokens", "reasoning", "provider")
"""Options that go into the body unchanged."""

_FILTERED = re.compile(r"content_?filter|safety|prohibited|blocklist|recitation|spii|sensitive|refusal", re.I)
_DECLINED = re.compile(
    r"\b(I|we|sorry)\b.{0,30}\b(can(no|['’])?t|can not|won['’]?t|will not|unable to|not able to|must decline)\b"
    r".{0,60}\b(creat|generat|draw|produc|mak|depict|render|provid|help|assist|fulfil|comply)"
    r"|\b(violat\w*|against)\b.{0,60}\b(polic|guideline|terms)|(无法|不能)(为您|为你)?(生成|绘制|创建|提供)",
    re.I | re.S,
)


class ChatImages(OneReplyPainter):
    """A chat model that draws. Its sizes are aspect ratios, such as 3:2; with ``auto`` the model chooses.

    ``modalities`` is ``image`` for models that write no text with their images.
    """

    path = "/chat/completions"
    most_pictures = 16
    known = frozenset({"size", "modalities", *CONFIG, *NATIVE})
    sizes = RATIOS

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the body of a chat completion."""
        ratio = self.size(request)
        config = {} if ratio == "auto" else {"aspect_ratio": ratio}
        config |= self.options_of(CONFIG)
        kinds = self.given.get("modalities", "image,text")
        return {
            "model": self.model,
            "messages": [{"role": "user", "content": self._content(request)}],
            "modalities": [kind.strip() for kind in kinds.split(",")] if isinstance(kinds, str) else list(kinds),
            **({"image_config": config} if config else {}),
            **self.seed(request),
            **self.options_of(NATIVE),
        }

    def _content(self, request: PaintRequest) -> str | list[dict[str, Any]]:
        if not request.pictures:
            return request.prompt
        shown = [{"type": "image_url", "image_url": {"url": picture}} for picture in self.pictures(request)]
        return [{"type": "text", "text": request.prompt}, *shown]

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the first image of the reply's message, with token counts and cost."""
        raw = dict(drawn.raw)
        if not reply.get("choices"):
            raise Fault("server", "no choices in the reply", cost=None, result=raw)
        choice = reply["choices"][0]
        if choice.get("error"):
            raise fault_in_reply(choice["error"], raw)
        usage = part_of(reply, "usage")
        names = {"tokens_in": "prompt_tokens", "tokens_out": "completion_tokens", "cost": "cost"}
        counts: dict[str, Any] = {field: usage.get(name) for field, name in names.items()}
        drawn = replace(drawn, **counts)
        if usage.get("is_byok"):
            drawn = replace(drawn, upstream_cost=part_of(usage, "cost_details").get("upstream_inference_cost"))
        message = choice.get("message") or {}
        if images := message.get("images"):
            return images[0]["image_url"]["url"], drawn
        kind, detail = why_no_image(choice, message)
        # There is no image, but the tokens read and written may still be billed.
        raise self.paid_fault(kind, detail, drawn, drew=False)


def why_no_image(choice: Mapping[str, Any], message: Mapping[str, Any]) -> tuple[Kind, str]:
    """Return the kind of fault behind a reply without an image, and the model's words."""
    text = " ".join(str(message.get("refusal") or message.get("content") or "").split())[:300]
    reasons = [str(choice[name]) for name in ("finish_reason", "native_finish_reason") if choice.get(name)]
    detail = ": ".join(filter(None, [" / ".join(dict.fromkeys(reasons)), text]))
    if message.get("refusal") or any(map(_FILTERED.search, reasons)) or _DECLINED.search(text):
        return "refusal", detail
    if "length" in reasons:
        return "truncated", f"the reply ended before there was an image ({detail})"
    return ("unreadable" if text else "image"), f"no image in the reply ({detail})"


SERVICE = Service("images in chat replies, as from OpenRouter", ChatImages)
