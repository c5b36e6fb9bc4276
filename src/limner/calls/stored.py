"""The journal without calls: what it has is given out, and nothing is made."""

from __future__ import annotations

import sqlalchemy as sa

from ..core.faults import RETRIED_NEXT_RUN
from ..store.schema import calls
from .claims import settled
from .journal import Calls, Outcome, Perform
from .keys import Request


class NotAsked(Exception):
    """The journal has no outcome of the call: a run would make it."""


class StoredCalls(Calls):
    """For estimates: gives stored outcomes and makes no call."""

    async def do(self, request: Request, perform: Perform, *, bound: float | None = 0.0, tokens: int = 0) -> Outcome:
        """The stored outcome.

        Raises:
            NotAsked: There is none, or a run would try again.
            Fault: The call failed for good.
        """
        with self.store.reading() as connection:
            row = connection.execute(sa.select(calls).where(calls.c.key == request.key)).one_or_none()
            if row is None or row.status not in ("done", "failed"):
                raise NotAsked
            if row.status == "failed" and (self.retry_failed or row.fault in RETRIED_NEXT_RUN):
                raise NotAsked
            return self._known(request, settled(connection, row))
