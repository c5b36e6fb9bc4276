"""One HTTP exchange of an image service: JSON out, JSON in, faults by kind; links fetched under limits."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import httpx2

from ..calls import Fault, Kind
from ..core.images import MAX_BYTES
from .openai_client import kind_of, retry_after

CONNECT_S = 30.0
LINK_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Form:
    """A multipart form: fields by name, and files as name, file name, bytes and media type."""

    fields: Mapping[str, str]
    files: Sequence[tuple[str, tuple[str, bytes, str]]]


@lru_cache(maxsize=4)
def _client(_loop: asyncio.AbstractEventLoop) -> httpx2.AsyncClient:
    """One client per event loop, so that connections are shared."""
    limits = httpx2.Limits(max_connections=512, max_keepalive_connections=128)
    return httpx2.AsyncClient(limits=limits, follow_redirects=False)


async def exchange(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str],
    body: Any = None,
    form: Form | None = None,
    timeout: float = 600.0,
    kinds: Callable[[int, Any], Kind] = kind_of,
) -> dict[str, Any]:
    """Send a request and return the JSON object that comes back, without the key should the service repeat it.

    Args:
        method: ``GET`` or ``POST``.
        url: Where to.
        headers: With the key.
        body: JSON to send.
        form: Fields and files to send instead.
        timeout: Seconds to wait for the reply.
        kinds: Tells the kind of fault by status and body, where a service has its own words.

    Raises:
        Fault: By what the body says first, by status second, with the body as its result; a cost of None where the
            service may have charged.
    """
    client = _client(asyncio.get_running_loop())
    limit = httpx2.Timeout(timeout, connect=CONNECT_S)
    try:
        sent: dict[str, Any] = {"json": body} if form is None else {"data": form.fields, "files": form.files}
        reply = await client.request(method, url, headers=dict(headers), timeout=limit, **sent)
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"no reply within {timeout:g} s ({type(error).__name__})", cost=None) from error
    except httpx2.HTTPError as error:
        raise Fault("network", f"{type(error).__name__}: {error}", cost=None) from error
    content = _without_key(reply.content, headers)
    try:
        # A key may stand in JSON in more than one spelling: looked for once more in what was read.
        found = _scrubbed(json.loads(content), _secrets(headers))
    except (ValueError, RecursionError) as error:
        if reply.status_code < 400:
            raise Fault("server", f"{reply.status_code}: the reply is not JSON", cost=None) from error
        found = {"message": content[:300].decode("utf-8", "replace")}
    if reply.status_code >= 400:
        wait = retry_after(reply.headers.get("retry-after"))
        kind, result = kinds(reply.status_code, found), found if isinstance(found, dict) else {"error": found}
        raise Fault(kind, f"{reply.status_code}: {error_message(found)}", retry_after=wait, result=result)
    if not isinstance(found, dict):
        raise Fault("server", "the reply is not a JSON object", cost=None)
    return found


def error_message(body: Any) -> str:
    """The message in an error body, in one short line."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    message = inner.get("message") or inner.get("detail") if isinstance(inner, Mapping) else None
    return " ".join(str(message or inner).split())[:400]


async def fetch(url: str, hosts: tuple[str, ...]) -> bytes:
    """The image behind a link, within limits of host, size and type.

    Raises:
        Fault: ``image`` for a link that must not be followed or leads to no image, ``expired`` links as ``missing``.
    """
    if not is_allowed(url, hosts):
        raise Fault("image", f"the link leads to {url[:80]!r}, which is not among {', '.join(hosts)}")
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


async def download(url: str, most: int) -> bytes:
    """What stands at an address that the user gave, sent without any key.

    Raises:
        Fault: It does not answer, answers with anything but success, or is longer than `most` bytes.
    """
    client = _client(asyncio.get_running_loop())
    try:
        async with client.stream("GET", url, timeout=httpx2.Timeout(LINK_TIMEOUT_S, connect=CONNECT_S)) as reply:
            if reply.status_code != 200:
                raise Fault("server", f"{url} answers with {reply.status_code}")
            data = bytearray()
            async for chunk in reply.aiter_bytes():
                data += chunk
                if len(data) > most:
                    raise Fault("server", f"what {url} sends is over {most:,} bytes")
            return bytes(data)
    except httpx2.HTTPError as error:
        raise Fault("network", f"{url}: {type(error).__name__}: {error}") from error


def is_allowed(url: str, hosts: tuple[str, ...]) -> bool:
    """Whether a link a service gave may be followed."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and any(_fits(host, allowed) for allowed in hosts)


def _without_key(content: bytes, headers: Mapping[str, str]) -> bytes:
    """What a service said, without the key, whole or with its middle masked."""
    for secret in (word.encode() for word in _secrets(headers)):
        content = content.replace(secret, b"***")
        if b"***" in content:
            heads = b"|".join(re.escape(secret[:n]) for n in range(12, 2, -1))
            tails = b"|".join(re.escape(secret[-n:]) for n in range(12, 2, -1))
            content = re.sub(rb"(?:%s)\*{3,}(?:%s)?|\*{3,}(?:%s)" % (heads, tails, tails), b"***", content)
    return content


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """What may be a key among the headers' values."""
    return [word for word in (value.rpartition(" ")[2] for value in headers.values()) if len(word) >= 12]


def _scrubbed(value: Any, secrets: list[str]) -> Any:
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "***")
        return value
    if isinstance(value, list):
        return [_scrubbed(item, secrets) for item in value]
    if isinstance(value, dict):
        return {_scrubbed(key, secrets): _scrubbed(item, secrets) for key, item in value.items()}
    return value


def _fits(host: str, allowed: str) -> bool:
    name = allowed.lower()
    return host.endswith(name[1:]) if name.startswith("*.") else host == name
