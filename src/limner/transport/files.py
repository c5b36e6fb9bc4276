"""Files that a service keeps, brought here piece by piece: what breaks off is gone on with where it broke off."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from typing import IO, Any

import httpx2

from ..calls import PASSING, Fault, Kind
from ..core.json_text import parse_json
from ..core.redaction import redacted, without_secrets
from .http import CONNECT_S, client
from .kinds import error_message, kind_of, retry_after

TRIES = 6
"""How often at most a file is asked for before that is given up."""
MOST_BYTES = 64 * 2**30
LINE_BYTES = 2**28
"""The most that one line may have: a result with its image."""


async def fetched_lines(
    url: str, headers: Mapping[str, str], kinds: Callable[[int, Any], Kind] = kind_of
) -> AsyncIterator[dict[str, Any]]:
    """The JSON objects that stand in a file, line by line, however the file comes.

    Raises:
        Fault: It does not come whole, or is no such file.
    """
    with tempfile.TemporaryFile() as file:
        for n in range(1, TRIES + 1):
            try:
                await _fetch(url, headers, file, kinds)
                break
            except Fault as fault:
                if n == TRIES or fault.kind not in PASSING:
                    raise
                await asyncio.sleep(fault.retry_after or min(5.0, 0.1 * 2**n))
        file.seek(0)
        while line := file.readline(LINE_BYTES):
            if not line.strip():
                continue
            try:
                found = without_secrets(parse_json(line))
            except ValueError as error:
                raise Fault("server", f"a line of the results is not JSON: {line[:100]!r}", cost=None) from error
            if isinstance(found, dict):
                yield found


async def _fetch(url: str, headers: Mapping[str, str], file: IO[bytes], kinds: Callable[[int, Any], Kind]) -> None:
    """Add to a file what is missing of it."""
    have = file.seek(0, 2)
    asked = dict(headers) | {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    limit = httpx2.Timeout(600.0, connect=CONNECT_S)
    try:
        async with client(asyncio.get_running_loop()).stream("GET", url, headers=asked, timeout=limit) as reply:
            status = reply.status_code
            if status == 416 and have:
                return  # There is nothing beyond what is here.
            if status not in (200, 206):
                content = await reply.aread()
                body = _body(content[: 2**16])
                wait = retry_after(reply.headers.get("retry-after"))
                raise Fault(kinds(status, body), f"{status}: {error_message(body)}", retry_after=wait)
            if status == 200 and have:
                file.seek(0)
                file.truncate()
                have = 0
            length = reply.headers.get("content-length")
            came = 0
            async for piece in reply.aiter_raw():
                came += len(piece)
                if have + came > MOST_BYTES:
                    raise Fault("unreadable", f"the results are over {MOST_BYTES:,} bytes", cost=None)
                await asyncio.to_thread(file.write, piece)
            if length is not None and length.isdecimal() and came < int(length):
                raise Fault("network", f"the file broke off after {have + came} bytes")
    except httpx2.TimeoutException as error:
        raise Fault("timeout", f"the file did not come ({type(error).__name__})") from error
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise Fault("network", redacted(f"{type(error).__name__}: {error}")) from error


def _body(content: bytes) -> Any:
    try:
        return without_secrets(parse_json(content))
    except ValueError:
        return {"message": redacted(content.decode("utf-8", "replace"))[:300]}
