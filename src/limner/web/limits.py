"""Limits on what a client may send: how much at a time, and how often."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CLIENTS = 10_000
"""So many clients are remembered; the longest silent is forgotten first."""


@dataclass(frozen=True)
class WebLimits:
    """What one client may do.

    Attributes:
        body: Bytes of one request at most.
        requests: Requests a client may make at once under one link; as many come back in `period` seconds, evenly.
        wrong: The same for requests that were refused (404 and the like), so that links cannot be guessed by trying.
    """

    body: int = 256 * 1024
    requests: int = 600
    wrong: int = 60
    period: float = 60.0


class TooBig(Exception):
    """A request's body is over the limit."""


class Bucket:
    """How much a client may still do, by name: full at first, and filling evenly."""

    def __init__(self, most: int, period: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._rate, self._clock = float(most), most / period, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, name: str) -> float:
        """Seconds until there is room for one more; 0 where there is."""
        level = self._level(name)
        return 0.0 if level >= 1 else (1 - level) / self._rate

    def take(self, name: str) -> None:
        """Count one more."""
        self._levels[name] = (max(0.0, self._level(name) - 1), self._clock())
        self._levels.move_to_end(name)
        while len(self._levels) > CLIENTS:
            self._levels.popitem(last=False)

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (self._most, self._clock()))
        return min(self._most, level + (self._clock() - at) * self._rate)


class Limited:
    """Middleware: refuses what is too big (413) or too often (429, with when to come again)."""

    def __init__(self, app: ASGIApp, limits: WebLimits | None = None) -> None:
        self._app, self._limits = app, limits or WebLimits()
        self._all = Bucket(self._limits.requests, self._limits.period)
        self._wrong = Bucket(self._limits.wrong, self._limits.period)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See the class."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client = scope["client"][0] if scope.get("client") else ""
        # Many may come from one address; under a secret link each is counted alone. Links that are none count as wrong.
        place = f"{client} {'/'.join(scope['path'].split('/')[:3])}"
        if wait := max(self._all.wait(place), self._wrong.wait(client)):
            headers = {"Retry-After": str(int(wait) + 1)}
            await PlainTextResponse("Too many requests. Please wait a little.", 429, headers)(scope, receive, send)
            return
        self._all.take(place)
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self._limits.body:
            await PlainTextResponse("The request is too big.", 413)(scope, receive, send)
            return
        seen, begun = 0, False

        async def bounded() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._limits.body:
                raise TooBig
            return message

        async def counted(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                if message["status"] in (401, 403, 404):
                    self._wrong.take(client)
            await send(message)

        try:
            await self._app(scope, bounded, counted)
        except TooBig:
            if not begun:
                await PlainTextResponse("The request is too big.", 413)(scope, receive, send)
