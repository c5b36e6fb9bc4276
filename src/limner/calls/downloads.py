"""Large files sent to and fetched from services in pieces; a broken transfer continues where it stopped."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from typing import IO, Any
from urllib.parse import urlsplit

import httpx2

from ..core.images import MAX_BYTES
from ..core.json_text import parse_json
from ..core.redaction import public_address, redact, resolve_link, without_secrets
from . import TRANSIENT, Fault
from .http import (
    CONNECT_S,
    IMAGE_REPLY_BYTES,
    TEXT_REPLY_BYTES,
    BadPacking,
    TooLarge,
    client,
    error_body,
    error_message,
    kind_of,
    read_bounded,
    read_content,
    retry_after,
)

TRIES = 6
"""Tries to fetch a file before giving up."""
PIECE = 8 * 2**20
"""Bytes of a file sent in one request."""
MOST_BYTES = 64 * 2**30
REDIRECTS = (301, 302, 303, 307, 308)
LINE_BYTES = IMAGE_REPLY_BYTES
"""Bytes that one line may have: a result with its image, as for a single call."""


async def fetched_lines(url: str, headers: Mapping[str, str], most: int = MOST_BYTES) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON objects in the lines of a remote file of at most `most` bytes.

    Raises:
        Fault: The file does not arrive complete, or a line is not JSON.
    """
    with tempfile.TemporaryFile() as file:
        await fetch_file(url, headers, file, most=most)
        file.seek(0)
        while line := file.readline(LINE_BYTES + 1):
            if len(line) > LINE_BYTES:
                raise Fault("unreadable", f"a line of the results is over {LINE_BYTES:,} bytes", cost=None)
            if not line.strip():
                continue
            try:
                row = without_secrets(parse_json(line))
            except ValueError as error:
                raise Fault("server", f"a line of the results is not JSON: {line[:100]!r}", cost=None) from error
            if isinstance(row, dict):
                yield row


async def fetch_file(
    url: str,
    headers: Mapping[str, str],
    file: IO[bytes],
    *,
    redirects: int = 0,
    stall_s: float = 600.0,
    most: int = MOST_BYTES,
) -> None:
    """Append the missing part of a remote file to an open one; a broken transfer is continued a few times.

    Args:
        url: The address.
        headers: The headers; a redirect is followed without them.
        file: What has arrived before.
        redirects: The most redirects that are followed.
        stall_s: Seconds without a byte after which the transfer counts as broken.
        most: The most bytes that the file may have.

    Raises:
        Fault: The file does not arrive complete.
    """
    for n in range(1, TRIES + 1):
        try:
            return await _fetch(url, headers, file, redirects, stall_s, most)
        except Fault as fault:
            if n == TRIES or fault.kind not in TRANSIENT:
                raise
            await asyncio.sleep(fault.retry_after or min(5.0, 0.1 * 2**n))


async def _fetch(
    url: str, headers: Mapping[str, str], file: IO[bytes], redirects: int, stall_s: float, most: int
) -> None:
    have = file.seek(0, 2)
    asked = dict(headers) | {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    limit = httpx2.Timeout(stall_s, connect=CONNECT_S)
    target: str | None = None
    try:
        async with client().stream("GET", url, headers=asked, timeout=limit) as reply:
            status = reply.status_code
            if status in REDIRECTS and redirects and "location" in reply.headers:
                target = resolve_link(url, reply.headers["location"])
            elif status == 416 and have:
                return  # The file is already complete.
            elif status in (200, 206):
                await _append(reply, file, have if status == 206 else 0, most)
            else:
                raise _refusal(reply, await read_content(reply, TEXT_REPLY_BYTES))
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"the file did not arrive ({type(error).__name__})") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Fault("network", redact(f"{type(error).__name__}: {error}")) from error
    if target is not None:
        if url.lower().startswith("https:") and not target.lower().startswith("https:"):
            raise Fault("setup", f"the download leads to {public_address(target)[:80]!r}, which is not encrypted")
        await _fetch(target, {}, file, redirects - 1, stall_s, most)


def _refusal(reply: httpx2.Response, content: bytes) -> Fault:
    """Return the fault of an error reply."""
    status, body, wait = reply.status_code, error_body(content), retry_after(reply.headers.get("retry-after"))
    return Fault(kind_of(status, body), f"{status}: {error_message(body)}", retry_after=wait)


async def _append(reply: httpx2.Response, file: IO[bytes], have: int, most: int) -> None:
    """Write the body of a reply to a file, of which the first bytes are there."""
    file.seek(have)
    file.truncate()
    length, came = reply.headers.get("content-length"), 0
    async for piece in reply.aiter_raw():
        came += len(piece)
        if have + came > most:
            raise Fault("unreadable", f"the results are over {most:,} bytes", cost=None)
        await asyncio.to_thread(file.write, piece)
    if length is not None and length.isdecimal() and came < int(length):
        raise Fault("network", f"the download broke off after {have + came} bytes")


