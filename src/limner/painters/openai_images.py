"""The OpenAI images shape: one call of images/generations, the image as base64 or behind a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..calls import Fault
from ..settings import Settings
from ..store import Blobs
from .api import Drawn, wanted_options
from .base import PaintRequest
from .one_reply import OneReplyPainter, number

SIZES = {"square": "1024x1024", "landscape": "1536x1024", "portrait": "1024x1536"}
NATIVE = (
    "quality", "background", "moderation", "complexity", "output_format", "output_compression",  # GPT image models
    "style", "response_format",  # DALL·E and many services of the same shape
    "negative_prompt", "num_inference_steps", "guidance_scale", "true_cfg_scale",  # servers of open models
)  # fmt: skip
"""Options that go into the body as they are."""
OPTIONS = frozenset({"size", *NATIVE})


class OpenAIImages(OneReplyPainter):
    """A model behind images/generations: OpenAI's own, or a server that speaks like it.

    ``response_format`` is sent only when it is given: GPT image models refuse it, others need ``b64_json``.
    """

    path = "/images/generations"

    def __init__(
        self, name: str, spec: str, model: str, options: Mapping[str, Any], settings: Settings, blobs: Blobs
    ) -> None:
        super().__init__(name, spec, model, wanted_options(options, OPTIONS, spec), settings, blobs)

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """See `limner.painters.api.ApiPainter`."""
        size = self.size(request) or SIZES[request.aspect]
        native = {name: self.options[name] for name in NATIVE if name in self.options}
        return {"model": self.model, "prompt": request.prompt, "n": 1, "size": size, **self.seed(request), **native}

    def read(self, reply: dict[str, Any], drawn: Drawn) -> tuple[str, Drawn]:
        """See `limner.painters.one_reply.OneReplyPainter`."""
        first = (reply.get("data") or [{}])[0]
        where = first.get("b64_json") or first.get("url")
        if not where:
            raise Fault("server", "no image in the reply", cost=None, result=dict(drawn.raw))
        usage = reply.get("usage") or {}
        sent, made = number(usage.get("input_tokens")), number(usage.get("output_tokens"))
        return where, replace(drawn, tokens_in=sent, tokens_out=made, prompt=first.get("revised_prompt") or None)
