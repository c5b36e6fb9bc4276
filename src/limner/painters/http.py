"""One HTTP exchange of an image service: JSON out, JSON in, faults by kind; links fetched under limits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..calls import Fault
from ..images import MAX_BYTES
from ..models.openai_faults import kind_of, retry_after

CONNECT_S = 30.0
LINK_TIMEOUT_S = 120.0


@lru_cache(maxsize=4)
def _client(_loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
    """One client per event loop, so that connections are shared."""
    limits = httpx2.Limits(max_connections=512, max_keepalive_connections=128)
    return httpx2.AsyncClient(limits=limits, follow_redirects=False)


async def exchange(
    method: str, url: str, *, headers: Mapping[str, str], body: Any = None, timeout: float = 600.0
) -> dict[str, Any]:
    """Send a request and return the JSON object that comes back.

    Raises:
        Fault: By what the body says first, by status second; a cost of None where the service may have charged.
    """
    client = _client(asyncio.get_running_loop())
    limit = httpx2.Timeout(timeout, connect=CONNECT_S)
    try:
        reply = await client.request(method, url, headers=dict(headers), json=body, timeout=limit)
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"no reply within {timeout:g} s ({type(error).__name__})", cost=None) from error
    except httpx2.HTTPError as error:
        raise Fault("network", f"{type(error).__name__}: {error}", cost=None) from error
    try:
        found = reply.json()
    except ValueError as error:
        if reply.status_code < 400:
            raise Fault("server", f"{reply.status_code}: the reply is not JSON", cost=None) from error
        found = {"message": reply.text[:300]}
    if reply.status_code >= 400:
        wait = retry_after(reply.headers.get("retry-after"))
        raise Fault(kind_of(reply.status_code, found), f"{reply.status_code}: {said(found)}", retry_after=wait)
    if not isinstance(found, dict):
        raise Fault("server", "the reply is not a JSON object", cost=None)
    return found


def said(body: Any) -> str:
    """The message in an error body, in one short line."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else None
    return " ".join(str(message or inner).split())[:400]


async def fetch(url: str, hosts: tuple[str, ...]) -> bytes:
    """The image behind a link, within limits of host, size and type.

    Raises:
        Fault: ``image`` for a link that must not be followed or leads to no image, ``expired`` links as ``missing``.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if parts.scheme not in ("http", "https") or not any(_fits(host, allowed) for allowed in hosts):
        raise Fault("image", f"the link leads to {host or url[:80]!r}, which is not among {', '.join(hosts)}")
    client = _client(asyncio.get_running_loop())
    try:
        async with client.stream("GET", url, timeout=httpx2.Timeout(LINK_TIMEOUT_S, connect=CONNECT_S)) as reply:
            if reply.status_code in (403, 404, 410):
                raise Fault("missing", f"the link to the image has expired ({reply.status_code})")
            if reply.status_code != 200:
                raise Fault("server", f"the link to the image gives {reply.status_code}")
            kind = reply.headers.get("content-type", "image/").split(";")[0].strip()
            if not kind.startswith(("image/", "application/octet-stream", "binary/octet-stream")):
                raise Fault("image", f"the link leads to {kind}, not to an image")
            data = bytearray()
            async for chunk in reply.aiter_bytes():
                data += chunk
                if len(data) > MAX_BYTES:
                    raise Fault("image", f"the linked image is over {MAX_BYTES:,} bytes")
            return bytes(data)
    except httpx2.TimeoutException as error:
        raise Fault("timeout", "the linked image did not arrive in time") from error
    except httpx2.HTTPError as error:
        raise Fault("network", f"the linked image: {type(error).__name__}: {error}") from error


def _fits(host: str, allowed: str) -> bool:
    name = allowed.lower()
    return host.endswith(name[1:]) if name.startswith("*.") else host == name
