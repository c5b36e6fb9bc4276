"""Connections that are kept open between requests, found without looking at all the others.

The client's own pool asks every idle connection twice a request whether it still stands: with 64 of them that takes
longer than the request itself. Here the last one used is looked at, and no other.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpcore2
import httpx2

EXPIRY_S = 5.0
"""An idle connection is used again no later than after so many seconds."""


class Connections:
    """Serves requests as `httpcore2.AsyncConnectionPool` does; at most `most` at a time, `idle` kept open."""

    def __init__(self, context: ssl.SSLContext, most: int, idle: int) -> None:
        self._context, self._most_idle = context, idle
        self._room = asyncio.Semaphore(most)
        self._idle: dict[str, deque[httpcore2.AsyncHTTPConnection]] = {}

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        """Send a request on an open connection, or on a new one; it is free once the reply is closed."""
        if request.url.scheme not in (b"http", b"https"):
            scheme = request.url.scheme.decode()
            raise httpcore2.UnsupportedProtocol(f"Request URL has an unsupported protocol '{scheme}://'.")
        place = str(request.url.origin)
        await self._enter(request.extensions.get("timeout", {}).get("pool"))
        try:
            connection = await self._take(place, request.url.origin)
            try:
                response = await connection.handle_async_request(request)
            except BaseException:
                await _close(connection)
                raise
        except BaseException:
            self._room.release()
            raise
        # Another reply made around it would look through all headers once more.
        response.stream = ReplyBody(response.stream, lambda: self._free(place, connection))
        return response

    async def _enter(self, timeout: float | None) -> None:
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            async with asyncio.timeout(timeout):
                await self._room.acquire()
        except TimeoutError as error:
            raise httpcore2.PoolTimeout from error

    async def _take(self, place: str, origin: httpcore2.Origin) -> httpcore2.AsyncHTTPConnection:
        kept = self._idle.get(place)
        while kept:
            # The youngest first: what it has outlived, the older ones have too.
            found = kept.pop()
            if not found.has_expired():
                return found
            await _close(found)
        return httpcore2.AsyncHTTPConnection(origin, ssl_context=self._context, keepalive_expiry=EXPIRY_S)

    async def _free(self, place: str, connection: httpcore2.AsyncHTTPConnection) -> None:
        """A reply is closed: its connection may serve the next request."""
        self._room.release()
        if not connection.is_idle():
            await _close(connection)
            return
        kept = self._idle.setdefault(place, deque())
        kept.append(connection)
        while kept[0] is not connection and (kept[0].has_expired() or self._surplus()):
            await _close(kept.popleft())

    def _surplus(self) -> bool:
        return sum(map(len, self._idle.values())) > self._most_idle

    async def aclose(self) -> None:
        """Close what is idle."""
        while self._idle:
            _, kept = self._idle.popitem()
            while kept:
                await _close(kept.pop())

    async def __aenter__(self) -> Connections:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class ReplyBody:
    """The body of a reply, and the connection it comes by."""

    def __init__(self, stream: Any, free: Callable[[], Awaitable[None]]) -> None:
        self._stream, self._free = stream, free
        self._closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        """Its pieces as they come."""
        found: AsyncIterator[bytes] = self._stream.__aiter__()
        return found

    async def aclose(self) -> None:
        """Done with it, read to its end or not."""
        if self._closed:
            return
        self._closed = True
        try:
            await self._stream.aclose()
        finally:
            await self._free()


class Transport(httpx2.AsyncHTTPTransport):
    """The client's transport over `Connections`."""

    def __init__(self, context: ssl.SSLContext, limits: httpx2.Limits) -> None:
        super().__init__(verify=context, limits=limits)
        most, idle = limits.max_connections or 512, limits.max_keepalive_connections or 128
        self._pool: Any = Connections(context, most, idle)
        self.connections: Connections = self._pool


async def _close(connection: httpcore2.AsyncHTTPConnection) -> None:
    with suppress(Exception):
        await connection.aclose()
