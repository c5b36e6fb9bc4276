"""The image that a call of a painter brought, read back whole: fetched again where free, drawn again where asked."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..calls import Calls, Fault, Outcome
from ..core.errors import LostImage
from ..core.faults import lost
from ..core.images import BadImage
from ..store import Blobs

Refetch = Callable[[Mapping[str, Any]], Awaitable[bytes | None]]
"""Gets an image once more by what is stored of its call, where that costs nothing; None where there is no way."""
UNASKED = "it is not drawn again unasked: --retry-failed draws it once more, at its price"


async def kept_image(
    make: Callable[[], Awaitable[Outcome]], calls: Calls, blobs: Blobs, refetch: Refetch | None = None
) -> tuple[Outcome, bytes]:
    """Make a call through the journal, or find it there, and read its image.

    Raises:
        Fault: The call's own; ``missing`` or ``damaged`` for an image that is lost and cannot be had for nothing.
    """
    outcome = await make()
    try:
        return outcome, await asyncio.to_thread(blobs.get, outcome.payload["image"])
    except LostImage as error:
        fault = lost(error)
    if refetch is not None and (data := await fetched_again(outcome.payload, refetch, blobs)) is not None:
        return outcome, data
    if not (calls.retry_failed and outcome.stored):
        raise Fault(fault.kind, f"{fault.detail}; {UNASKED}", calls=(outcome.key,))
    await calls.reopen(outcome.key)
    outcome = await make()
    try:
        return outcome, await asyncio.to_thread(blobs.get, outcome.payload["image"])
    except LostImage as error:
        raise lost(error) from error


async def fetched_again(payload: Mapping[str, Any], refetch: Refetch, blobs: Blobs) -> bytes | None:
    """The very image of a stored result, put back among the blobs; None where it cannot be had."""
    try:
        data = await refetch(payload)
    except Fault:
        return None
    return data if await put_back(data, str(payload["image"]), blobs) else None


async def put_back(data: bytes | None, sha256: str, blobs: Blobs) -> bool:
    """Whether these are the bytes of the hash; then they stand among the blobs again."""
    if data is None or hashlib.sha256(data).hexdigest() != sha256:
        return False
    try:
        await asyncio.to_thread(blobs.put, data)
    except BadImage:
        return False
    return True
