"""One request and its reply over `limner.transport.connections`, without the layers of a client.

What these add to a request is the same each time, and takes as long as the request itself: it is worked out once.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from typing import Any

import httpcore2
import httpx2

from .connections import Connections

TIMEOUTS = (httpx2.TimeoutException, httpcore2.TimeoutException)
TROUBLE = (
    httpx2.HTTPError, httpx2.InvalidURL, httpcore2.ProtocolError, httpcore2.NetworkError, httpcore2.UnsupportedProtocol,
)  # fmt: skip
"""What may go wrong on the way, with a client or without; the names and words are the same."""
NO_ADDRESS = (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpcore2.UnsupportedProtocol)
NO_TLS = frozenset({"CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER"})
"""Reasons of TLS that do not pass: a certificate that is not valid, or a place that does not speak TLS."""


def is_wrong_address(error: BaseException | None) -> bool:
    """Whether an exception of `TROUBLE` says that the address is wrong: nothing was sent, now or by another try."""
    while error is not None:
        if isinstance(error, NO_ADDRESS) or (isinstance(error, ssl.SSLError) and error.reason in NO_TLS):
            return True
        error = error.__cause__ or error.__context__
    return False


class DirectReply:
    """A reply whose body is still to come.

    Attributes:
        headers: By their names in small letters.
    """

    def __init__(self, response: httpcore2.Response, url: str) -> None:
        self.status_code, self.url, self._response = response.status, url, response
        self.headers: dict[str, str] = {}
        for key, value in response.headers:
            name, words = key.decode("ascii").lower(), value.decode("latin-1")
            self.headers[name] = f"{self.headers[name]}, {words}" if name in self.headers else words

    def aiter_raw(self) -> AsyncIterator[bytes]:
        """The pieces of its body as they come."""
        return self._response.aiter_stream()


class Direct:
    """A request that is sent on entering; on leaving its connection is free again.

    Args:
        connections: To send it by.
        url: Where to; `address` must know it.
        head: All headers but those that the length and the place decide.
        body: What is sent.
        timeout: Seconds, as a client takes them.
    """

    def __init__(
        self,
        connections: Connections,
        method: str,
        url: str,
        head: Mapping[str, str],
        body: bytes,
        timeout: httpx2.Timeout,
    ) -> None:
        place = address(url)
        assert place is not None
        target, host = place
        told = [(b"Host", host), *((name.encode("ascii"), words.encode("ascii")) for name, words in head.items())]
        if body or method != "GET":
            told.append((b"Content-Length", str(len(body)).encode()))
        self._connections, self._url = connections, url
        self._request = httpcore2.Request(
            method, target, headers=told, content=body, extensions={"timeout": timeout.as_dict()}
        )
        self._response: httpcore2.Response | None = None

    async def __aenter__(self) -> DirectReply:
        self._response = await self._connections.handle_async_request(self._request)
        return DirectReply(self._response, self._url)

    async def __aexit__(self, *exc: object) -> None:
        if self._response is not None:
            await self._response.aclose()


@lru_cache(maxsize=64)
def address(url: str) -> tuple[httpcore2.URL, bytes] | None:
    """Where a request goes, and the host it names; None where a client must see to it: an address with a login.

    Raises:
        InvalidURL: It is no address.
    """
    parsed = httpx2.URL(url)
    if parsed.userinfo or parsed.scheme not in ("http", "https"):
        return None
    where: Any = {"scheme": parsed.raw_scheme, "host": parsed.raw_host, "port": parsed.port, "target": parsed.raw_path}
    return httpcore2.URL(**where), parsed.netloc
