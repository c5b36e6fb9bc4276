"""Asking once more for what could not be read: the same request would bring the same stored reply."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from ..calls import Calls, Fault
from ..core.asks import Contract, Part
from .base import Answer, Context, Model, complete

ROUNDS = 10
"""How often at most a model is asked afresh, run after run, for a reply that can be read."""


async def complete_afresh(
    model: Model, shown: tuple[Part, ...], contract: Contract[Any], about: Context, calls: Calls
) -> Answer:
    """Like `complete`; where failures are to be retried, unreadable replies of earlier runs are asked for anew.

    Raises:
        Fault: A call failed, or the reply could not be read, in this run or (unless it is to be retried) earlier.
    """
    for round in range(ROUNDS):
        try:
            return await complete(model, shown, contract, replace(about, round=round), calls)
        except Fault as fault:
            # To be asked afresh it needs another key.
            again = fault.kind == "unreadable" and calls.retry_failed and await _is_old(fault, calls)
            if not again or round == ROUNDS - 1:
                raise
    raise AssertionError("the last round either returns or raises")


async def _is_old(fault: Fault, calls: Calls) -> bool:
    """Whether the replies that could not be read are an earlier run's."""
    import sqlalchemy as sa

    from ..store.schema import calls as table

    def look() -> bool:
        with calls.store.reading() as connection:
            query = sa.select(sa.func.max(table.c.updated)).where(table.c.key.in_(fault.calls))
            return bool((connection.scalar(query) or 0.0) < calls.since)

    return await asyncio.to_thread(look)
