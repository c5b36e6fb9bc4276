"""Connections of our servers: time limits for requests, limits on their number, and the address behind a proxy."""

from __future__ import annotations

import asyncio
import math
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_S = 20.0
"""Seconds in which a request, with its header and its body, must arrive."""
STALL_S = 120.0
"""Seconds after which a client that takes nothing of its response is dropped."""
MAX_CONNECTIONS = 1_000
MAX_PER_ADDRESS = 100
"""The most connections of one address; behind a proxy all have the proxy's."""


class TimedProtocol(H11Protocol):
    """HTTP that drops connections whose request does not arrive in time, and idle ones if there are too many."""

    behind_proxy = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to watch a connection; if there are too many, drop the one that has been idle longest."""
        super().connection_made(transport)
        self._idle_since, self._unsent = self.loop.time(), 0
        self._watch()
        rivals: list[Any] = list(self.connections)
        if len(rivals) <= MAX_CONNECTIONS:
            rivals = [] if self.behind_proxy else [other for other in rivals if _address(other) == _address(self)]
            if len(rivals) <= MAX_PER_ADDRESS:
                return
        oldest = min(rivals, key=lambda other: other._idle_since)
        oldest._idle_since = math.inf  # It stays among the connections until the next turn of the loop.
        oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        super().connection_lost(exc)
        if (timer := getattr(self, "_timer", None)) is not None:
            timer.cancel()

    def _watch(self) -> None:
        at, unsent, cycle = self.loop.time(), self.transport.get_write_buffer_size(), self.cycle
        working = cycle is not None and not cycle.response_complete and not cycle.more_body
        if unsent != self._unsent or (working and not unsent):
            self._idle_since, self._unsent = at, unsent
        elif at - self._idle_since > (STALL_S if unsent else REQUEST_S):
            self.transport.abort()
            return
        self._timer = self.loop.call_later(REQUEST_S / 10, self._watch)


def _address(connection: Any) -> str | None:
    """Return the address of a connection's client."""
    return (getattr(connection, "client", None) or (None,))[0]


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
