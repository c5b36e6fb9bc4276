"""Links to finished images: followed without a key, to hosts the settings name, under limits of size and type."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx2

from ..calls import Fault
from ..core.images import MAX_BYTES
from ..core.redaction import bare, lead_on
from .bounded import BadPacking, TooLarge, read_bounded
from .http import CONNECT_S, client

LINK_TIMEOUT_S = 120.0
HOPS = 3
"""So often a link may lead on to another."""
_IMAGE = ("image/", "application/octet-stream", "binary/octet-stream")


async def fetch(url: str, hosts: tuple[str, ...]) -> bytes:
    """The image behind a link, within limits of host, size and type.

    Every address on the way must be allowed, and none leads from https back to http.

    Raises:
        Fault: ``image`` for a link that must not be followed or leads to no image, ``expired`` links as ``missing``.
    """
    for _ in range(HOPS + 1):
        if not is_allowed(url, hosts):
            raise Fault("image", f"the link leads to {bare(url)[:80]!r}, which is not among {', '.join(hosts)}")
        found = await _step(url)
        if isinstance(found, bytes):
            return found
        if url.lower().startswith("https:") and found.lower().startswith("http:"):
            raise Fault("image", f"the link leads from https to {bare(found)[:80]!r}, which is not encrypted")
        url = found
    raise Fault("image", f"the link leads on more than {HOPS} times, at last to {bare(url)[:80]!r}")


async def _step(url: str) -> bytes | str:
    """What stands at an address: the image, or where it leads on to."""
    limit = httpx2.Timeout(LINK_TIMEOUT_S, connect=CONNECT_S)
    try:
        async with client().stream("GET", url, timeout=limit) as reply:
            if reply.status_code in (301, 302, 303, 307, 308) and "location" in reply.headers:
                return lead_on(url, reply.headers["location"])
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


def is_allowed(url: str, hosts: tuple[str, ...]) -> bool:
    """Whether a link a service gave may be followed."""
    try:
        parts = urlsplit(url)
        host, _ = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and any(_fits(host, allowed) for allowed in hosts)


def _fits(host: str, allowed: str) -> bool:
    name = allowed.lower()
    return host.endswith(name[1:]) if name.startswith("*.") else host == name
