"""Services that ``[painters.NAME]`` describes and that answer with the image, or with a link to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...calls import Fault
from ...core.json_text import find
from ..declared import DeclaredPainter
from ..service import Service, ServiceImage
from ..service_calls import OneReplyPainter


class DeclaredReplies(DeclaredPainter, OneReplyPainter):
    """A painter whose service draws in one exchange, told by its description."""

    async def wire(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """See `limner.painters.service_calls.OneReplyPainter`."""
        return self.place(body), await self.sent(body)

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """See `limner.painters.service_calls.OneReplyPainter`."""
        if failure := self.failure(reply):
            raise Fault(*failure, cost=None, result=dict(drawn.raw))
        where, told = self.image(reply), self.format
        if where is None:
            raise Fault("server", f"no image in the reply: {self.said(reply)}", cost=None, result=dict(drawn.raw))
        prompt = find(reply, told.prompt_sent) if told.prompt_sent else None
        cost = find(reply, told.cost) if told.cost else None
        return where, replace(drawn, prompt=prompt if isinstance(prompt, str) else None, cost=cost)


SERVICE = Service("a service of your own, described in limner.toml, that answers with the image", DeclaredReplies)
