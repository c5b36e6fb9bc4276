"""Connections of our servers: time limits for requests, limits on their number, and the address behind a proxy."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 20.0
"""Seconds in which a request, with its header and its body, must arrive."""
MAX_CONNECTIONS = 1_000
MAX_PER_ADDRESS = 100
"""The most connections of one address; behind a proxy all have the proxy's."""


class TimedProtocol(H11Protocol):
    """HTTP that drops connections whose request does not arrive in time, and refuses more than there may be."""

    behind_proxy = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection, or refuse it."""
        super().connection_made(transport)
        others = (getattr(other, "client", None) or (None,) for other in self.connections)
        same = sum(client[0] == (self.client or (None,))[0] for client in others)
        if len(self.connections) > MAX_CONNECTIONS or (same > MAX_PER_ADDRESS and not self.behind_proxy):
            transport.abort()
            return
        self._waiting_since = self.loop.time()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        super().connection_lost(exc)
        if (timer := getattr(self, "_timer", None)) is not None:
            timer.cancel()

    def _watch(self) -> None:
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete and not cycle.more_body:
            self._waiting_since = self.loop.time()  # The request is complete: the response is on its way.
        elif self.loop.time() - self._waiting_since > REQUEST_S:
            self.transport.abort()
            return
        self._timer = self.loop.call_later(REQUEST_S / 10, self._watch)


class ProxiedProtocol(TimedProtocol):
    """The same behind a proxy, whose own connections are not limited."""

    behind_proxy = True


class LastHop:
    """Middleware that takes the client's address and scheme from a proxy's headers.

    Only the last entry is the proxy's own; a client can send any others.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request as one of the client that the proxy names."""
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            changes: dict[str, Any] = {}
            if client := headers.get(b"x-forwarded-for", "").rpartition(",")[2].strip():
                changes["client"] = (client, 0)
            if (scheme := headers.get(b"x-forwarded-proto", "").rpartition(",")[2].strip()) in ("http", "https"):
                changes["scheme"] = scheme
            scope = {**scope, **changes}
        await self._app(scope, receive, send)
