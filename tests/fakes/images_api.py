"""A fake of image services, for loopback only: images/generations and edits, chat/completions with images, files.

Run it with `python -m tests.fakes.images_api --port 0`; it prints `{"port": N}` when it is ready.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from aiohttp import web

from tests.fakes.checks import decode
from tests.fakes.faults import drawn
from tests.fakes.forms import decode_form
from tests.fakes.images_checks import Ask, check_chat, check_edits, check_images
from tests.fakes.images_plan import ImagePlan
from tests.fakes.images_replies import Link, reply_chat, reply_images
from tests.fakes.service import Json, Reply, Service, Turn, main, vanish

OVERSIZE = 64 * 2**20 + 1


class Images(Service[ImagePlan]):
    """The image service. Its files need no key and count apart from its requests."""

    plans = ImagePlan

    def __init__(self, plan: ImagePlan, keep: int) -> None:
        super().__init__(plan, keep)
        self.forget()

    def routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/images/generations", self.images)
        app.router.add_post("/v1/images/edits", self.edits)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_get("/files/{name}", self.file)

    def forget(self) -> None:
        self.files: dict[str, tuple[str | None, bytes]] = {}
        self.fetched: Counter[str] = Counter()
        self.fetched_with_key = 0

    def extra_counts(self) -> Json:
        return {"fetched": self.fetched.total(), "fetched_with_key": self.fetched_with_key}

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
            def link(kind: str | None, data: bytes) -> str:
                name = f"{turn.id}.{ask.kind}"
                self.files[name] = kind, data
                host = request.host.replace("127.0.0.1", "localhost") if kind == "wrong_host" else request.host
                return f"http://{host}/files/{name}?sig=0123456789"

            return reply(ask, plan, fault, turn, link)

        return await self.attend(request, check, _choose, answer, read)

    async def file(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        self.fetched[name] += 1
        self.fetched_with_key += "Authorization" in request.headers
        fault, data = self.files.get(name, ("expired_link", b""))
        first = self.fetched[name] == 1
        if fault == "expired_link":
            return web.Response(status=403, text="<Error>Signature not valid in the specified time frame</Error>")
        if fault == "html_link":
            return web.Response(text="<html><body>Please log in.</body></html>", content_type="text/html")
        if fault == "moved_link":
            return web.Response(status=302, headers={"Location": f"http://localhost:1/{name}"})
        if fault == "link_500" and first:
            return web.Response(status=500)
        if fault == "link_drop" and first:
            return await vanish(request, forever=False)
        if fault == "oversize_link":
            data = bytes(OVERSIZE)
        if fault == "junk_link":
            data = b"no image at all"
        return web.Response(body=data, content_type=f"image/{name.rpartition('.')[2]}")


def _choose(ask: Ask, plan: ImagePlan, turn: Turn) -> str | None:
    return drawn(plan, key=turn.key, attempt=turn.attempt, ordinal=turn.ordinal)


if __name__ == "__main__":
    main(Images, __doc__)