async def upload_in_pieces(
    url: str, headers: Mapping[str, str], description: dict[str, Any], file: IO[bytes], size: int, media: str
) -> dict[str, Any]:
    """Upload a file in pieces by Google's protocol; return what the service reports about the file.

    Raises:
        Fault: The service did not accept it.
    """
    start = {
        "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
        "X-Goog-Upload-Header-Content-Length": str(size), "X-Goog-Upload-Header-Content-Type": media,
    }  # fmt: skip
    link, _ = await _sent(url, {**headers, **start}, json=description)
    place = resolve_link(url, link)
    if urlsplit(place)[:2] != urlsplit(url)[:2]:
        raise Fault("server", f"the service redirects uploads to {public_address(place)}, which Limner does not follow")
    file.seek(0)
    offset = 0
    while True:
        piece = await asyncio.to_thread(file.read, PIECE)
        last = offset + len(piece) >= size
        how = {"X-Goog-Upload-Command": "upload, finalize" if last else "upload", "X-Goog-Upload-Offset": str(offset)}
        _, content = await _sent(place, {**headers, **how}, content=piece)
        offset += len(piece)
        if last:
            reported = without_secrets(parse_json(content))
            if not isinstance(reported, dict) or not isinstance(reported.get("file"), dict):
                raise Fault("server", "the service did not describe the uploaded file")
            return reported


async def _sent(url: str, headers: Mapping[str, str], **sent: Any) -> tuple[str, bytes]:
    """Send one request of an upload; return the address for its pieces, if it has one, and the reply's content."""
    limit = httpx2.Timeout(600.0, connect=CONNECT_S)
    try:
        async with client().stream("POST", url, headers=dict(headers), timeout=limit, **sent) as reply:
            content = await read_content(reply, TEXT_REPLY_BYTES)
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"the upload timed out ({type(error).__name__})") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Fault("network", redact(f"{type(error).__name__}: {error}")) from error
    if reply.status_code != 200:
        raise _refusal(reply, content)
    return reply.headers.get("x-goog-upload-url", ""), content


LINK_TIMEOUT_S = 120.0
HOPS = 3
"""Redirects that a link may have."""
_IMAGE = ("image/", "application/octet-stream", "binary/octet-stream")


async def fetch(url: str, hosts: tuple[str, ...], own_port: int | None = None) -> bytes:
    """Return the image behind a link, within limits on host, port, size and type.

    Every address on the way must be allowed, and no redirect may lead from https to http.

    Raises:
        Fault: ``image`` for a link that must not be followed or is not an image, ``missing`` for an expired link.
    """
    for _ in range(HOPS + 1):
        if not is_allowed(url, hosts, own_port):
            listed = f"{', '.join(hosts)} at ports {', '.join(map(str, sorted({*PORTS, own_port or 443})))}"
            raise Fault("image", f"the link leads to {public_address(url)[:80]!r}, which is not among {listed}")
        answer = await _step(url)
        if isinstance(answer, bytes):
            return answer
        if url.lower().startswith("https:") and answer.lower().startswith("http:"):
            raise Fault(
                "image", f"the link leads from https to {public_address(answer)[:80]!r}, which is not encrypted"
            )
        url = answer
    raise Fault("image", f"the link redirects more than {HOPS} times, last to {public_address(url)[:80]!r}")


async def _step(url: str) -> bytes | str:
    """Return the image at an address, or the address it redirects to."""
    limit = httpx2.Timeout(LINK_TIMEOUT_S, connect=CONNECT_S)
    try:
        async with client().stream("GET", url, timeout=limit) as reply:
            if reply.status_code in REDIRECTS and "location" in reply.headers:
                return resolve_link(url, reply.headers["location"])
            if reply.status_code in (403, 404, 410):
                raise Fault("missing", f"the link to the image has expired ({reply.status_code})")
            if reply.status_code != 200:
                raise Fault("server", f"the link to the image gives {reply.status_code}")
            kind = reply.headers.get("content-type", "image/").split(";")[0].strip()
            if not kind.startswith(_IMAGE):
                raise Fault("image", f"the link leads to {kind[:80]}, not to an image")
            return bytes(await read_bounded(reply, MAX_BYTES))
    except TooLarge as error:
        raise Fault("image", f"the linked image is over {MAX_BYTES:,} bytes") from error
    except BadPacking as error:
        raise Fault("image", f"the linked image: {error}") from error
    except httpx2.TimeoutException as error:
        raise Fault("timeout", "the linked image did not arrive in time") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Fault("network", f"the linked image: {type(error).__name__}: {error}") from error


PORTS = (80, 443)
"""Ports that a link may lead to, besides the service's own."""


def port_of(url: str) -> int | None:
    """Return the port of an address; None if it is the usual one."""
    return urlsplit(url).port


def is_allowed(url: str, hosts: tuple[str, ...], own_port: int | None = None) -> bool:
    """Return whether a link from a service at this port may be followed."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    usual = port is None or port in PORTS or port == own_port
    return usual and parts.scheme in ("http", "https") and any(_fits(host, allowed) for allowed in hosts)


def _fits(host: str, allowed: str) -> bool:
    name = allowed.lower()
    return host.endswith(name[1:]) if name.startswith("*.") else host == name
