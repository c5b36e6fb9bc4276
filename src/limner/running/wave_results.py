"""What became of the calls of a batch that has ended, whole or in part."""

from __future__ import annotations

import asyncio
from typing import Any

from ..calls import PASSING, Fault
from ..calls import batches as stored
from ..calls.batch_services import BatchService, RemoteBatch
from ..calls.batches import BatchCalls, BatchState, RowEnd
from ..calls.journal import BatchReply, BatchRow
from ..calls.usage import doubt_of
from ..core.faults import unexpected
from ..core.redaction import without_secrets

AT_ONCE = 16
"""So many replies are read at a time; each may hold an image."""
CANCELLED = 499
"""The status of a call that was not made because its batch was cancelled."""


async def settle_results(calls: BatchCalls, service: BatchService, batch: BatchState, remote: RemoteBatch) -> bool:
    """Store every result there is, and what became of the calls without one.

    Results of calls that this run does not ask for stay where they are, for the run that does.

    Returns:
        Whether nothing of the batch is left.

    Raises:
        Fault: The results cannot be fetched now; what was stored stays.
    """
    rows = await asyncio.to_thread(stored.waiting_calls, calls.store, batch.id)
    seen: set[str] = set()
    replies: list[BatchReply] = []

    async def flush() -> None:
        ends = await asyncio.gather(*(_ended(calls, reply, rows[reply.key].progress) for reply in replies))
        replies.clear()
        await _store(calls, batch.id, list(ends))

    if remote.fault is None:
        async for reply in service.replies(remote):
            if reply.key not in rows or reply.key in seen:
                continue
            seen.add(reply.key)
            if reply.key in calls.waiting:
                replies.append(reply)
            if len(replies) >= AT_ONCE:
                await flush()
        await flush()
    missing = [key for key in rows if key not in seen]
    for start in range(0, len(missing), 500):
        ends = [_unanswered(calls, key, remote) for key in missing[start : start + 500]]
        await _store(calls, batch.id, ends)
    detail = None if remote.fault is None else remote.fault.detail
    return await asyncio.to_thread(stored.finish, calls.store, batch.id, remote.status, detail)


async def _store(calls: BatchCalls, batch: str, ends: list[RowEnd]) -> None:
    if ends:
        new = await asyncio.to_thread(stored.settle, calls.store, batch, ends, calls.budget.purse, calls.owner)
        calls.ended(ends, new)


async def _ended(calls: BatchCalls, reply: BatchReply, kept: dict[str, Any] | None) -> RowEnd:
    """What one call came to, by its reply."""
    row: BatchRow = calls.waiting[reply.key]
    try:
        if reply.status == CANCELLED:
            raise Fault("interrupted", "the batch was cancelled before this call was made")
        if reply.status >= 400:
            raise row.fault(reply.status, reply.body)
        result = await row.read(reply.body, kept or {})
    except Fault as fault:
        return _failed(calls, reply.key, fault, row.bound)
    except Exception as error:
        return _failed(calls, reply.key, unexpected(error, (reply.key,)), row.bound)
    doubt = result.doubt or doubt_of(result.cost)
    return RowEnd(reply.key, "done", without_secrets(result.payload), row.bound if doubt else result.cost, doubt)


def _unanswered(calls: BatchCalls, key: str, remote: RemoteBatch) -> RowEnd:
    """What a call came to that has no result: only one that the service may have made can have cost something."""
    if remote.fault is not None:
        whole = remote.fault
        return _failed(calls, key, Fault(whole.kind, whole.detail), None)
    if remote.status == "cancelled":
        return _failed(calls, key, Fault("interrupted", "the batch was cancelled before this call was made"), None)
    if remote.status == "expired":
        return _failed(calls, key, Fault("timeout", "the batch expired before this call was made"), None)
    return _failed(calls, key, Fault("server", f"batch {remote.id} ended without a word on this call", cost=None), None)


def _failed(calls: BatchCalls, key: str, fault: Fault, bound: float | None) -> RowEnd:
    doubt = fault.doubt or doubt_of(fault.cost)
    # What passes is asked again with the next batch.
    again = fault.kind in PASSING and not calls.is_last_try(key)
    return RowEnd(key, "open" if again else "failed", None, bound if doubt else fault.cost, doubt, fault)
