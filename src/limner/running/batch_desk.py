"""What can be done to a batch without the run that handed it in."""

from __future__ import annotations

from ..calls import Fault
from ..calls.batch_services import BatchService, open_batches
from ..calls.batches import DOUBTED, OPEN, RUNNING, UNSENT, BatchState, change, find_batch, release
from ..core.errors import LimnerError, UsageError
from ..core.loops import run_to_end
from ..core.settings import Settings
from ..store import Store


def cancel_batch(store: Store, word: str, settings: Settings) -> str:
    """Ask the service to stop a batch; returns what a user should be told.

    Results that it has by then are paid for, and are fetched by the run that handed the batch in.

    Raises:
        UsageError: There is no such batch, or it has ended.
        LimnerError: The service does not answer.
    """
    batch = find_batch(store, word)
    if batch.status not in OPEN:
        raise UsageError(f"batch {batch.id[:8]} has ended: {batch.status}")
    if batch.status == UNSENT:
        if not batch.orphaned:
            raise UsageError(f"batch {batch.id[:8]} is being handed in by a process that runs; stop that first")
        release(store, batch.id, "its process ended before anything was sent", UNSENT)
        return f"batch {batch.id[:8]}: nothing was sent; its calls are free"
    service = open_batches(batch.service, settings.provider(batch.service))
    try:
        return run_to_end(_cancel(store, batch, service))
    except Fault as fault:
        raise LimnerError(f"batch {batch.id[:8]}: {batch.service} says {fault.detail} ({fault.kind})") from fault


async def _cancel(store: Store, batch: BatchState, service: BatchService) -> str:
    name, remote = batch.id[:8], batch.remote
    if batch.status == DOUBTED:
        remote = await service.find(batch.id, batch.created)
        if remote is None:
            return f"batch {name} is in doubt: {batch.service} does not list it; the run that handed it in looks again"
        change(store, batch.id, (DOUBTED,), status=RUNNING, remote=remote)
    await service.cancel(str(remote))
    said = f"batch {name}: {batch.service} is asked to stop it"
    return f"{said}; what it has answered by then is paid for, and fetched by the command that handed it in"
