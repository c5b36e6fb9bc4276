"""Services described by ``[painters.NAME]`` that reply with the image or a link to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...calls import Fault
from ...core.json_text import value_at
from ..declared import DeclaredPainter
from ..service import Service, ServiceImage
from ..service_calls import OneReplyPainter


class DeclaredReplies(DeclaredPainter, OneReplyPainter):
    """A painter whose described service draws in one exchange."""

    async def wire(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return path and request as described."""
        return self.path_for(body), await self.encode(body)

    def read(self, reply: dict[str, Any], drawn: ServiceImage) -> tuple[str, ServiceImage]:
        """Return the image in the reply, with the prompt and cost if the description gives their paths."""
        if failure := self.failure(reply):
            raise Fault(*failure, cost=None, result=dict(drawn.raw))
        where, description = self.image(reply), self.format
        if where is None:
            raise Fault("server", f"no image in the reply: {self.error_text(reply)}", cost=None, result=dict(drawn.raw))
        prompt = value_at(reply, description.prompt_sent) if description.prompt_sent else None
        cost = value_at(reply, description.cost) if description.cost else None
        return where, replace(drawn, prompt=prompt if isinstance(prompt, str) else None, cost=cost)


SERVICE = Service("a service described in settings that replies with the image", DeclaredReplies)
