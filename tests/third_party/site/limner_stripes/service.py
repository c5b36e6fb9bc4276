"""A wire format for image services: one JSON reply with the image in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from limner.painters import PaintRequest
from limner.painters.service import Service, ServiceImage
from limner.painters.service_calls import OneReplyPainter


class StripesJson(OneReplyPainter):
    """Takes the options ``size`` and ``colour``."""

    path = "/stripes"
    known = frozenset({"size", "colour"})
    sizes = {"square": "8x8", "landscape": "12x8", "portrait": "8x12"}  # noqa: RUF012

    def body(self, request: PaintRequest) -> dict[str, Any]:
        """The request body."""
        return {"model": self.model, "text": request.prompt, "size": self.size(request), **self.seed(request)}

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """The image as base64, and its price."""
        return reply["png"], replace(drawn, cost=reply.get("dollars"))


SERVICE = Service("stripes over HTTP", StripesJson)
