"""Files that a fake service links to in place of sending them: they need no key and count apart from requests."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from tests.fakes.service import Json, P, Service, vanish

OVERSIZE = 64 * 2**20 + 1
KEYS = ("Authorization", "x-key", "x-goog-api-key")
_ALWAYS: dict[str, dict[str, Any]] = {
    "expired": {"status": 403, "text": "<Error><Code>AccessDenied</Code></Error>", "content_type": "text/xml"},
    "html": {"text": "<html><body>Please log in.</body></html>", "content_type": "text/html"},
    "moved": {"status": 302, "headers": {"Location": "http://localhost:1/file"}},
}


class Linking(Service[P]):
    """A service with linked files.

    Faults of links: wrong_host, expired, html, moved, oversize, junk; http_500 and drop, which pass: the second fetch
    succeeds.
    """

    def forget(self) -> None:
        self.files: dict[str, tuple[str | None, str, bytes]] = {}
        self.fetched: Counter[str] = Counter()
        self.fetched_with_key = 0

    def routes(self, app: web.Application) -> None:
        app.router.add_get("/files/{name}", self.file)

    def extra_counts(self) -> Json:
        return {"fetched": self.fetched.total(), "fetched_with_key": self.fetched_with_key}

    def link(self, name: str, data: bytes, fault: str | None, query: str, request: web.Request) -> str:
        """Puts a file up, with the fault its fetching meets, and returns its address."""
        self.files[name] = fault, query, data
        host = "localhost" if fault == "wrong_host" else "127.0.0.1"
        return f"http://{host}:{request.url.port}/files/{name}?{query}"

    async def file(self, request: web.Request) -> web.StreamResponse:
        """Gives a file to whoever has its whole address."""
        name = request.match_info["name"]
        fault, query, data = self.files.get(name, (None, "", b""))
        if not query or dict(request.query) != dict(parse_qsl(query)):
            return web.Response(status=404, text="no such file")
        self.fetched[name] += 1
        self.fetched_with_key += any(key in request.headers for key in KEYS)
        if fault in _ALWAYS:
            return web.Response(**_ALWAYS[fault])
        if self.fetched[name] == 1 and fault == "http_500":
            return web.Response(status=500)
        if self.fetched[name] == 1 and fault == "drop":
            return await vanish(request, forever=False)
        if fault == "oversize":
            data = bytes(OVERSIZE)
        if fault == "junk":
            data = b"no image at all"
        return web.Response(body=data, content_type=f"image/{name.rpartition('.')[2]}")
