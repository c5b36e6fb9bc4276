"""Gemini's native image output: one generateContent call, the image a part of the reply."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from ...calls import Attempt, Fault
from ..api import ApiPainter, Drawn, Service
from ..base import Aspect, PaintRequest
from ..gemini_faults import REFUSALS, fault_of, why_no_image
from ..http import exchange, said

RATIOS: dict[Aspect, str] = {"square": "1:1", "landscape": "3:2", "portrait": "2:3"}
THINKING = {"thinking_level": "thinkingLevel", "thinking_budget": "thinkingBudget"}
OPTIONS = frozenset({"size", "image_size", "temperature", *THINKING})


class Gemini(ApiPainter):
    """A Gemini model that draws. Its sizes are aspect ratios, such as 3:2; ``auto`` leaves the choice to it.

    ``image_size`` is 1K, 2K or 4K. Models that think take either ``thinking_level`` or ``thinking_budget``.
    """

    most_pictures = 14
    known = OPTIONS
    sizes = RATIOS

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """See `limner.painters.api.ApiPainter`."""
        ratio = self.size(request)
        image = {} if ratio == "auto" else {"aspectRatio": ratio}
        if "image_size" in self.options:
            image["imageSize"] = self.options["image_size"]
        config: dict[str, Any] = {"responseModalities": ["TEXT", "IMAGE"], **self.seed(request)}
        if image:
            config["imageConfig"] = image
        if "temperature" in self.options:
            config["temperature"] = self.options["temperature"]
        if thinking := {field: self.options[name] for name, field in THINKING.items() if name in self.options}:
            config["thinkingConfig"] = thinking
        parts = [*({"inlineData": picture} for picture in self.pictures(request)), {"text": request.prompt}]
        return {"contents": [{"role": "user", "parts": parts}], "generationConfig": config}

    async def _wire(self, body: dict[str, Any]) -> dict[str, Any]:
        """The body with its pictures by their bytes."""
        (content,) = body["contents"]
        parts: list[dict[str, Any]] = []
        for part in content["parts"]:
            if "inlineData" in part:
                media, data = (await self.prepared(part["inlineData"])).parts
                part = {"inlineData": {"mimeType": media, "data": base64.b64encode(data).decode()}}
            parts.append(part)
        return {**body, "contents": [{**content, "parts": parts}]}

    async def send(self, body: dict[str, Any], attempt: Attempt) -> Drawn:
        """See `limner.painters.api.ApiPainter`."""
        url = f"{self.url}/models/{quote(self.model)}:generateContent"
        key = self.provider.key()
        headers = {"x-goog-api-key": key} if key else {}
        try:
            sent = await self._wire(body)
            reply = await exchange("POST", url, headers=headers, body=sent, timeout=self.provider.timeout_s)
        except Fault as fault:
            raise fault_of(fault) from fault
        if "error" in reply:
            raise fault_of(Fault("server", said(reply), cost=None, result=reply))
        try:
            return self._read(reply)
        except (AttributeError, LookupError, TypeError) as error:
            detail = f"the reply does not fit the API: {type(error).__name__}: {error}"[:300]
            raise Fault("server", detail, cost=None, result=_slim(reply)) from error

    def _read(self, reply: dict[str, Any]) -> Drawn:
        usage = reply.get("usageMetadata") or {}
        sent = usage.get("promptTokenCount")
        made = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
        candidate = (reply.get("candidates") or [{}])[0]
        # What the model draws while it thinks is a draft.
        parts = [p for p in (candidate.get("content") or {}).get("parts") or [] if not p.get("thought")]
        images = [p["inlineData"]["data"] for p in parts if "inlineData" in p]
        if images and candidate.get("finishReason") not in REFUSALS:
            return self._drawn(images[-1], Drawn(b"", _slim(reply), sent, made if usage else None))
        kind, detail = why_no_image(reply, candidate, " ".join(p["text"] for p in parts if p.get("text")))
        # No image, but all the same there may be a bill for what was read and written.
        cost = None if sent is None else self._settings.price(self.target, sent, made)
        raise Fault(kind, detail, cost=cost, result=_slim(reply))

    def _drawn(self, data: str, drawn: Drawn) -> Drawn:
        try:
            return replace(drawn, image=base64.b64decode(data, validate=True))
        except ValueError as error:
            detail = f"what {self.target} sent as an image is no base64: {error}"
            raise Fault("image", detail, cost=self._price(drawn), result=dict(drawn.raw)) from error


def _slim(value: Any) -> Any:
    """A reply without image data and thought signatures, which are as large."""
    if isinstance(value, list):
        return [_slim(item) for item in value]
    if not isinstance(value, dict):
        return value
    large = {key for key in ("data", "thoughtSignature") if isinstance(value.get(key), str)}
    return {key: f"{len(item)} characters" if key in large else _slim(item) for key, item in value.items()}


SERVICE = Service("Gemini's generateContent", Gemini)
