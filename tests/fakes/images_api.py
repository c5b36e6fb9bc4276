"""A fake of image services, for loopback only: images/generations and edits, chat/completions with images, files.

Run it with `python -m tests.fakes.images_api --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import web

from tests.fakes.checks import decode
from tests.fakes.forms import decode_form
from tests.fakes.images_checks import Ask, check_chat, check_edits, check_images
from tests.fakes.images_plan import ImagePlan
from tests.fakes.images_replies import Link, reply_chat, reply_images
from tests.fakes.linked_files import Linking
from tests.fakes.service import Reply, main
from tests.fakes.tally import Turn


class Images(Linking[ImagePlan]):
    """The image service."""

    plans = ImagePlan

    def routes(self, app: web.Application) -> None:
        super().routes(app)
        app.router.add_post("/v1/images/generations", self.images)
        app.router.add_post("/v1/images/edits", self.edits)
        app.router.add_post("/v1/chat/completions", self.chat)

    async def images(self, request: web.Request) -> web.StreamResponse:
        return await self._attend(request, check_images, reply_images)

    async def edits(self, request: web.Request) -> web.StreamResponse:
        kind = request.headers.get("Content-Type", "")
        return await self._attend(request, check_edits, reply_images, partial(decode_form, kind))

    async def chat(self, request: web.Request) -> web.StreamResponse:
        return await self._attend(request, check_chat, reply_chat)

    async def _attend(
        self,
        request: web.Request,
        check: Callable[[Any, ImagePlan], Ask],
        reply: Callable[[Ask, ImagePlan, str | None, Turn, Link], Reply],
        read: Callable[[bytes], Any] = decode,
    ) -> web.StreamResponse:
        def answer(ask: Ask, plan: ImagePlan, fault: str | None, turn: Turn) -> Reply:
            def link(fault: str | None, data: bytes) -> str:
                name = (fault or "").removeprefix("link:")
                return self.link(f"{turn.id}.{ask.kind}", data, name, "sig=0123456789", request)

            return reply(ask, plan, fault, turn, link)

        return await self.attend(request, check, answer, read=read)


if __name__ == "__main__":
    main(Images, __doc__)
