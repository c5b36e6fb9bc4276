"""OpenAI's images API: one call of images/generations or images/edits, the image as base64 or behind a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...calls import Fault
from ...calls.batch_services import DRAW_ENDPOINT, EDIT_ENDPOINT
from ..base import Aspect, PaintRequest
from ..service import Service, ServiceImage
from ..service_calls import OneReplyPainter, part_of

SIZES: dict[Aspect, str] = {"square": "1024x1024", "landscape": "1536x1024", "portrait": "1024x1536"}
NATIVE = (
    "quality", "background", "moderation", "complexity", "output_format", "output_compression",  # GPT image models
    "style", "response_format",  # DALL·E and many compatible services
    "negative_prompt", "num_inference_steps", "guidance_scale", "true_cfg_scale",  # servers of open models
)  # fmt: skip
"""Options that go into the body unchanged."""
DRAWING_ONLY, EDITING_ONLY = frozenset({"moderation", "style"}), frozenset({"input_fidelity"})
"""Options that only one of the two endpoints takes."""


class OpenAIImages(OneReplyPainter):
    """A model at images/generations: OpenAI's own, or one of a compatible server.

    ``response_format`` is sent only when given: GPT image models refuse it, others need ``b64_json``. A request with
    pictures goes to images/edits, as a form.
    """

    path = "/images/generations"
    most_pictures = 16
    known = frozenset({"size", *NATIVE, *EDITING_ONLY})
    sizes = SIZES

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """Return the request body, with pictures by hash."""
        size = self.size(request)
        unwanted = DRAWING_ONLY if request.pictures else EDITING_ONLY
        native = self.options_of(name for name in self.given if name not in {"size", *unwanted})
        body = {"model": self.model, "prompt": request.prompt, "n": 1, "size": size, **self.seed(request), **native}
        return body | ({"image": self.pictures(request)} if request.pictures else {})

    def path_for(self, body: Mapping[str, Any]) -> str:
        """Return the path that draws, or the one that edits."""
        return "/images/edits" if "image" in body else self.path

    async def encode(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body, or a form if there are pictures."""
        if "image" not in body:
            return {"body": body}
        fields = {name: value for name, value in body.items() if name != "image"}
        return {"form": await self.form(fields, [("image[]", each) for each in body["image"]])}

    def batch_endpoint(self, *, edits: bool) -> str | None:
        """Return the endpoint that draws, or the one that edits."""
        return EDIT_ENDPOINT if edits else DRAW_ENDPOINT

    async def batch_body(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body with pictures as data URLs: a batch takes no form."""
        # A link is valid for an hour; the batch may take a day.
        sent = ({"response_format": "b64_json"} if self.model.startswith("dall-e") else {}) | body
        if "image" not in body:
            return sent
        urls = [(await self.prepared(picture)).url for picture in sent.pop("image")]
        return sent | {"images": [{"image_url": url} for url in urls]}

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the first image of the reply, with token counts and the revised prompt."""
        first = (reply.get("data") or [{}])[0]
        where = first.get("b64_json") or first.get("url")
        if not where:
            raise Fault("server", "no image in the reply", cost=None, result=dict(drawn.raw))
        usage = part_of(reply, "usage")
        shown = part_of(usage, "input_tokens_details").get("image_tokens")
        counts: dict[str, Any] = {"tokens_in": usage.get("input_tokens"), "tokens_out": usage.get("output_tokens")}
        return where, replace(drawn, **counts, picture_tokens=shown, prompt=first.get("revised_prompt") or None)


SERVICE = Service("OpenAI's images/generations and images/edits, and compatible servers", OpenAIImages)
